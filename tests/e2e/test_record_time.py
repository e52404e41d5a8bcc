#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cprof record: does the profile's CPU time add up to what the kernel charged the target?"""
import cputime
import harness as h


def measure(name, hz, seconds):
    run = h.cprof("record", "-F", str(hz), "--", *cputime.command(name, seconds)).wait()
    profile = run.profile()
    cputime.is_charged(run, h.total(profile, "samples"), profile["period"], run.says(), f"CPU of {name}")


@h.test
def serial_target():
    measure("hot", 3999, 3 if h.IS_LONG else 1.2)


@h.test
def two_busy_threads():
    measure("threads", 3999, 2 if h.IS_LONG else 0.8)


@h.test
def default_rate():
    measure("hot", 99, 3 if h.IS_LONG else 1.5)


@h.test
def children_count():
    """Three processes on two processors; forker says what its children used."""
    measure("forker", 3999, 1 if h.IS_LONG else 0.5)


h.main()
