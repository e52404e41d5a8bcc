#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cprof heap says what it costs its target. The judge is the target itself: it does the same work with cprof and without,
and says what CPU time each took."""
import json
import os
import re
import signal
import subprocess
import sys

import harness as h
import leftovers

TOOK = re.compile(r"^cprof: profiling took (?:about (\d+)|less than 1) % of (the target's CPU time|the CPU time of all) "
                  r"\(([\d,]+|[\d.]+ million) traps of ([\d.]+) us\)$", re.M)
PAIRS, SPINS = 150_000, 2000


def took(run):
    """What it says of itself: percent, whose, traps, and how many microseconds each took."""
    match = TOOK.search("\n".join(run.lines))
    assert match, "no word on what profiling took"
    percent, whose, traps, us = match.groups()
    return int(percent or 0), whose, traps, float(us)


def adds_up(percent, traps, us, least_cpu, most_cpu, what):
    """Is that the share of so many CPU seconds that these traps, of so many microseconds each, take? All are rounded."""
    low, high = (100 * traps * each * 1e-6 / seconds for each, seconds in ((us - 0.06, most_cpu), (us + 0.06, least_cpu)))
    assert min(low, 99) - 1 <= percent <= min(high, 99) + 1, f"{what}: {percent} %, not {low:.1f} to {high:.1f}"


def bare():
    """CPU seconds of the same work without cprof."""
    said = subprocess.run([h.workload("fixed"), str(PAIRS), str(SPINS)], check=True, capture_output=True, text=True)
    return json.loads(said.stdout)["cpu_seconds"]


def launched(*options, pairs=PAIRS, spins=SPINS):
    run = h.cprof("heap", *options, "--", h.workload("fixed"), pairs, spins).wait()
    assert run.code == 0
    return run, run.says()["cpu_seconds"]


def pairs_of_runs():
    """CPU seconds without cprof and with it, and which share it says it took: next to each other, since a busy machine is not
    always equally so."""
    for _ in range(3):
        without = bare()
        run, with_it = launched("--mode", "probe")
        yield without, with_it, took(run)[0] / 100


@h.test
def it_is_what_the_target_pays():
    """By its own clocks, and within a factor of three: the same work takes up to twice the time where others want the CPU and what
    it shares with its neighbour. `make bench-heap` has the figures of a quiet machine."""
    without, with_it, said = zip(*pairs_of_runs())
    true = [1 - bare_s / probed_s for bare_s, probed_s in zip(without, with_it)]
    print(f"# said {said}, true {[round(share, 3) for share in true]}, "
          f"bare {[round(seconds, 3) for seconds in without]} s", flush=True)
    assert 0 < sorted(said)[1] / 3 <= sorted(true)[1] <= 3 * sorted(said)[1], (said, true)


@h.test
def the_traps_are_counted():
    run, _ = launched("--mode", "probe", pairs=100_000, spins=1)
    _, whose, traps, _ = took(run)
    assert whose == "the target's CPU time"
    # A few more of the C library's own.
    assert 200_000 <= h.number(traps) <= 202_000, traps
    run, _ = launched("--mode", "probe", "--alloc-only", pairs=100_000, spins=1)
    assert 100_000 <= h.number(took(run)[2]) <= 101_000


@h.test
def inside_only_samples_are_paid_for():
    """And less is said of them than of all calls of the same program."""
    run, _ = launched("--mode", "inside", "--rate", "65536", spins=500)
    percent, _, traps, _ = took(run)
    # Each sample is an allocation and a free.
    assert h.number(traps) < PAIRS / 50, f"{percent} % by {traps} traps"
    run, _ = launched("--mode", "probe", "--rate", "65536", spins=500)
    probed = took(run)
    assert h.number(probed[2]) >= 2 * PAIRS and percent < probed[0] / 2, (percent, traps, probed)


EXPECTED = re.compile(r"^cprof: the probes will take about (\d+) % of the target's CPU time \(([\d,]+) calls in (\d\.\d) s, traps of "
                      r"([\d.]+) us\).* --inject, .*cprof heap -- COMMAND", re.M)


def busy():
    """A process that does nothing but allocate."""
    target = h.Workload("churn", 0, 1)
    target.says()
    target.go()
    target.says()  # busy
    return target


def told(run, percent):
    """What was told beforehand. cprof warns of more than 30 %: a machine on which a process that only allocates has little more
    than that, or less, shows nothing."""
    match = EXPECTED.search("\n".join(run.lines))
    assert match or percent <= 60, f"it was not told beforehand, and took {percent} %"
    if not match:
        raise h.Skip(f"traps take {percent} % of a process that only allocates")
    return match


@h.test
def a_process_that_runs_already():
    target = busy()
    before = target.used()
    cprof = h.cprof("heap", "-p", target.pid).attached()
    began = target.used()
    target.uses(0.3)
    ended = target.used()
    run = cprof.stop()
    percent, whose, traps, us = took(run)
    assert whose == "the target's CPU time"
    if "million" not in traps:
        adds_up(percent, h.number(traps), us, ended - began, target.used() - before, "it took")
    # It was reported before sampling began, and what was counted then is in no account.
    text = "\n".join(run.lines)
    match = told(run, percent)
    assert "--alloc-only, which" in match[0], match[0]
    assert match.start() < h.ATTACHED.search(text).start()
    # of no more CPU time than there was
    expected, calls, seconds, us = int(match[1]), h.number(match[2]), float(match[3]), float(match[4])
    adds_up(expected, calls, us, calls * (us - 0.06) * 1e-6, seconds + 0.05, "expected")
    run.profile()
    cprof = h.cprof("heap", "--alloc-only", "-p", target.pid).attached()
    match = told(cprof.stop(), percent / 2)
    assert "--alloc-only" not in match[0]
    target.go()
    target.wait()


@h.test
def a_process_that_others_keep_from_the_cpus():
    """It has 6 % of one of them, or, where that is too little for 1 s, more: 100 ms show nothing, and it is looked at for longer."""
    target, cpu = busy(), min(os.sched_getaffinity(0))
    h.running.append(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
    os.sched_setaffinity(h.running[-1].pid, {cpu})
    for thread in map(int, os.listdir(f"/proc/{target.pid}/task")):
        os.sched_setaffinity(thread, {cpu})
    for nice in 12, 8, 4, 0, 12, 8, 4, 0:
        for thread in map(int, os.listdir(f"/proc/{target.pid}/task")):
            os.setpriority(os.PRIO_PROCESS, thread, nice)
        cprof = h.cprof("heap", "--allow-empty", "-p", target.pid).attached()
        match = EXPECTED.search("\n".join(cprof.stop().lines))
        if match and " calls in 0.1 s" not in match[0]:
            break
    assert match and " calls in 0.1 s" not in match[0], "it was not told beforehand, or without a longer look"
    assert int(match[1]) >= 30, match[0]  # is said of more


@h.test
def one_that_allocates_rarely_is_not_warned_of():
    target = h.Workload("hot", 30)
    cprof = h.cprof("heap", "--allow-empty", "-d", "0.2", "-p", target.pid)
    run = cprof.wait()
    assert run.code == 0 and not EXPECTED.search("\n".join(run.lines))


@h.test
def interrupted_while_it_looks():
    target = busy()
    cprof = h.cprof("heap", "-p", target.pid)
    cprof.awaits(r"^cprof: every mapped file is examined")
    assert cprof.stop().code in (0, 3)
    target.go()
    target.wait()


LIMITED = re.compile(r"^cprof: sampling stopped after [\d.]+ s: it took (\d+) % of the target's CPU time, and --max-overhead "
                     r"is (\d+)\.", re.M)


@h.test
def a_limit_is_held():
    """Half of what the probes take on this machine is too much: they go, and most of the work is done without. cprof gets a CPU
    at once, so that it is not late."""
    percent = took(launched("--mode", "probe")[0])[0]
    if percent < 4:
        raise h.Skip(f"traps take {percent} % here")
    pairs, limit = 1_400_000, str(percent // 2)
    run = h.cprof("heap", "--mode", "probe", "--max-overhead", limit, "--", "nice", "-n", "39", h.workload("fixed"), pairs, SPINS,
                  run_as=h.AHEAD_OF_OTHERS).wait()
    match = LIMITED.search("\n".join(run.lines))
    assert run.code == 5 and match, f"exit code {run.code}"
    assert int(match[1]) >= int(limit) and match[2] == limit, match[0]
    said, traps = run.says(), h.number(took(run)[2])
    print(f"# {said['cpu_seconds']:.2f} s of work, the second half in {said['second_half']:.2f} s, at first {match[1]} % were lost "
          f"by {traps:,} traps", flush=True)
    assert traps < pairs, "the probes stayed for the second half"
    run.profile(code=5)


@h.test
def a_limit_that_is_not_reached():
    target = h.Workload("hot", 30)
    run = h.cprof("heap", "--max-overhead", "5%", "--allow-empty", "-d", "1", "-p", target.pid).wait()
    assert run.code == 0 and not LIMITED.search("\n".join(run.lines))
    # All but -a has none unless it is asked for, and -a says how to do without.
    target = busy()
    cprof = h.cprof("heap", "-p", target.pid).attached()
    target.uses(1.2)
    run = cprof.stop()
    assert run.code == 0 and not LIMITED.search("\n".join(run.lines))
    target.go()
    target.wait()
    run = h.cprof("heap", "-a", "--allow-empty", "-d", "0.1", output=h.folder()).wait()
    assert [line for line in run.lines if re.search("more than 10 % of the time of all CPUs .*--max-overhead 100", line)]


@h.test
def a_limit_makes_sense():
    for wrong in ("0", "101", "much"):
        assert h.cprof("heap", "--max-overhead", wrong, "--", "true").wait().code == 2


@h.test
def the_probes_go_when_sampling_is_over():
    """And not when the command ends, or all names are found."""
    cprof = h.cprof("heap", "--mode", "probe", "-d", "0.2", "--", h.workload("churn"), "300", "1").attached()
    cprof.awaits(r"^cprof: taken")
    target, = [pid for pid in h.children(cprof.pid) if os.path.samefile(f"/proc/{pid}/exe", h.workload("churn"))]
    assert not leftovers.left_probes([target])
    os.kill(target, signal.SIGKILL)
    assert cprof.wait().code == 128 + signal.SIGKILL


h.main()
