#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cprof heap --follow-fork, and what becomes of the blocks of processes that end: at rate 1, so that
every count is exact, and with the accounts of the kernel side held against the profiles."""
import harness as h
import heaps

WAYS = (1, 2, 3)


def accounts_of(ended, profiles):
    """They add up (the harness sees to that), and what is in use is what is live, and what was left."""
    accounts, in_use = ended.accounts, sum(h.total(profile, "inuse_objects") for profile in profiles)
    assert accounts.taken == accounts.stored + ended.closing.lost, (vars(accounts), vars(ended.closing))
    assert in_use == accounts.live + accounts.left + accounts.frees_lost, (in_use, vars(accounts))
    return accounts


def serve(*options):
    target = h.Workload("forkserver", 12)
    ended, expected = heaps.measure(target, "--rate", "1", *options)
    return ended, expected, target.pid


@h.test
def fork_server():
    """In every way of attaching."""
    for way in WAYS:
        ended, expected, _ = serve("--follow-fork", "--limit", f"attach_mode={way}")
        profile = ended.profile()
        heaps.exact(profile, expected)
        assert ended.closing.lost == 0, ended.closing.reasons
        accounts = accounts_of(ended, [profile])
        assert accounts.cut_off == 0 and accounts.gone >= 4 * (20 + 30 + 1), vars(accounts)
        assert accounts.left >= 8 * 31 + 4 * 20 + 3 * 5, vars(accounts)
        assert accounts.live >= 200, vars(accounts)


@h.test
def each_child_has_a_file_and_a_label():
    folder = h.folder()
    ended, expected, parent = serve("--follow-fork", "-o", folder)
    profiles = ended.profiles()
    heaps.exact(profiles.values(), expected)
    accounts_of(ended, profiles.values())
    assert len(profiles) == 1 + 12 + 3, sorted(profiles)
    for path, profile in profiles.items():
        pid, = h.labels(profile, "pid")
        assert path == f"{folder}/cprof.heap.forkserver.{pid}.pb.gz", (path, pid)
        held = h.by_function(profile, "inuse_objects")
        assert held.get("site_parent", 0) == (200 if pid == parent else 0), (path, held)
        if pid != parent and held.get("site_worker"):
            assert held["site_worker"] == 30 and held["site_grown"] == 1, held


@h.test
def without_it_children_are_left_alone():
    ended, expected, parent = serve()
    profile = ended.profile()
    heaps.exact(profile, {"site_parent": expected["site_parent"]})
    assert h.labels(profile, "pid") == {parent}
    assert not h.by_function(profile, "alloc_objects").get("site_worker")
    assert accounts_of(ended, [profile]).left == 0


@h.test
def a_launched_server():
    run = h.cprof("heap", "--rate", "1", "--follow-fork", "--", h.workload("forkserver"), "12", "now").wait()
    profile = run.profile()
    heaps.exact(profile, run.says())
    accounts = accounts_of(run, [profile])
    assert accounts.live == 0 and accounts.left >= 200, vars(accounts)


@h.test
def room_is_made():
    """40 processes leave 300 blocks each, and there is room for 4,000: who exits makes it. cprof has the
    time to see so after each eight."""
    shell = h.Workload("/bin/sh", "-c", f"while read -r _; do {h.workload('forkserver')} 0 now; done")
    run = h.cprof("heap", "--rate", "1", "--follow-fork", "--limit", "live=4000", "-p", shell.pid).attached()
    for i in range(1, 41):
        shell.go()
        shell.says()
        if i % 8 == 0:
            run.snapshot(i // 8)
    ended = run.stop()
    profile = ended.profile()
    assert ended.closing.lost == 0, ended.closing.reasons
    assert h.by_function(profile, "inuse_objects")["site_parent"] == 40 * 200
    assert accounts_of(ended, [profile]).left > 8000


@h.test
def leaks_of_a_command():
    """What is live when it exits is in use: that is what its user wants to see."""
    run = h.cprof("heap", "--rate", "1", "--inuse", "--", h.workload("allocs"), "5", "now").wait()
    profile = run.profile()
    expected = run.says()
    for site, numbers in expected.items():
        assert h.by_function(profile, "inuse_objects").get(site, 0) == numbers["live_objects"], site
    accounts = accounts_of(run, [profile])
    assert accounts.live == 0 and accounts.left == run.closing.written, vars(accounts)


@h.test
def killed_inside_the_allocator():
    """Calls that a thread died in are cut off, and their notes are gone from the kernel's map."""
    target = h.Workload("stuck", 8)
    run = heaps.watch(target, "--rate", "1")
    target.says()  # all are inside
    target.process.kill()
    ended = run.wait()
    accounts = accounts_of(ended, [ended.profile()])
    assert accounts.under_way == 0 and accounts.live == 0, vars(accounts)
    assert accounts.cut_off == 8, vars(accounts)


@h.test
def killed_while_it_allocates():
    """Wherever the threads are at that moment."""
    for seconds in (0.05, 0.1, 0.2):
        target = h.Workload("churn", "0", "8")
        run = heaps.watch(target, "--rate", "1")
        target.uses(seconds)
        target.process.kill()
        ended = run.wait()
        accounts = accounts_of(ended, [ended.profile()])
        assert accounts.under_way == 0 and accounts.live == 0, vars(accounts)


h.main()
