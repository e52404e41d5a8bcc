#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cprof heap --peak: what was in use when it was most, as programs say it that watch themselves."""
import re

import harness as h
import heaps

PEAK = re.compile(r", in use at the peak of ([\d,]+) bytes at (\d+\.\d+) s: ")
PEAKS = re.compile(r", in use at the peak of each process, ([\d,]+) bytes in sum: ")
KINDS = ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"]


def bytes_of(expected):
    return sum(site["live_bytes"] for site in expected.values())


def said_in(profile):
    """The bytes and the time of the comment; those of the profile are the same."""
    found = PEAK.search(profile["comments"][0])
    assert found, profile["comments"]
    assert h.number(found[1]) == h.total(profile, "inuse_space") or \
        abs(h.number(found[1]) - h.total(profile, "inuse_space")) <= len(profile["samples"]), profile["comments"]
    return h.number(found[1]), float(found[2])


@h.test
def as_the_program_says():
    """To a byte, at rate 1, site by site, of a peak that lasted for a moment."""
    ended, expected = heaps.measure(h.Workload("peaks"), "--rate", "1", "--peak")
    profile = ended.profile()
    assert profile["types"] == KINDS and profile["duration_ns"] == 0, profile["types"]
    assert profile["default_type"] == "inuse_space"
    heaps.exact(profile, expected, heaps.LIVE)
    assert "site_after" not in h.by_function(profile, "inuse_space")
    assert h.total(profile, "alloc_objects") == 0 == h.total(profile, "alloc_space")
    said, at = said_in(profile)
    assert bytes_of(expected) <= said < bytes_of(expected) + 100_000, (said, bytes_of(expected))  # stdio's buffer
    assert at > 0
    top = h.run_cprof("top", ended.output).stdout
    assert "in use at the peak of" in top, top


@h.test
def an_estimate():
    """At a coarser rate the total is within 5 % of the program's own."""
    ended, expected = heaps.measure(h.Workload("peaks"), "--rate", "4096", "--peak")
    said, _ = said_in(ended.profile())
    assert abs(said - bytes_of(expected)) < 0.05 * bytes_of(expected), (said, bytes_of(expected))


@h.test
def beside_other_views():
    """The peak is a file of its own, and the others are what they are without it."""
    ended, expected = heaps.measure(h.Workload("peaks"), "--rate", "1", "--views", "--peak")
    whole = ended.profile()
    heaps.exact(ended.extra_profile(".peak.pb.gz"), expected, heaps.LIVE)
    for kind in KINDS[2:]:
        assert h.total(ended.extra_profile(".inuse.pb.gz"), kind) == h.total(whole, kind)


def launched(*options):
    run = h.cprof("heap", "--rate", "1", "--peak", *options, "--", "/bin/sh", "-c",
                  f"exec {h.workload('peaks')} 5000 now").wait()
    profile, expected = run.profile(), run.says()
    heaps.exact(profile, expected, heaps.LIVE)
    said_in(profile)


@h.test
def of_a_command_that_execs():
    """What ran before held less, and is not in it."""
    launched()


@h.test
def inside():
    launched("--mode", "inside")


@h.test
def of_several_processes():
    """In one file, each at its own peak."""
    first, second = h.Workload("peaks", "2000"), h.Workload("peaks", "6000")
    first.says(), second.says()
    run = h.cprof("heap", "--rate", "1", "--peak", "-p", f"{first.pid},{second.pid}").attached()
    first.go()
    expected = first.says()
    second.go()
    second_says = second.says()
    profile = run.stop().profile()
    for site, numbers in second_says.items():
        for key, value in numbers.items():
            expected[site][key] += value
    heaps.exact(profile, expected, heaps.LIVE)
    assert h.number(PEAKS.search(profile["comments"][0])[1]) == h.total(profile, "inuse_space")


@h.test
def of_processes_that_end_at_once():
    """Each has a peak, whenever it ended while others were looked at."""
    ended = h.cprof("heap", "--rate", "1", "--peak", "--mode", "inside", "--", h.workload("brief"), "8000").wait()
    closing = ended.closing
    assert closing.written == closing.taken == 8000, ended.lines


@h.test
def needs_frees():
    run = h.run_cprof("heap", "--peak", "--alloc-only", "-p", "1", status=None)
    assert run.returncode == 2 and "--alloc-only" in run.stderr, run


if __name__ == "__main__":
    h.main()
