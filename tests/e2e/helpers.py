# SPDX-License-Identifier: BSD-2-Clause
"""The processes that help cprof: which they are, what they may do, and when they have ended."""
import time

import harness as h
import kills
import leftovers


def status(pid, file="/status"):
    """/proc/PID/status as a dict; empty if there is no such process. Or another file like it."""
    try:
        with open(f"/proc/{pid}{file}", encoding="utf-8", errors="replace") as lines:
            return {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}
    except OSError:
        return {}


LOOKS = 5


def child(parent, name):
    """The child with this name, None if there is none now. While another child ends, the kernel's list may lack some: it is read more than
    once before it counts."""
    for _ in range(LOOKS):
        for pid in leftovers.children_of(parent):
            if leftovers.lives(pid) and status(pid).get("Name") == name:
                return pid
    return None


def grandchild(run, keeper, name):
    """The helper of a run, whose keeper has that name."""
    found = child(run.pid, keeper)
    return found and child(found, name)


def at_rest(pid):
    """Waits until it has done nothing for half a second; returns it."""
    end, since, before = time.monotonic() + h.HANGS, time.monotonic(), None
    while time.monotonic() < since + 0.5:
        assert time.monotonic() < end, "it does not rest"
        if (used := time.clock_gettime(~pid << 3 | 2)) != before:
            since, before = time.monotonic(), used
        time.sleep(0.01)
    return pid


def ends(pid):
    """It does not outlive cprof."""
    end = time.monotonic() + h.HANGS
    while status(pid).get("State", "Z")[0] != "Z":
        assert time.monotonic() < end, "it outlives cprof"
        time.sleep(0.01)


def named(done, target, functions=("hot", "main")):
    """(the samples of the target, those of them whose functions are named)."""
    samples = [s for s in done.profile()["samples"] if s["labels"].get("pid") == target.pid]
    return samples, [s for s in samples if set(functions) <= set(s["stack"])]


def allocating():
    """A workload that allocates as steadily as hot spins, and pauses."""
    target = h.Workload("neighbour", 600, 6_000_000)
    target.says()
    target.go()
    target.uses(0.02)
    return target.pauses()


def is_killed_at_any_moment(helper_of, is_complete, nr_kills):
    """A helper that is killed is replaced, and nothing is missing: so many times, of record and of heap in turn. A run may end
    before its helper is killed; then there is one more."""
    commands = [(("record", "-F", "999"), h.paused("hot", 600), ("hot", "main")),
                (("heap", "--rate", "1"), allocating(), ("neighbour_allocates", "main"))]
    took, nr_killed, nr_runs = [1.0, 1.0], 0, 0  # seconds, of the last run of each
    kills.begins_anew()
    while nr_killed < nr_kills:
        assert nr_runs < 10 * nr_kills, f"{nr_killed} killed in {nr_runs} runs"
        nr_runs += 1
        which = nr_killed % len(commands)
        options, target, functions = commands[which]
        began = time.monotonic()
        done, killed = kills.kill_helper(h.cprof(*options, "-p", target.pid), target, helper_of, took[which])
        took[which] = time.monotonic() - began
        nr_killed += killed
        assert done.code == 0, (nr_killed, done.lines)
        is_complete(done, target, functions)
    print(f"# killed {nr_killed} times in {nr_runs} runs", flush=True)
