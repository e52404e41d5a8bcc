#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cprof heap, sampled: estimates are as near to the truth as chance allows.

An allocation of s bytes is sampled with p = 1 - e^(-s/R), and stands for 1/p.
"""
import math

import chance
import harness as h
import heaps

SITES = {"site_a": 1024, "site_b": 16384, "site_c": 262144}


def sample(rate, *option):
    ended, expected = heaps.measure(h.Workload("allocs"), *option)
    profile = ended.profile()
    for site, size in SITES.items():
        heaps.site_is(profile, site, "alloc", expected[site]["objects"], size, rate)
        heaps.site_is(profile, site, "inuse", expected[site]["live_objects"], size, rate)
    # of all sites; not each has blocks of one size, and main and stdio allocate, too
    sampled = sum(numbers["objects"] * heaps.probability(numbers["bytes"] / numbers["objects"], rate)
                  for numbers in expected.values())
    assert abs(ended.closing.taken - sampled) < chance.SIGMAS * math.sqrt(sampled) + 0.05 * sampled + 20, \
        (ended.closing.taken, sampled)


@h.test
def rate_65536():
    sample(65536, "--rate", "65536")


@h.test
def rate_4096():
    sample(4096, "--rate", "4096")


@h.test
def default_rate():
    sample(524288)


h.main()
