#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cprof record with stores that are too small: every lost sample is counted, by its reason."""
import signal

import harness as h

TEXTS = h.loss_texts()


def lose(limit, reason):
    """Keeps cprof from draining for a second of the target's; thousands of stacks come meanwhile."""
    target = h.Workload("stacks", 60)
    run = h.cprof("record", "-F", "1999", "--limit", limit, "-p", target.pid).attached()
    target.uses(0.3)
    run.signal(signal.SIGSTOP)
    target.uses(1)
    run.signal(signal.SIGCONT)
    target.uses(0.3)
    ended = run.stop()
    closing = ended.closing
    assert closing.reasons.get(TEXTS[reason], 0) > 0, (limit, closing.reasons)
    assert closing.written > 0, vars(closing)
    ended.profile()


@h.test
def aggregation_map_of_16():
    lose("counts=16", "COUNTS_FULL")


@h.test
def event_ring_of_4096_bytes():
    lose("events=4096", "EVENTS_FULL")


@h.test
def both_at_once():
    run = h.cprof("record", "-F", "1999", "--limit", "counts=16", "--limit", "events=4096", "--",
                  h.workload("stacks"), "2").wait()
    assert run.closing.lost > 0, vars(run.closing)
    run.profile()


@h.test
def nothing_is_lost_without_limits():
    """... on a target with thousands of stacks."""
    run = h.cprof("record", "-F", "1999", "--", h.workload("stacks"), "2").wait()
    profile = run.profile()
    assert run.closing.lost == 0, run.closing.reasons
    assert len(profile["samples"]) > 500, len(profile["samples"])


h.main()
