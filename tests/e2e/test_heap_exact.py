#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cprof heap --rate 1: every allocation of every site, exactly, and what is left after the frees."""
import harness as h
import heaps


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
