#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Whole stacks of code that was not there when profiling began: dlopen, exec, vfork, short lives."""
import os

import chance
import harness as h
import unwinding as u


def no_sample_lost(run):
    assert run.closing.lost == 0, run.closing.reasons


@h.test
def dlopen_in_mid_profile():
    loader, plugin = u.build("loader"), u.build("plugin", target=os.path.join(h.folder(), "plugin.so"))
    run = u.record(loader, plugin, 0.5, hz=999)
    profile = run.profile()
    no_sample_lost(run)
    u.assert_whole(profile["samples"])
    inner, back = u.holding(profile, "plugin_inner"), u.holding(profile, "callback")
    chance.part_is(u.count(back), u.count(inner), 1 / 2, "callback, of what plugin_inner has")
    u.assert_chain(inner, "plugin_inner", "plugin_work", "load_and_work", "main")
    u.assert_chain(back, "callback", "plugin_inner", "plugin_work", "load_and_work", "main")
    chance.ratio_is(u.count(inner), u.count(u.holding(profile, "before_load")), 1, "plugin and before it")
    assert {s["frames"][s["stack"].index("plugin_inner")]["mapping"]["path"] for s in inner} == \
        {plugin}


@h.test
def dlopen_in_an_attached_process():
    loader, plugin = u.build("loader"), u.build("plugin", target=os.path.join(h.folder(), "plugin.so"))
    target = h.Workload(loader, plugin)
    run = h.cprof("record", "-F", 499, "-p", target.pid).wait()
    profile = run.profile()
    no_sample_lost(run)
    u.assert_whole(profile["samples"])
    u.assert_chain(u.holding(profile, "plugin_inner"), "plugin_inner", "plugin_work",
                   "load_and_work", "main")


@h.test
def exec_in_mid_profile():
    run = u.record(u.build("execs"), u.build("recurse"), 1, 50, hz=999)  # of 0.5 + 0.5 s
    profile = run.profile()
    no_sample_lost(run)
    u.assert_whole(profile["samples"])
    first, second = u.holding(profile, "first_image"), u.holding(profile, "bottom")
    chance.ratio_is(u.count(first), u.count(second), 1, "the first image's and the second's")
    u.assert_chain(second, "bottom", *(("one", "two", "three")[i % 3] for i in reversed(range(50))),
                   "main")


@h.test
def vfork_children():
    """They run in their parent's memory, and on its stack."""
    run = u.record(u.build("vforks"), u.build("brief"), 20, hz=999)
    profile = run.profile()
    no_sample_lost(run)
    u.assert_whole(profile["samples"])
    children, parent = u.holding(profile, "in_child"), u.holding(profile, "in_parent")
    u.assert_chain(children, "in_child", "spawn", "main")
    u.assert_chain(parent, "in_parent", "spawn", "main")
    assert len({s["labels"]["pid"] for s in children}) >= 198 - run.ticks_missed, "200 children"
    u.assert_chain(u.holding(profile, "inner"), "inner", "middle", "main")
    assert len({s["labels"]["pid"] for s in u.holding(profile, "inner")}) >= 49 - run.ticks_missed, "50 execs"


@h.test
def new_threads_and_processes():
    """Behind a clone system call libc describes nothing: on one side it has a caller, on the other none."""
    run = u.record(u.build("clones"), 1, hz=1999)
    profile = run.profile()
    no_sample_lost(run)
    samples = u.of_program(profile, "clones")
    u.assert_whole(samples)
    made = u.holding(profile, "make_thread") + u.holding(profile, "make_process")
    assert u.count(made) > 0.1 * u.count(samples), (u.count(made), u.count(samples))
    assert all("main" in s["stack"] for s in made if not u.why_truncated(s))
    guessed = [s for s in samples if any(name.endswith("[guessed]") for name in s["stack"])]
    assert u.count(guessed) < 0.005 * u.count(samples), [s["stack"] for s in guessed]


def assert_brief(run, profiles, pids):
    """Nearly every process has samples of its work, and whole stacks."""
    no_sample_lost(run)
    samples = [s for profile in profiles for s in u.of_program(profile, "brief")
               if s["labels"]["pid"] in pids]
    u.assert_whole(samples)
    work = [s for s in samples if "inner" in s["stack"]]
    u.assert_chain(work, "inner", "middle", "main")
    # 5 ms are at least four ticks, unless the machine stood still meanwhile
    seen, missed = len({s["labels"]["pid"] for s in work}), run.ticks_missed
    assert seen >= 0.999 * len(pids) - missed / 4, f"{seen} of {len(pids)} processes seen, {missed} ticks missed"


LARGE_RING = "--limit", "events=134217728"  # their stacks wait in it where others make cprof late
# How long the first table takes depends on what else is parsed, and on who else wants a CPU: that is not what is tried here.
IS_KNOWN = r"^cprof: unwind table of \S+/brief: "
ONE_FIRST = '"$3" "$4" ${5+"$5"}; while ! [ -e "$0" ]; do sleep 0.05; done; exec "$@"'


def many(number, *arguments):
    """So many processes that run brief, under a spawner that is launched; one before them all, until its code is known."""
    begin = os.path.join(h.folder(), "begin")
    run = h.cprof("record", "-F", 999, "--no-kernel", *LARGE_RING, "--", "sh", "-c", ONE_FIRST, begin, u.build("spawner"),
                  number, u.build("brief"), *arguments, run_as=h.AHEAD_OF_OTHERS)
    run.awaits(IS_KNOWN)
    with open(begin, "wb"):
        return run.wait()


@h.test
def short_lived_processes():
    """A thousand processes of 5 ms: no sample of theirs is lost."""
    run = many(2000 if h.IS_LONG else 1000, 5)
    assert_brief(run, [run.profile()], set(run.says()))


@h.test
def short_lived_processes_with_deep_stacks():
    """100 KB of stack, some of it never touched, below the first samples of each."""
    run = many(500, 5, 100)
    no_sample_lost(run)
    samples = u.of_program(run.profile(), "brief")
    u.assert_whole(samples, least=0.995)
    u.assert_chain([s for s in samples if "inner" in s["stack"]], "inner", "middle", "spread", "main")


@h.test
def short_lived_processes_system_wide():
    """The same with -a, where nobody announced them."""
    folder = h.folder()
    run = h.cprof("record", "-F", 999, "--no-kernel", *LARGE_RING, "-a", "-o", folder + "/all.pb.gz",
                  run_as=h.AHEAD_OF_OTHERS).attached()
    h.Workload(u.build("brief"), 5).wait()
    run.awaits(IS_KNOWN)
    spawner = h.Workload(u.build("spawner"), 300, u.build("brief"), 5)
    pids = spawner.says()
    spawner.wait()
    result = run.stop()
    assert_brief(result, result.profiles().values(), set(pids))


h.main()
