#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cprof record: does the profile's CPU time add up to what the kernel charged the target?"""
import math

import harness as h


def measure(name, hz):
    run = h.cprof("record", "-F", str(hz), "--", h.workload(name), "3").wait()
    return h.total(run.profile(), "cpu") / 1e9, run.says()["cpu_seconds"]


@h.test
def serial_target():
    """At 3,999 Hz, so that 5 % are many standard errors even where the processors are contended."""
    seconds, charged = measure("hot", 3999)
    h.near(seconds, charged, 0.05, "CPU of hot")


@h.test
def two_busy_threads():
    seconds, charged = measure("threads", 3999)
    h.near(seconds, charged, 0.05, "CPU of threads")


@h.test
def default_rate():
    """99 Hz for 3 s is some 300 ticks, of which other processes get their random share."""
    seconds, charged = measure("hot", 99)
    assert abs(seconds - charged) * 99 < 4 * math.sqrt(charged * 99) + 1, (seconds, charged)


@h.test
def children_count():
    """Three processes on two processors; forker says what its children used."""
    run = h.cprof("record", "-F", "3999", "--", h.workload("forker"), "2").wait()
    h.near(h.total(run.profile(), "cpu") / 1e9, run.says()["cpu_seconds"], 0.05, "CPU of children")


h.main()
