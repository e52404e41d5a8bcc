#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cprof heap: what is resident, held against what is in use."""
import re

import harness as h
import heaps

RESIDENT = re.compile(r"^cprof: resident: ([\d,]+) kB = anonymous ([\d,]+) \+ files ([\d,]+) \+ shared ([\d,]+) "
                      r"\(swapped out: ([\d,]+)\); in use, of what was allocated since the start: (at least )?([\d,]+) kB; "
                      r"([\d,]+|at most [\d,]+) kB of the anonymous memory are in no such block$")


def said(run):
    found = run.matches(RESIDENT)
    assert len(found) == 1, run.lines
    return found[0]


@h.test
def by_kind():
    """20 MB of blocks, and 30 MB that are mapped without malloc."""
    ended, _ = heaps.measure(h.Workload("resident"), "--rate", "1")
    line = said(ended)
    rss, anon, files, shared, swapped = map(h.number, line.groups()[:5])
    assert abs(rss - anon - files - shared) <= 4, line[0]  # each is rounded, or counted a moment later
    held = h.total(ended.profile(), "inuse_space") // 1024
    assert h.number(line[7]) == held and not line[6], (line[0], held)
    if not swapped:
        assert abs(h.number(line[8]) - anon + held) <= 1 and 29000 < anon - held < 36000, line[0]


@h.test
def within_the_error():
    """Of few samples: what is left is said if it is more than two standard errors, and not if it is less."""
    line = re.compile(r"^cprof: resident: .* = anonymous ([\d,]+) .* since the start: ([\d,]+) kB \(standard error ([\d,]+)\); (.*)$")
    for rate in "4194304", "16384":
        ended, _ = heaps.measure(h.Workload("resident"), "--rate", rate, "--allow-empty")
        found = ended.matches(line)
        if not found and rate == "4194304" and h.total(ended.profile(), "inuse_space") == 0:
            continue  # nothing was sampled: there is no error
        anon, inuse, error = map(h.number, found[0].groups()[:3])
        rest = abs(anon - inuse)
        if abs(rest - 2 * error) > 4:  # each is rounded
            assert ("within that error" in found[0][4]) == (rest < 2 * error), found[0][0]


@h.test
def at_least():
    """Where blocks could not be followed."""
    ended, _ = heaps.measure(h.Workload("resident"), "--rate", "1", "--max-blocks", "1000")
    line = said(ended)
    assert line[6] == "at least " and line[8].startswith("at most "), line[0]


@h.test
def not_of_one_that_is_gone():
    ended = h.cprof("heap", "--rate", "1", "--", h.workload("allocs"), "5", "now").wait()
    assert not [line for line in ended.lines if "resident:" in line], ended.lines


if __name__ == "__main__":
    h.main()
