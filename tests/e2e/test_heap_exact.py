#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cprof heap --rate 1: every allocation of every site, exactly, and what is left after the frees."""
import os
import signal
import time

import harness as h
import heaps
import leftovers


@h.test
def counts_and_bytes_of_a_running_process():
    """When it is done it waits, with half of its blocks."""
    ended, expected = heaps.measure(h.Workload("allocs"), "--rate", "1")
    heaps.exact(ended.profile(), expected)
    assert ended.closing.lost == 0, ended.closing.reasons


@h.test
def counts_and_bytes_of_a_launched_command():
    run = h.cprof("heap", "--rate", "1", "--", h.workload("allocs"), "20", "now").wait()
    heaps.exact(run.profile(), run.says())


@h.test
def first_blocks_have_whole_stacks():
    """A program allocates thousands of blocks before user space can have heard of its code."""
    for _ in range(5):
        run = h.cprof("heap", "--rate", "1", "--", h.workload("allocs"), "20", "now").wait()
        assert not any("code not known yet" in line for line in run.lines), run.lines


def ends_unseen(run, name):
    """The command ends while cprof stands still, from soon after its exec on."""
    end = time.monotonic() + h.HANGS
    while time.monotonic() < end:
        for pid in leftovers.children_of(run.pid):
            if comm_and_state(pid)[0] == name:
                os.kill(run.pid, signal.SIGSTOP)
                while time.monotonic() < end and comm_and_state(pid)[1] != "Z":
                    time.sleep(0.001)
                os.kill(run.pid, signal.SIGCONT)
                return
    raise AssertionError(f"{name} never ran")


def comm_and_state(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            comm, _, rest = file.read().partition("(")[2].rpartition(")")
            return comm, rest.split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "", "Z"


@h.test
def blocks_of_a_program_that_nobody_follows_have_whole_stacks():
    """However late user space comes to hear of its code: all of its stacks are kept until then."""
    run = h.cprof("heap", "--rate", "1", "--", h.workload("allocs"), "20", "now")
    ends_unseen(run, "allocs")
    done = run.wait()
    assert done.closing.taken > 4000, done.lines
    assert not any("code not known yet" in line for line in done.lines), done.lines


@h.test
def leaf_is_the_allocator():
    """With --all-frames; without it the file begins with who allocates."""
    for more, expected in ((("--all-frames",), ({"malloc"}, {"__libc_malloc"})), ((), ({"site_a"},))):
        run = h.cprof("heap", "--rate", "1", *more, "--", h.workload("allocs"), "5", "now").wait()
        leaves = {s["stack"][0] for s in run.profile()["samples"] if "site_a" in s["stack"]}
        assert leaves in expected, leaves


@h.test
def threads_do_not_mix():
    """Four threads allocate and free at once; nothing of it is left at the end."""
    target = h.Workload("churn", "0.5", "4")
    ended = heaps.watch(target, "--rate", "1").wait()
    profile = ended.profile()
    assert h.by_function(profile, "alloc_objects")["churn"] > 1000
    assert not h.by_function(profile, "inuse_objects").get("churn"), ended.lines
    assert target.wait() == 0


h.main()
