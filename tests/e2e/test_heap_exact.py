#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cprof heap --rate 1: every allocation of every site, exactly, and what is left after the frees."""
import harness as h


def compare(profile, expected, kinds):
    for site, numbers in expected.items():
        for kind, key in kinds.items():
            found = h.by_function(profile, kind).get(site, 0)
            assert found == numbers[key], f"{site}: {kind} {found}, not {numbers[key]}"


ALLOCATED = {"alloc_objects": "objects", "alloc_space": "bytes"}
LIVE = {"inuse_objects": "live_objects", "inuse_space": "live_bytes"}


@h.test
def counts_and_bytes_of_a_running_process():
    target = h.Workload("allocs")
    target.says()
    run = h.cprof("heap", "--rate", "1", "-p", target.pid).attached()
    target.go()
    expected = target.says()
    target.says()  # done: it waits, with half of its blocks
    ended = run.stop()
    profile = ended.profile()
    assert ended.closing.lost == 0, ended.closing.reasons
    compare(profile, expected, ALLOCATED)
    compare(profile, expected, LIVE)
    target.go()
    assert target.wait() == 0


@h.test
def counts_and_bytes_of_a_launched_command():
    run = h.cprof("heap", "--rate", "1", "--", h.workload("allocs"), "20", "now").wait()
    compare(run.profile(), run.says(), ALLOCATED)


@h.test
def leaf_is_the_allocator():
    run = h.cprof("heap", "--rate", "1", "--", h.workload("allocs"), "5", "now").wait()
    leaves = {s["stack"][0] for s in run.profile()["samples"] if "site_a" in s["stack"]}
    assert leaves in ({"malloc"}, {"__libc_malloc"}), leaves


@h.test
def threads_do_not_mix():
    """Four threads allocate and free at once; nothing of it is left at the end."""
    target = h.Workload("churn", "0.5", "4")
    target.says()
    run = h.cprof("heap", "--rate", "1", "-p", target.pid).attached()
    target.go()
    ended = run.wait()
    profile = ended.profile()
    assert h.by_function(profile, "alloc_objects")["churn"] > 1000
    assert target.wait() == 0


h.main()
