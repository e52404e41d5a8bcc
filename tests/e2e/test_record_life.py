#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cprof record: targets that fork, exec, exit, or lose their binary in mid-profile."""
import os
import shutil
import subprocess
import time

import cputime
import harness as h


def samples_with(profiles, function):
    return [s for profile in profiles for s in profile["samples"] if function in s["stack"]]


@h.test
def fork_and_exec_in_mid_profile():
    folder = h.folder()
    run = h.cprof("record", "-F", "1499", "-o", folder + "/", "--", h.workload("forker"), "0.3").wait()
    profiles = run.profiles()
    spinners = samples_with(profiles.values(), "child_spin")
    assert len({s["labels"]["pid"] for s in spinners}) == 2, "two children spin"
    before = samples_with(profiles.values(), "before_exec")
    after = samples_with(profiles.values(), "hot_a")
    assert before and after, (len(before), len(after))
    # one process with two images: the same pid, one file, the name it had at the time
    assert {s["labels"]["pid"] for s in before} == {s["labels"]["pid"] for s in after}
    assert {s["labels"]["comm"] for s in before} == {"forker"}
    assert {s["labels"]["comm"] for s in after} == {"hot"}
    assert [p for p in profiles.values() if samples_with([p], "before_exec")] == \
        [p for p in profiles.values() if samples_with([p], "hot_a")]


@h.test
def fork_and_exec_into_one_file():
    profile = h.cprof("record", "-F", "1499", "--", h.workload("forker"), "0.3").wait().profile()
    assert h.share(profile, "samples", "child_spin", "before_exec", "hot_a", "hot_b") > 0.9
    assert len(h.labels(profile, "pid")) >= 3, h.labels(profile, "pid")


@h.test
def exec_of_the_only_target():
    """A shell that becomes the workload, attached to while it still is the shell."""
    profile = h.cprof("record", "-F", "1499", "--", "sh", "-c",
                      f"exec {h.workload('exiter')} 0.3").wait().profile()
    assert h.share(profile, "samples", "busy_until_the_end") > 0.9


@h.test
def target_exits_by_itself():
    target = h.paused("exiter", 0.5)
    run = h.cprof("record", "-F", "999", "-p", target.pid).attached()
    target.goes_on()
    run = run.wait()
    assert h.share(run.profile(), "samples", "busy_until_the_end") > 0.9
    assert target.wait() == 0


@h.test
def one_of_two_targets_exits():
    """The run goes on for the one that is left."""
    first, second = h.paused("exiter", 0.4), h.paused("hot", 60)
    run = h.cprof("record", "-F", "999", "-p", f"{first.pid},{second.pid}").attached()
    second.uses(0.2)
    second.pauses()
    first.goes_on()
    first.wait()
    run.snapshot(1)
    second.uses(0.4)
    second.pauses()
    both, one = run.stop().windows()
    assert h.labels(both, "pid") == {first.pid, second.pid}
    assert h.labels(one, "pid") == {second.pid} and h.total(one, "samples") > 0


@h.test
def target_is_killed():
    target = h.paused("hot", 30)
    run = h.cprof("record", "-F", "999", "-p", target.pid).attached()
    target.uses(0.15)
    target.process.kill()
    assert h.share(run.wait().profile(), "samples", "hot") > 0.9


@h.test
def first_thread_ends():
    """And the others go on: /proc calls such a process a zombie. Its stacks are whole, named however."""
    target = h.Workload("leaderless", 60)
    target.says()
    for whom in ("-p", target.pid), ("-a",):
        run = h.cprof("record", "-F", "499", *whom).attached()
        target.uses(0.3)
        samples = [s for s in run.stop().profile()["samples"] if s["labels"]["pid"] == target.pid]
        assert h.count_of(samples_with([{"samples": samples}], "left_alone")) > 0.8 * h.count_of(samples) > 0, (whom, len(samples))
    profile = h.cprof("record", "-F", "999", "--", h.workload("leaderless"), "0.25").wait().profile()
    assert h.share(profile, "samples", "left_alone") > 0.8


@h.test
def binary_is_deleted():
    """Names come from the file that runs, not from whatever has its name by then."""
    path = os.path.join(h.folder(), "gone")
    shutil.copy(h.workload("exiter"), path)
    target = h.paused(path, 0.5)
    os.unlink(path)
    run = h.cprof("record", "-F", "999", "-p", target.pid).attached()
    target.goes_on()
    profile = run.wait().profile()
    assert h.share(profile, "samples", "busy_until_the_end") > 0.9


@h.test
def binary_is_replaced():
    path = os.path.join(h.folder(), "replaced")
    shutil.copy(h.workload("exiter"), path)
    target = h.paused(path, 0.5)
    shutil.copy(h.workload("hot"), path + ".new")
    os.rename(path + ".new", path)
    run = h.cprof("record", "-F", "999", "-p", target.pid).attached()
    target.goes_on()
    profile = run.wait().profile()
    assert h.share(profile, "samples", "busy_until_the_end") > 0.9
    assert not {"hot_a", "hot_b", "hot"} & set(h.by_function(profile, "samples"))


LIBRARY = """
static volatile unsigned long sink;
__attribute__((noinline)) static void NAME(void) { for (int i = 0; i < 100000; i++) sink += i; }
void entry(void) { NAME(); __asm__(""); }
"""
PROGRAM = '#include <unistd.h>\nvoid entry(void); int main(void) { if (write(1, "{}\\n", 3)) for (;;) entry(); }'


def compiled(source, path, *options):
    subprocess.run(["gcc", "-g", "-O1", "-fno-omit-frame-pointer", "-o", path, "-x", "c", "-", "-x", "none", *options],
                   check=True, input=source, text=True)
    return path


def library(path, name, build_id):
    return compiled(LIBRARY.replace("NAME", name), path, "-shared", "-fPIC", f"-Wl,--build-id=0x{build_id}")


@h.test
def library_is_overwritten():
    """In place, by another build, as cp does it: no name of one beside the build-id of the other."""
    folder, before, after = h.folder(), "aa" * 20, "bb" * 20
    path = library(os.path.join(folder, "libspin.so"), "spin_old", before)
    other = library(os.path.join(folder, "other"), "spin_new", after)
    target = h.Workload(compiled(PROGRAM, os.path.join(folder, "program"), path, "-Wl,-z,now"))
    target.says()
    run = h.cprof("record", "-F", "499", "-p", target.pid).attached()
    target.uses(0.3)
    with open(other, "rb") as file, open(path, "r+b") as place:
        place.write(file.read())
    target.uses(0.3)
    ended = run.stop()
    named = {(frame["mapping"]["build_id"], frame["name"]) for sample in ended.profile()["samples"]
             for frame in sample["frames"] if frame["mapping"] and frame["name"].startswith("spin_")}
    assert named <= {(before, "spin_old"), (after, "spin_new")}, named
    assert named or any("libspin.so: overwritten since it was opened" in line for line in ended.lines), ended.lines


@h.test
def processes_that_live_for_milliseconds():
    run = h.cprof("record", "-F", "999", "--", *cputime.command("shortlived", 200)).wait()
    profile = run.profile()
    lives = samples_with([profile], "short_life")
    pids = {s["labels"]["pid"] for s in lives}
    ticks = sum(s["values"]["samples"] for s in profile["samples"] if s["labels"]["pid"] in pids)
    cputime.is_charged(run, ticks, profile["period"], run.says(), "CPU of the children")
    named = sum(s["values"]["samples"] for s in lives)
    assert named > 0.85 * ticks, (named, ticks)


@h.test
def duration_ends_the_run():
    target = h.Workload("hot", 30)
    start = time.monotonic()
    run = h.cprof("record", "-F", "999", "-d", "500ms", "--allow-empty", "-p", target.pid).wait()
    took = time.monotonic() - start
    target.pauses()
    profile = run.profile()
    # on a busy machine it may be longer than was asked for, and says so
    assert 5e8 <= profile["duration_ns"] <= took * 1e9, (profile["duration_ns"], took)
    assert target.process.poll() is None, "the target must go on"


h.main()
