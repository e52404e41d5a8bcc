#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cprof heap with stores that are too small: every lost sample is counted, by its reason."""
import signal
import time

import harness as h

TEXTS = h.loss_texts()


def lose(reason, *limits, stopped=False):
    target = h.Workload("churn", "3", "4")
    target.says()
    options = [word for limit in limits for word in ("--limit", limit)]
    run = h.cprof("heap", "--rate", "1", *options, "-p", target.pid).attached()
    target.go()
    if stopped:
        time.sleep(0.3)
        run.signal(signal.SIGSTOP)
        time.sleep(0.7)
        run.signal(signal.SIGCONT)
    ended = run.wait(timeout=40)
    closing = ended.closing
    assert closing.reasons.get(TEXTS[reason], 0) > 0, (limits, closing.reasons)
    assert closing.written > 0, vars(closing)
    ended.profile()
    assert target.wait() == 0


@h.test
def live_map_of_16():
    lose("LIVE_FULL", "live=16")


@h.test
def one_call_in_flight():
    lose("INFLIGHT_FULL", "inflight=1")


@h.test
def aggregation_map_of_16():
    lose("COUNTS_FULL", "counts=16")


@h.test
def event_ring_of_4096_bytes():
    lose("EVENTS_FULL", "events=4096", stopped=True)


@h.test
def all_at_once():
    lose("LIVE_FULL", "live=16", "inflight=1", "counts=64", "events=8192", stopped=True)


@h.test
def no_work_space():
    """Every sample is lost: the accounts say so, and there is nothing to write."""
    target = h.Workload("churn", "1", "2")
    target.says()
    run = h.cprof("heap", "--rate", "1", "--limit", "slots=1", "-p", target.pid).attached()
    target.go()
    ended = run.wait(timeout=40)
    closing = ended.closing
    assert ended.code == 3, ended.code
    assert closing.written == 0 and closing.taken > 0, vars(closing)
    assert closing.reasons == {TEXTS["SLOT_TAKEN"]: closing.taken}, closing.reasons
    assert target.wait() == 0


@h.test
def returns_that_never_come():
    target = h.Workload("leaper", "1000")
    target.says()
    run = h.cprof("heap", "--rate", "1", "-p", target.pid).attached()
    target.go()
    target.says()
    target.go()
    ended = run.wait(timeout=40)
    closing = ended.closing
    assert closing.reasons == {TEXTS["RETURN_MISSED"]: 1000}, closing.reasons
    assert closing.written >= 1000, vars(closing)
    ended.profile()
    assert target.wait() == 0


h.main()
