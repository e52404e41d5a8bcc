#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cprof heap, sampled: estimates lie within four standard errors of the truth.

An allocation of s bytes is sampled with p = 1 - e^-a, a = s/R, and stands for 1/p: n of them are
estimated with a variance of n(1-p)/p = n/(e^a - 1).
"""
import math

import harness as h
import heaps

SITES = {"site_a": 1024, "site_b": 16384, "site_c": 262144}


def standard_error(count, size, rate):
    return math.sqrt(count / math.expm1(size / rate))


def compare(profile, expected, rate):
    for site, size in SITES.items():
        for prefix, key in (("alloc", "objects"), ("inuse", "live_objects")):
            count = expected[site][key]
            error = standard_error(count, size, rate)
            objects = h.by_function(profile, f"{prefix}_objects").get(site, 0)
            space = h.by_function(profile, f"{prefix}_space").get(site, 0)
            # each record is rounded once: half an object
            assert abs(objects - count) <= 4 * error + 1, \
                f"{site}: {prefix}_objects {objects}, not {count} +- 4 * {error:.1f}"
            assert abs(space - count * size) <= 4 * error * size + size, \
                f"{site}: {prefix}_space {space}, not {count * size} +- 4 * {error * size:.0f}"


def sample(rate, *option):
    ended, expected = heaps.measure(h.Workload("allocs"), *option)
    compare(ended.profile(), expected, rate)
    sampled = sum(numbers["objects"] * -math.expm1(-numbers["bytes"] / numbers["objects"] / rate)
                  for numbers in expected.values())
    assert abs(ended.closing.taken - sampled) < 6 * math.sqrt(sampled) + 20, (ended.closing.taken, sampled)


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
