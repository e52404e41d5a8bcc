#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cprof heap with stores that are too small: every lost sample is counted, by its reason."""
import os
import platform
import re
import signal
import subprocess

import harness as h
import heaps

TEXTS = h.loss_texts()


def lose(reason, *limits, stopped=False):
    """Four threads are busy until cprof was, if it shall be, stopped for a while of theirs."""
    target = h.Workload("churn", "0", "4")
    run = heaps.watch(target, "--rate", "1", *[word for limit in limits for word in ("--limit", limit)])
    target.says()  # busy
    target.uses(0.1)
    if stopped:
        run.signal(signal.SIGSTOP)
        target.uses(0.2)
        run.signal(signal.SIGCONT)
        target.uses(0.1)
    target.go()
    ended = run.wait()
    closing = ended.closing
    assert closing.reasons.get(TEXTS[reason], 0) > 0, (limits, closing.reasons)
    assert closing.written > 0, vars(closing)
    ended.profile()
    is_said(ended)
    assert target.wait() == 0


def is_said(ended):
    """What was lost makes values too low, whatever it was, and lost frees make those in use too high: at the end, and where they
    are shown."""
    lost_frees = re.search(r" frees lost (?!0 )", "\n".join(ended.lines))
    for what, kind, words, short in (("allocated values", "alloc_space", "lower bounds", "at least"),
                                     ("values in use", "inuse_space", *(("about right", "about") if lost_frees else ("lower bounds", "at least")))):
        assert any(f"{what} are {words}: they lack" in line for line in ended.lines), ended.lines
        top = h.run_cprof("top", "--sample-type", kind, ended.output, stdout=subprocess.PIPE).stdout
        assert re.search(f"^(Total: |Duration: .* = ){short} ", top, re.M), top


@h.test
def live_map_of_16():
    lose("LIVE_FULL", "live=16")


@h.test
def one_call_in_flight():
    """Eight threads are in a call at once."""
    target = h.Workload("stuck", 8)
    run = heaps.watch(target, "--rate", "1", "--limit", "inflight=1")
    target.says()  # all are inside
    target.go()
    ended = run.wait()
    assert ended.closing.reasons.get(TEXTS["INFLIGHT_FULL"], 0) >= 7, ended.closing.reasons
    ended.profile()
    assert target.wait() == 0


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
    target = h.Workload("churn", "0.1", "2")
    ended = heaps.watch(target, "--rate", "1", "--limit", "slots=1").wait()
    closing = ended.closing
    assert ended.code == 3, ended.code
    assert closing.written == 0 and closing.taken > 0, vars(closing)
    assert closing.reasons == {TEXTS["SLOT_TAKEN"]: closing.taken}, closing.reasons
    assert target.wait() == 0


@h.test
def returns_that_never_come():
    target = h.Workload("leaper", "1000")
    run = heaps.watch(target, "--rate", "1")
    target.says()
    target.go()
    ended = run.wait()
    closing = ended.closing
    assert closing.reasons == {TEXTS["RETURN_MISSED"]: 1000}, closing.reasons
    assert closing.written >= 1000, vars(closing)
    ended.profile()
    assert target.wait() == 0


def live_maps(pid):
    """What the kernel says that the maps of live blocks take, and how many fit."""
    taken = fit = 0
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        with open(f"/proc/{pid}/fdinfo/{fd}", encoding="utf-8") as file:
            row = dict(re.findall(r"^(\w+):\t(\w+)$", file.read(), re.M))
        if (row.get("map_type"), row.get("key_size"), row.get("value_size")) == ("1", "16", "8"):
            taken += int(row["memlock"])
            fit += int(row["max_entries"])
    return taken, fit


@h.test
def as_many_as_asked_for():
    """At rate 1 more by default; and half of the memory at most, which is said."""
    grows = tuple(map(int, platform.release().split(".")[:2])) >= (6, 1)
    target = h.Workload("hoard", "10")
    target.says()
    for options, least, most in (["--rate", "1"], 1 << 18, 1 << 22 if grows else 1 << 18), (["--rate", "2"], 1 << 18, 1 << 20), \
            (["--max-blocks", "40000"], 40000, 40000), (["--max-blocks", "5000000"], 1 << 18, 5000000):
        run = h.cprof("heap", *options, "-p", target.pid).attached()
        fit = h.number(re.search(r"sampled blocks that can be followed: ([\d,]+)", run.said())[1])
        assert least <= fit <= most, (options, fit)
        asked = int(options[1]) if options[0] == "--max-blocks" else 0
        assert (fit < asked) == ("half of what is available" in run.said()), run.said()
        run.stop()


@h.test
def no_warning_of_none():
    """The fewest that can be asked for are not nearly reached where there are none."""
    target = h.Workload("hoard", "10")
    target.says()
    run = h.cprof("heap", "--rate", "1", "--max-blocks", "5", "-d", "1.5", "--allow-empty", "-p", target.pid).wait()
    assert run.code == 0 and not [line for line in run.lines if "can be followed: later" in line], run.lines


@h.test
def more_live_blocks_than_can_be_followed():
    """What is beyond is counted, and what is freed makes room; it is said before, and wherever in use is shown. In a long
    run a million can be followed."""
    if tuple(map(int, platform.release().split(".")[:2])) < (6, 1):
        raise h.Skip("before Linux 6.1 no map grows, and fewer fit")
    most = 1 << 20 if h.IS_LONG else 1 << 18
    count = most + 50000
    target = h.Workload("hoard", count)
    target.says()
    run = h.cprof("heap", "--rate", "1", "--max-blocks", most, "-p", target.pid).attached()
    _, fit = live_maps(run.pid)
    assert fit == most, fit
    target.go()
    target.says()  # full
    full, _ = live_maps(run.pid)
    assert full / most <= 128, full / most
    run.snapshot(1)
    target.go()
    target.says()  # done
    ended = run.stop()
    before, after = ended.windows()
    assert ended.closing.reasons == {TEXTS["LIVE_FULL"]: count - most}, ended.closing.reasons
    lacks = f"it lacks up to {count - most:,} sampled blocks"
    assert any("values in use are lower bounds: " + lacks.replace("it lacks", "they lack") in line for line in ended.lines), ended.lines
    warned = [i for i, line in enumerate(ended.lines) if f"sampled blocks are in use, and {most:,} can be followed" in line]
    assert len(warned) == 1, ended.lines
    for path in ended.files:
        top = h.run_cprof("top", "--sample-type", "inuse_space", path, stdout=subprocess.PIPE).stdout
        assert top.splitlines()[2].endswith(f"; in use is at least this: {lacks} (live map full)"), top
        assert re.search("^(Total: |Duration: .* = )at least ", top, re.M), top
    assert h.by_function(before, "alloc_objects")["hoard"] == most
    assert not h.by_function(after, "alloc_objects").get("hoard", 0)
    assert not h.by_function(after, "inuse_objects").get("hoard", 0)
    assert h.total(before, "inuse_objects") == most
    target.go()
    assert target.wait() == 0


h.main()
