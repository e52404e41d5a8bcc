#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cprof record with stores that are too small: every lost sample is counted, by its reason."""
import os
import signal

import harness as h
import privileges as p

TEXTS = h.loss_texts()


def lose(limits, reasons):
    """Keeps cprof from draining for half a second of the target's; a thousand stacks come meanwhile."""
    target = h.paused("stacks", 60)
    options = [word for limit in limits for word in ("--limit", limit)]
    run = h.cprof("record", "-F", "1999", *options, "-p", target.pid).attached()
    target.uses(0.1)
    run.signal(signal.SIGSTOP)
    target.uses(0.5)
    run.signal(signal.SIGCONT)
    target.uses(0.1)
    target.pauses()
    ended = run.stop()
    closing = ended.closing
    assert sum(closing.reasons.get(TEXTS[reason], 0) for reason in reasons) > 0, (limits, closing.reasons)
    assert closing.written > 0, vars(closing)
    ended.profile()


@h.test
def aggregation_map_of_16():
    lose(["counts=16"], ["COUNTS_FULL"])


@h.test
def event_ring_of_4096_bytes():
    lose(["events=4096"], ["EVENTS_FULL"])


@h.test
def both_at_once():
    lose(["counts=16", "events=4096"], ["COUNTS_FULL", "EVENTS_FULL"])


@h.test
def nothing_is_lost_without_limits():
    """... on a target with thousands of stacks."""
    run = h.cprof("record", "-F", "1999", "--", h.workload("stacks"), "1").wait()
    profile = run.profile()
    assert run.closing.lost == 0, run.closing.reasons
    # each walk is another stack, of 4,096, and no tick knows which it meets
    nr_met = min(h.total(profile, "samples"), run.says()["walks"], 4096)
    assert len(profile["samples"]) >= nr_met / 2 > 0, (len(profile["samples"]), nr_met)


def changing_limit():
    """A function that sets the kernel's limit on the rate, as far as its file goes; and the command prefix under which it does."""
    path = os.path.join(h.folder(), "limit")

    def limit(number):
        with open(path, "w", encoding="ascii") as file:
            file.write(f"{number}\n")

    limit(100000)
    return limit, p.mounted(f"mount --bind {path} /proc/sys/kernel/perf_event_max_sample_rate")


@h.test
def the_limit_of_the_rate_falls():
    """In mid-run, as the kernel itself lets it where ticks take long: that ticks are missing is said."""
    limit, changed = changing_limit()
    target = h.paused("hot", 60)
    for lowest in 499, 300:
        run = h.cprof("record", "-F", "499", "-p", target.pid, run_as=changed).attached()
        target.uses(0.2)
        limit(lowest)
        target.pauses()
        ended = run.stop()
        ended.profile()
        said = [line for line in ended.lines if "perf_event_max_sample_rate" in line]
        assert bool(said) == (lowest < 499), ended.lines
        limit(100000)
    assert "fell to 300 ticks a second" in said[0] and "Use -F 300." in said[0], said


@h.test
def the_limit_of_the_rate_falls_and_rises():
    """Both before the run ends: it is said once."""
    limit, changed = changing_limit()
    target = h.paused("hot", 60)
    run = h.cprof("record", "-F", "499", "-p", target.pid, run_as=changed).attached()
    limit(300)
    run.awaits("fell to 300 ticks a second")
    limit(100000)
    target.uses(0.1)
    target.pauses()
    ended = run.stop()
    ended.profile()
    assert len([line for line in ended.lines if "perf_event_max_sample_rate" in line]) == 1, ended.lines


h.main()
