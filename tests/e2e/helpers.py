# SPDX-License-Identifier: BSD-2-Clause
"""The processes that help cprof: which they are, what they may do, and when they have ended."""
import time

import harness as h
import kills
import leftovers


def status(pid):
    """/proc/PID/status as a dict; empty if there is no such process."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
            return {key: value.strip() for key, _, value in (line.partition(":") for line in file)}
    except OSError:
        return {}


def child(parent, name):
    """The child with this name, None if there is none now."""
    return next((pid for pid in leftovers.children_of(parent) if leftovers.lives(pid) and status(pid).get("Name") == name), None)


def grandchild(run, keeper, name):
    """The helper of a run, whose keeper has that name."""
    found = child(run.pid, keeper)
    return found and child(found, name)


def ends(pid):
    """It does not outlive cprof."""
    end = time.monotonic() + h.HANGS
    while status(pid).get("State", "Z")[0] != "Z":
        assert time.monotonic() < end, "it outlives cprof"
        time.sleep(0.01)


def named(done, target):
    """(the samples of the target, those of them whose functions are named)."""
    samples = [s for s in done.profile()["samples"] if s["labels"].get("pid") == target.pid]
    return samples, [s for s in samples if {"hot", "main"} <= set(s["stack"])]


def is_killed_at_any_moment(helper_of, is_complete, at_least, at_most):
    """A helper that is killed is replaced, and nothing is missing: at_least times, and until one was killed."""
    target = h.paused("hot", 600)
    nr_killed = 0
    kills.begins_anew()
    for moment in range(at_most):
        if moment >= at_least and nr_killed:  # it may end before it is killed
            break
        run = h.cprof("record", "-F", "999", "-p", target.pid)
        done, killed = kills.kill_helper(run, target, helper_of)
        nr_killed += killed
        assert done.code == 0, (moment, done.lines)
        is_complete(done, target)
    assert nr_killed, "none was ever killed"
