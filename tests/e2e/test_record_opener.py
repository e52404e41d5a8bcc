#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The process that opens what belongs to targets: what it may do, that main leaves it all to it, and what becomes of a run
when it is held or killed."""
import os
import re
import shutil
import signal
import time

import fusefs
import harness as h
import helpers

KEEPER, OPENER = "cprof-openers", "cprof-opener"
POWERS = {2, 19, 40}  # CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE, CAP_CHECKPOINT_RESTORE


def opener_of(run):
    return helpers.grandchild(run, KEEPER, OPENER)


def complete(done, target, functions=("hot", "main")):
    samples, named = helpers.named(done, target, functions)
    # its loader has samples, too, and what others probe on this machine
    assert len(named) >= 0.5 * len(samples) > 0, [s["stack"] for s in samples]


@h.test
def its_powers():
    """It may read what others have, and has a filter; nobody may trace it."""
    target = h.paused("hot", 60)
    run = h.cprof("record", "-F", "999", "-p", target.pid).attached()
    opener = opener_of(run)
    assert opener
    for pid in (opener, helpers.child(run.pid, KEEPER)):
        found = helpers.status(pid)
        for kind in ("CapPrm", "CapEff", "CapBnd"):
            assert {bit for bit in range(64) if int(found[kind], 16) >> bit & 1} <= POWERS, found
        assert int(found["CapInh"], 16) == int(found["CapAmb"], 16) == 0, found
        assert found["NoNewPrivs"] == "1", found
    assert helpers.status(opener)["Seccomp"] == "2"
    assert os.readlink(f"/proc/{opener}/ns/net") != os.readlink("/proc/self/ns/net")
    target.uses(0.1)
    target.pauses()
    complete(run.stop(), target)
    helpers.ends(opener)


# What main may open under /proc/PID: numbers that the kernel made.
HARMLESS = re.compile(r"/proc/\d+/(stat|status|cgroup|task|schedstat|task/\d+/(stat|status|schedstat))?$")


def opened_by_main(trace):
    """[path] of all that main opens, and the other calls of the trace that reach into a process."""
    main, paths, reaches = None, [], []
    with open(trace, encoding="utf-8", errors="replace") as file:
        for line in file:
            pid, _, text = line.partition(" ")
            main = main or pid
            found = re.match(r'\s*open(?:at|at2)?\((?:AT_FDCWD, )?"([^"]*)"', text)
            if pid == main and found:
                paths.append(found.group(1))
            elif pid == main and re.match(r"\s*(process_vm_readv|ptrace)\(", text):
                reaches.append(text)
    return paths, reaches


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


@h.test
def main_opens_nothing_of_a_target():
    """No path that a target named, no map_files, no root, no maps, no memory: with record -a, whatever runs on the machine."""
    if not shutil.which("strace"):
        raise h.Skip("no strace")
    program = os.path.join(h.folder(), "a program that only this test has")
    shutil.copy(h.workload("hot"), program)
    target = h.Workload(program, 60)
    target.uses(0.05)
    trace = os.path.join(h.folder(), "trace")
    run = h.cprof("record", "-a", run_as=("strace", "-f", "--seccomp-bpf", "-qq", "-e", "trace=open,openat,openat2,ptrace,"
                  "process_vm_readv", "-o", trace)).attached()
    # A cprof that is traced is slow: most samples shall come once the target's code is known.
    before, end = target.used(), time.monotonic() + h.HANGS
    while f'"/proc/{target.pid}/map_files/' not in read(trace):
        assert time.monotonic() < end, "nobody opened it"
        time.sleep(0.1)
    target.uses(target.used() - before + 0.5)
    os.kill(helpers.child(run.pid, "cprof"), signal.SIGINT)
    done = run.wait()
    assert done.code == 0, done.lines
    complete(done, target)
    paths, reaches = opened_by_main(trace)
    assert not reaches, reaches
    own = re.compile(r"/proc/(self|thread-self|sys|kallsyms|mounts|stat|cpuinfo|version)\b|/proc/?$")
    strange = [path for path in paths if path.startswith("/proc/") and not own.match(path) and not HARMLESS.match(path)]
    assert paths and not strange, strange
    assert not [path for path in paths if "only this test" in path]


MOMENTS = int(os.environ.get("MOMENTS", "4"))


@h.test
def killed_at_any_moment():
    """An opener that is killed is replaced, and nothing is missing."""
    helpers.is_killed_at_any_moment(opener_of, complete, MOMENTS)


# The processes of other users are hidden from users who may not trace them.
HIDDEN = ("unshare", "-m", "sh", "-c", 'mount -t proc -o hidepid=2 proc /proc && exec "$@"', "sh")


@h.test
def a_proc_that_hides_processes():
    """What main must know of others' processes it still reads, and so are their names."""
    target = h.Workload("/usr/bin/setpriv", "--reuid", "65534", "--clear-groups", h.workload("hot"), 60)
    target.uses(0.05)
    run = h.cprof("record", "-a", "-F", "499", run_as=HIDDEN).attached()
    later = h.Workload("/usr/bin/setpriv", "--reuid", "65534", "--clear-groups", h.workload("hot"), 60)
    later.uses(0.3)
    target.uses(0.6)
    done = run.stop()
    complete(done, target)
    complete(done, later)


def without_answer(done):
    return [line for line in done.lines if re.match(r"cprof: process \d+ .* did not answer: ", line)]


@h.test
def one_that_is_held():
    """An opener that is held costs what it was asked for, and the closing line names that; sampling goes on."""
    target = h.Workload("hot", 60)
    target.uses(0.05)
    run = h.cprof("record", "-F", "499", "-a").attached()
    target.uses(0.3)
    os.kill(opener_of(run), signal.SIGSTOP)
    path = os.path.join(h.folder(), "met_later")
    shutil.copy(h.workload("hot"), path)
    later = h.Workload(path, 60)
    later.uses(0.5)
    done = run.stop()
    assert done.code == 0 and without_answer(done), done.code  # whom it was asked about is chance
    samples, named = helpers.named(done, target)
    assert named, [s["stack"] for s in samples]  # how many were taken before its code was known is chance, too


@h.test
def a_file_system_that_does_not_answer():
    """A program on a FUSE file system whose server stopped: a bounded time is lost, and no sample of its neighbour."""
    with fusefs.serving(h.workload("hot")) as server:
        silent = h.Workload(server.path, 600)
        silent.uses(0.05)
        silent.pauses()
        server.stops_answering()
        target = h.paused("hot", 600)
        # not -a: what others have on this machine is theirs
        run = h.cprof("record", "-F", "499", "-p", f"{silent.pid},{target.pid}").attached()
        silent.goes_on()
        for process in target, silent:
            process.uses(0.3)
            process.pauses()
        run.signal(signal.SIGINT)
        done = run.wait()
    # only now: the judge of the profile looks for the files that it names
    assert done.code == 0, done.lines
    said = without_answer(done)
    assert len(said) == 1 and f"process {silent.pid} " in said[0], said
    complete(done, target)
    assert not [line for line in done.lines if "lost" in line], done.lines


h.main()
