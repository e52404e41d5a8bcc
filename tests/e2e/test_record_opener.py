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
import straced
import unwinding

KEEPER, OPENER = "cprof-openers", "cprof-opener"
POWERS = {2, 19, 40}  # CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE, CAP_CHECKPOINT_RESTORE


def opener_of(run):
    return helpers.grandchild(run, KEEPER, OPENER)


def complete(done, target, functions=("hot", "main")):
    samples, named = helpers.named(done, target, functions)
    # its loader has samples, too, and what others probe on this machine
    assert h.count_of(named) >= 0.5 * h.count_of(samples) > 0, [s["stack"] for s in samples]


@h.test
@h.confined
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


MARK = "a-folder-that-only-this-test-has"


def marked(name):
    """A copy of a workload, in a folder whose name is like no other."""
    folder = os.path.join(h.folder(), MARK)
    os.mkdir(folder)
    return shutil.copy(h.workload(name), folder)


def is_not_asked(call):
    """Is it a call on an open file which no file system can delay?"""
    return call.startswith("statx(") and "AT_STATX_DONT_SYNC" in call


def touches_nothing(trace, run):
    """Main named no path but its own, asked no file system about a target's file, and inspected nobody."""
    pid, calls, nr_threads = straced.of_main(trace)
    own = straced.own_paths(run, pid)
    assert len(calls) > 20, calls
    strange = [call for call in calls if not call.startswith("clone") and
               (not all(map(own, straced.paths_in(call))) or re.match(r"ptrace|process_vm", call))]
    strange += [call for call in calls if MARK in straced.file_of(call) and not is_not_asked(call)]
    assert not strange, strange[:20]
    return nr_threads


def traced(*arguments):
    """A run whose main is watched, and its trace."""
    trace = os.path.join(h.folder(), "trace")
    return h.cprof(*arguments, run_as=straced.run_as(trace, "%file,ptrace,process_vm_readv,process_vm_writev")), trace


def interrupts(run):
    os.kill(helpers.child(run.pid, "cprof"), signal.SIGINT)
    return run.wait()


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


@h.test
def main_opens_nothing_of_a_target():
    """No path that a target named, no map_files, no root, no maps, no memory: with record -a, whatever runs on the machine."""
    target = h.Workload(marked("hot"), 60)
    target.uses(0.05)
    run, trace = traced("record", "-a")
    run.attached()
    # A cprof that is traced is slow: most samples shall come once the target's code is known.
    before, end = target.used(), time.monotonic() + h.HANGS
    while f'"/proc/{target.pid}/map_files/' not in read(trace):
        assert time.monotonic() < end, "nobody opened it"
        time.sleep(0.1)
    target.uses(target.used() - before + 0.5)
    done = interrupts(run)
    assert done.code == 0, done.lines
    complete(done, target)
    touches_nothing(trace, run)


@h.test
def no_thread_of_main_does():
    """The same while files are written in mid-run, by a thread."""
    target = h.Workload(marked("hot"), 60)
    run, trace = traced("record", "-F", "499", "--interval", "300ms", "-p", target.pid)
    run.attached()
    run.writes_files(2)
    done = interrupts(run)
    assert done.code == 0, done.lines
    assert touches_nothing(trace, run) > 1, "no thread was watched"


@h.test
def nor_does_main_of_what_it_launches():
    """Not even what the user typed, or the interpreter that a script names."""
    for command, name, arguments in (("record", "hot", "0.5"), ("heap", "allocs", "200 now")):
        program = marked(name)
        interpreter = shutil.copy(os.path.realpath("/bin/sh"), os.path.join(os.path.dirname(program), "interpreter"))
        script = os.path.join(os.path.dirname(program), "script")
        with open(script, "w", encoding="ascii") as file:
            file.write(f"#!{interpreter}\nexec {program} {arguments}\n")
        os.chmod(script, 0o755)
        run, trace = traced(command, "--", script)
        done = run.wait()
        assert done.code == 0, done.lines
        touches_nothing(trace, run)


@h.test
def nor_of_what_allocates():
    target = h.Workload(marked("allocs"))
    target.says()
    run, trace = traced("heap", "-p", target.pid)
    run.attached()
    target.go()
    while "done" not in target.says():
        pass
    done = interrupts(run)
    assert done.code == 0, done.lines
    touches_nothing(trace, run)


@h.test
def nor_of_generated_code():
    """A perf map, and the memory of a JVM."""
    for command in ((marked("jitted"), "map", "60"), java()):
        if not command:
            continue
        target = h.Workload(*command)
        target.uses(0.5)
        run, trace = traced("record", "-F", "499", "-p", target.pid)
        run.attached()
        target.uses(1)
        done = interrupts(run)
        assert done.code == 0, done.lines
        touches_nothing(trace, run)


def java():
    """A command, () where there is no Java."""
    try:
        return os.path.realpath(shutil.which("java") or ""), "-cp", unwinding.build_java("Deep"), "Deep", "3600"
    except h.Skip:
        return ()


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
