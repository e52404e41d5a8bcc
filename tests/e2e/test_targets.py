#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The processes that a run records: families, lists, names, and filters by name, user, cgroup and container."""
import os
import re
import shutil
import signal
import time

import chance
import cputime
import harness as h

SPINS = {"worker_spin", "helper_spin", "late_spin"}


# Of this run alone: another one beside it selects processes by the same tests, too.
ME = os.getpid()
UID = 1_000_000 + ME


def named(name, program="hot"):
    """A copy of a workload that has a name of its own."""
    path = os.path.join(h.folder(), name)
    shutil.copy(h.workload(program), path)
    os.chmod(os.path.dirname(path), 0o755)
    return path


def prefork(*arguments, kind="record", rate=("-F", "999"), seconds=0.3):
    """A server whose workers were there before cprof, recorded by its master's pid until all is done."""
    target = h.Workload("prefork", seconds)
    target.says()
    run = h.cprof(kind, *rate, *arguments, "-p", target.pid).attached()
    target.go()
    assert "done" in target.says()
    return run.stop(), target


def until_seen(targets, *options):
    """Records until each has used enough of a CPU to be seen on it."""
    run = h.cprof("record", "-F", "999", *options).attached()
    for target in targets:
        target.goes_on()
    for target in targets:
        target.uses(0.05)
    for target in targets:
        target.pauses()
    return run.stop()


# Families ----------------------------------------------------------------------------------------

@h.test
def descendants_that_were_there_before():
    ended, target = prefork()
    profile = ended.profile()
    counts = h.by_function(profile, "samples")
    assert SPINS <= set(counts), counts
    assert h.share(profile, "samples", *SPINS) > 0.9, counts
    assert len(h.labels(profile, "pid") - {target.pid}) == 5, h.labels(profile, "pid")
    # two workers, one late one; two helpers of half the time
    chance.ratio_is(counts["worker_spin"], counts["late_spin"], 2, "workers")
    chance.ratio_is(counts["worker_spin"], counts["helper_spin"], 2, "helpers")


@h.test
def no_children():
    """Neither old nor new; and who is busy instead is named."""
    target = h.Workload("prefork", 30)
    target.says()
    target.go()
    with open(f"/proc/{target.pid}/stat", encoding="utf-8") as file:
        # it has forked its last one, and waits for all of them
        while len(h.children(target.pid)) < 5 or file.read().rpartition(")")[2].split()[0] != "S":
            time.sleep(0.02)
            file.seek(0)
    workers = h.children(target.pid)
    for worker in workers:
        os.kill(worker, signal.SIGSTOP)
    run = h.cprof("record", "-F", "499", "--no-children", "-p", target.pid).attached()
    os.kill(workers[0], signal.SIGCONT)
    until_busy(target.pid, 0.8)
    ended = run.stop()
    for worker in workers:  # or it does not hear that the master has ended
        os.kill(worker, signal.SIGCONT)
    said = "\n".join(ended.lines)
    assert ended.code == 3 and f"process {target.pid} " in said, said
    child = int(re.search(r"Its child (\d+) \(prefork\) ran for .* omit --no-children, or -p \1\.", said)[1])
    assert child == workers[0], said


@h.test
def heap_of_a_family():
    ended, _ = prefork("--follow-fork", kind="heap", rate=("--rate", "1"), seconds=0.02)
    held = h.by_function(ended.profile(), "alloc_objects")
    assert (held["site_worker"], held["site_helper"], held["site_late"]) == (80, 40, 10), held


@h.test
def heap_without_follow_fork_names_the_busy_child():
    target = h.Workload("prefork", 30)
    target.says()
    run = h.cprof("heap", "--rate", "1", "-p", target.pid).attached()
    target.go()
    until_busy(target.pid, 0.3)
    ended = run.stop()
    said = "\n".join(ended.lines)
    assert ended.code == 3 and re.search(r"Its child \d+ \(prefork\) ran for .*: use --follow-fork, or -p", said), said


@h.test
def forked_while_the_list_is_made():
    """Children that come and go all the time, of a target that had hundreds before: none is missed."""
    program, *arguments = cputime.command("shortlived", 800 if h.IS_LONG else 500)
    target = h.Workload(shutil.which(program), *arguments)
    run = h.cprof("record", "-F", "999", "-p", target.pid).attached()
    before = of_children(target.pid)
    ended = run.wait()
    profile, said = ended.profile(), target.says()
    # Of each of two sums the kernel shows whole hundredths of a second; and of a child that runs just then, nothing yet.
    said["cpu_seconds"] -= before + 2 / os.sysconf("SC_CLK_TCK")
    ticks = sum(s["values"]["samples"] for s in profile["samples"] if s["labels"]["pid"] != target.pid)
    cputime.is_charged(ended, ticks, profile["period"], said, "CPU of the children")
    chance.at_least(h.by_function(profile, "samples")["short_life"], ticks, 0.8, "short_life")


def of_children(pid):
    """CPU seconds of the children that a process has waited for."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        return sum(map(int, file.read().rpartition(")")[2].split()[13:15])) / os.sysconf("SC_CLK_TCK")


# Lists and names -----------------------------------------------------------------------------------

@h.test
def lists_as_pidof_gives_them():
    targets = [h.paused("hot", 60) for _ in range(3)]
    pids = [str(target.pid) for target in targets]
    for words in ((" ".join(pids),), (", ".join(pids),), tuple(pids), (f"{pids[0]}\n{pids[1]}\t{pids[2]}\n",)):
        run = until_seen(targets, "-p", *words)
        assert h.labels(run.profile(), "pid") == {target.pid for target in targets}, words


@h.test
def by_name_newcomers_too():
    path = named(f"named-{ME}")
    first, other = h.paused(path, 60), h.paused("hot", 60)
    run = h.cprof("record", "-F", "999", "-p", os.path.basename(path)).attached()
    second = h.Workload(path, 60)
    for target in first, second, other:
        target.uses(0.15)
        target.pauses()
    pids = h.labels(run.stop().profile(), "pid")
    assert pids == {first.pid, second.pid} and other.pid not in pids, (pids, first.pid, second.pid)


@h.test
def by_the_name_of_the_executable():
    """What has another comm, as a thread that took a name, or a name longer than the kernel keeps. One whose name begins
    like that is another."""
    path = named(f"cprof-a-name-longer-than-fifteen-bytes-{ME}")
    target = h.paused(path, 60)
    h.Workload(named(f"cprof-a-name-longer-than-others-{ME}"), 60)
    for name in (os.path.basename(path), path):
        run = until_seen([target], "-p", name)
        assert h.labels(run.profile(), "pid") == {target.pid}, name


@h.test
def a_name_and_its_children():
    """A newcomer with this name that only forks: its children are what burns the CPU."""
    shell = named(f"shell-{ME}", "hot")
    shutil.copy("/bin/sh", shell)
    first = h.Workload(shell, "-c", "sleep 60; :")
    run = h.cprof("record", "-F", "499", "-p", os.path.basename(shell)).attached()
    second = h.Workload(shell, "-c", f"{h.workload('hot')} 60; :")
    until_busy(second.pid, 0.4)
    profile = run.stop().profile()
    assert h.labels(profile, "comm") >= {"hot"} and h.share(profile, "samples", "hot") > 0.5
    for target in (first, second):
        for child in h.children(target.pid):
            os.kill(child, signal.SIGKILL)


def until_busy(pid, seconds):
    """Waits until a descendant of a process has used so much CPU time."""
    while True:
        for child in h.children(pid):
            try:
                with open(f"/proc/{child}/schedstat", encoding="ascii") as file:
                    if int(file.read().split()[0]) > seconds * 1e9:
                        return
            except OSError:
                continue
        time.sleep(0.02)


@h.test
def a_name_that_nobody_has():
    for kind in ("record", "heap"):
        run = h.cprof(kind, "-p", "cprof-no-such-name", verbose=False).wait()
        run.refused(2, "cprof-no-such-name.*no process or executable has this name")
        run = h.cprof(kind, "-p", f"{os.getpid()},cprof-no-such-name", verbose=False).wait()
        run.refused(2, "cprof-no-such-name")


# Filters -------------------------------------------------------------------------------------------

@h.test
def by_comm_newcomers_and_renamed_too():
    """Processes that live for milliseconds, where others of other names are as many."""
    wanted, other = named(f"wanted-{ME}", "exiter"), named(f"other-{ME}", "exiter")
    run = h.cprof("record", "-F", "999", "--comm", f"^wan.*d-{ME}$").attached()
    first = " ".join(cputime.first_in_line())
    loop = h.Workload("/bin/sh", "-c", f"for i in 1 2 3 4 5 6 7 8; do {first} {wanted} 0.08 & {other} 0.08 >/dev/null & wait; done")
    said = [loop.says() for _ in range(8)]
    loop.wait()
    ended = run.stop()
    profile = ended.profile()
    assert h.labels(profile, "comm") == {os.path.basename(wanted)}, h.labels(profile, "comm")
    assert len(h.labels(profile, "pid")) == 8, h.labels(profile, "pid")
    # nothing is missed at the beginning of a newcomer: its own clock is the judge
    together = {word: sum(one[word] for one in said) for word in ("cpu_seconds", "switches")}
    cputime.is_charged(ended, h.total(profile, "samples"), profile["period"], together, "CPU of the newcomers")


@h.test
def by_user_and_what_becomes_of_it():
    """Of this user, and one that becomes this user in mid-run, without an exec."""
    demote = [shutil.which("setpriv"), "--reuid", str(UID), "--regid", str(UID), "--clear-groups"]
    own = h.paused("hot", 60)
    late = h.Workload("/usr/bin/python3", "-c",
                      f"import os, sys\nprint('{{}}', flush=True)\nsys.stdin.readline()\nos.setuid({UID})\n"
                      "while True: sum(range(1000))")
    late.says()
    run = h.cprof("record", "-F", "499", "--uid", UID).attached()
    early = h.Workload(*demote, named(f"user-{ME}"), "60")
    late.go()
    run.awaits(f"also profiling process {late.pid}")
    for target in late, early, own:
        target.uses(0.2)
        target.pauses()
    pids = h.labels(run.stop().profile(), "pid")
    assert pids == {early.pid, late.pid}, (pids, early.pid, late.pid, own.pid)
    run = until_seen([early], "--uid", str(UID), "--comm", f"user-{ME}")
    assert h.labels(run.profile(), "pid") == {early.pid}, "both must hold"


def make_cgroup(*names):
    """A cgroup of our own; removed when its processes have ended."""
    for root in ("/sys/fs/cgroup", "/sys/fs/cgroup/pids", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/memory"):
        if not os.path.exists(os.path.join(root, "cgroup.procs")):
            continue
        path = root
        try:
            for name in names:
                path = os.path.join(path, name)
                os.makedirs(path, exist_ok=True)
        except OSError:
            continue
        return root, path
    raise h.Skip("no cgroup can be made here")


def remove_cgroup(root, path):
    end = time.monotonic() + 10
    while path != root and time.monotonic() < end:
        try:
            os.rmdir(path)
            path = os.path.dirname(path)
        except OSError:
            time.sleep(0.05)


def enter(path, pid):
    with open(os.path.join(path, "cgroup.procs"), "w", encoding="ascii") as file:
        file.write(str(pid))


@h.test
def by_cgroup_and_container():
    digest = f"{ME:064x}"[::-1]
    root, path = make_cgroup(f"cprof-test-{ME}", f"docker-{digest}.scope", "inner")
    try:
        inside, outside, late = (h.paused("hot", 60) for _ in range(3))
        enter(path, inside.pid)
        relative = path[len(root):]
        for options in (("--cgroup", path), ("--cgroup", relative), ("--container", digest[:12]),
                        ("-p", f"{inside.pid},{outside.pid}", "--container", digest)):
            run = until_seen([inside, outside], *options)
            assert h.labels(run.profile(), "pid") == {inside.pid}, options
        run = h.cprof("record", "-F", "499", "--cgroup", f"/cprof-test-{ME}").attached()
        started = h.Workload("/bin/sh", "-c",
                             f"echo $$ > {path}/cgroup.procs; exec {h.workload('hot')} 60")
        enter(path, late.pid)
        run.awaits(f"also profiling process {late.pid}")
        for target in late, started, inside, outside:
            target.uses(0.15)
            target.pauses()
        pids = h.labels(run.stop().profile(), "pid")
        assert pids >= {inside.pid, late.pid, started.pid} and outside.pid not in pids, pids
        for target in (inside, outside, late, started):
            target.process.kill()
            target.process.wait()
    finally:
        remove_cgroup(root, path)


@h.test
def all_of_a_filter_each_in_a_file():
    targets = [h.paused(named(f"each-{ME}"), 60) for _ in range(2)]
    folder = os.path.join(h.folder(), "profiles")
    run = until_seen(targets, "-a", "--comm", f"each-{ME}", "-o", folder)
    profiles = run.profiles()
    assert len(profiles) == 2 and {os.path.dirname(path) for path in profiles} == {folder}, profiles
    assert {pid for p in profiles.values() for pid in h.labels(p, "pid")} == {t.pid for t in targets}


@h.test
def heap_by_name_newcomers_too():
    path = named(f"heap-{ME}", "sizes")
    first = h.Workload(path, 1000)
    first.says()
    run = h.cprof("heap", "--rate", "1", "-p", os.path.basename(path)).attached()
    second = h.Workload(path, 1000)
    second.says()
    run.awaits(f"also profiling process {second.pid}")  # its allocator is probed when it is noticed
    for target in (first, second):
        target.go()
        target.says()
    profile = run.stop().profile()
    assert h.labels(profile, "pid") == {first.pid, second.pid}, h.labels(profile, "pid")


@h.test
def heap_by_every_filter():
    """Of two programs that allocate, the one that the filter names."""
    root, path = make_cgroup(f"cprof-test-{ME}", f"docker-{ME:064x}.scope")
    program = named(f"heap-{ME}", "sizes")
    demote = [shutil.which("setpriv"), "--reuid", str(UID), "--regid", str(UID), "--clear-groups"]
    try:
        for options in (("--comm", f"^heap-{ME}$"), ("--uid", UID), ("--cgroup", path), ("--container", f"{ME:064x}")):
            wanted, other = h.Workload(*demote, program, 1000), h.Workload("sizes", 1000)
            for target in (wanted, other):
                target.says()
            enter(path, wanted.pid)
            run = h.cprof("heap", "--rate", "1", *options).attached()
            for target in (wanted, other):
                target.go()
                target.says()
            profile = run.stop().profile()
            assert h.labels(profile, "pid") == {wanted.pid}, (options, h.labels(profile, "pid"), other.pid)
            for target in (wanted, other):
                target.process.kill()
                target.process.wait()
    finally:
        remove_cgroup(root, path)


@h.test
def nobody_so_far():
    """A filter that nobody fits yet waits; and if nobody comes says so."""
    run = h.cprof("record", "-F", "499", "-d", "300ms", "--comm", "^cprof-nobody$", verbose=False).wait()
    assert run.code == 3, run.code
    assert any("no process matches --comm ^cprof-nobody$ so far" in line for line in run.lines), run.lines
    assert any("nothing to write" in line for line in run.lines), run.lines


@h.test
def filters_that_cannot_be():
    for arguments, pattern in ((("--uid", "cprof-no-such-user"), "no such user"),
                               (("--cgroup", "/cprof-no-such-cgroup"), "no such cgroup"),
                               (("--comm", "(a+)+{9}{9}"), "regular expression"),
                               (("--comm", "("), "regular expression"), (("--comm", ""), "empty")):
        for kind in ("record", "heap"):
            h.cprof(kind, *arguments, verbose=False).wait().refused(2, pattern)


def while_it_runs(*arguments):
    """Records whom the arguments choose for as long as a command runs, which exits with 7."""
    run = h.cprof(*arguments, "--", "sh", "-c", f"{h.workload('hot')} 0.6; exit 7").wait()
    profiles = run.profiles(code=7)
    for path, profile in profiles.items():
        assert 0.5e9 <= profile["duration_ns"], (path, profile["duration_ns"])
    return {os.path.basename(path): profile for path, profile in profiles.items()}


@h.test
def one_while_a_command_runs():
    """As perf record -p PID -- COMMAND: the command says how long to sample, and is no target."""
    for kind, rate, program in (("record", ("-F", "499"), "hot"), ("heap", ("--rate", "10000"), "churn")):
        target = h.Workload(program, 0 if program == "churn" else 60)
        if program == "churn":
            target.says()
            target.go()
        (profile,) = while_it_runs(kind, *rate, "-p", target.pid).values()
        assert h.labels(profile, "pid") == {target.pid}, h.labels(profile, "pid")
        target.process.kill()


@h.test
def chosen_by_name_while_a_command_runs():
    name = f"timed-{ME % 100000}"
    target = h.Workload(named(name), 60)
    for choice in (("--comm", f"^{name}$"), ("-p", name)):
        (profile,) = while_it_runs("record", "-F", "499", *choice).values()
        assert h.labels(profile, "pid") == {target.pid}, h.labels(profile, "pid")


@h.test
def all_while_a_command_runs():
    """It is one of all."""
    names = list(while_it_runs("record", "-F", "499", "-a", "-o", os.path.join(h.folder(), "all/")))
    assert any(".hot." in name for name in names), names


@h.test
def commands_that_cannot_run_while_others_are_sampled():
    h.cprof("record", "-p", h.Workload("idle").pid, "--", "cprof-no-such-command",
            verbose=False).wait().refused(2, "cannot run 'cprof-no-such-command'")


@h.test
def both_ways_at_once():
    for kind in ("record", "heap"):
        h.cprof(kind, "-a", "-p", "1", "--", "true", verbose=False).wait().refused(2, "-p and -a cannot be combined")
    h.cprof("heap", "--mode", "inside", "-a", "--", "true", verbose=False).wait().refused(2, "--mode inside is for")


h.main()
