#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The process that attaches heap probes: what it may do, and that a process which keeps the lock of its mappings holds it, and
never main.

While the kernel waits for such a lock in order to place a probe, it lets no process of the machine fork. So the locks are kept
for some seconds only, a guard that is started before releases them whatever happens, and they are of files that nobody else
maps."""
import contextlib
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import fusefs
import harness as h
import heaps
import helpers
import test_heap_allocators
import turns

h.cases.clear()  # those of the allocators

SIZE, COUNT, RATE = 1000, 1000, 1000  # what the workload mapalloc allocates, and how it is sampled
SAMPLING = r"^cprof: sampling malloc and free$"
KEEPER, ATTACHER = "cprof-attachers", "cprof-attacher"
BPF, PERFMON, SYS_ADMIN = 39, 38, 21
GUARD_S = 30  # no lock is kept for longer
GUARD = "import os, signal, sys, time; time.sleep(float(sys.argv[1])); os.kill(int(sys.argv[2]), signal.SIGCONT)"
HOLD_S = 1.5  # after which it is certain that a call waits
WAIT_S = 5    # a launched command waits for its probes
CALL_S = 1    # no call of main takes that long


def attacher_of(run):
    return helpers.grandchild(run, KEEPER, ATTACHER)


def capabilities(pid, kind):
    return {bit for bit in range(64) if int(helpers.status(pid)[kind], 16) >> bit & 1}


def mapper(folder):
    target = h.Workload("mapalloc", folder)
    target.says()
    return target


def allocates(target):
    target.go()
    target.says()


def is_complete(done):
    heaps.site_is(done.profile(), "mapalloc", "alloc", COUNT, SIZE, RATE)


def probes_of(pid):
    """The links of probes that a process has open."""
    kinds = (helpers.status(f"{pid}/fdinfo/{fd}", "").get("link_type") for fd in os.listdir(f"/proc/{pid}/fdinfo"))
    return [kind for kind in kinds if kind in ("uprobe_multi", "perf_event")]


@h.test
def its_powers():
    """It may attach BPF programs, open nothing, and ends with cprof."""
    target = mapper(h.folder())
    run = h.cprof("heap", "--rate", RATE, "-p", target.pid)
    run.awaits(SAMPLING)
    attacher = attacher_of(run)
    assert attacher
    for pid, powers in ((attacher, {BPF, PERFMON}), (helpers.child(run.pid, KEEPER), {BPF, PERFMON, SYS_ADMIN})):
        for kind in ("CapPrm", "CapEff"):
            assert capabilities(pid, kind) <= powers, (kind, helpers.status(pid))
        assert capabilities(pid, "CapBnd") <= {BPF, PERFMON, SYS_ADMIN}, helpers.status(pid)
        assert not capabilities(pid, "CapInh") | capabilities(pid, "CapAmb"), helpers.status(pid)
        assert helpers.status(pid)["NoNewPrivs"] == "1", helpers.status(pid)
    assert helpers.status(attacher)["Seccomp"] == "2"
    with open(f"/proc/{attacher}/limits", encoding="utf-8") as file:
        limits = {line[:26].strip(): line[26:].split()[:2] for line in file}
    assert limits["Max core file size"] == limits["Max file size"] == ["0", "0"], limits
    assert os.readlink(f"/proc/{attacher}/ns/net") != os.readlink("/proc/self/ns/net")
    files = {re.sub(r":.*", "", os.readlink(path)) for path in glob.glob(f"/proc/{attacher}/fd/*")}
    assert files <= {"/dev/null", "socket", "anon_inode"}, files
    assert not probes_of(run.pid), "main has the last descriptor of a link"
    allocates(target)
    is_complete(run.stop())
    helpers.ends(attacher)


@h.test
def main_attaches_nothing():
    """No call of main makes a link, or an event of a probe, or closes the last descriptor of one."""
    if not shutil.which("strace"):
        raise h.Skip("no strace")
    target, trace = h.Workload("allocs"), os.path.join(h.folder(), "trace")
    for mode in (1, 3):
        done = h.cprof("heap", "-d", "500ms", "--allow-empty", "--limit", f"attach_mode={mode}", "-p", target.pid,
                       run_as=("strace", "-f", "--seccomp-bpf", "-qq", "-e", "trace=bpf,perf_event_open", "-o", trace)).wait()
        assert done.code in (0, 3), done.lines
        by_process, main = {}, None
        with open(trace, encoding="utf-8", errors="replace") as file:
            for line in file:
                pid, _, text = line.partition(" ")
                main = main or pid
                if "UPROBE" in text or "uprobe_multi" in text or re.search(r"LINK_CREATE.*BPF_PERF_EVENT", text) or \
                        re.search(r"BPF_LINK_CREATE.*(0x30|0x39) /\* BPF_", text):
                    by_process.setdefault(pid, []).append(text)
        assert by_process and main not in by_process, (mode, main, by_process)


@h.test
def killed_in_mid_run():
    """What it attached stays, and is removed at the end as ever."""
    target = mapper(h.folder())
    run = h.cprof("heap", "--rate", RATE, "-p", target.pid)
    run.awaits(SAMPLING)
    os.kill(attacher_of(run), signal.SIGKILL)
    allocates(target)
    is_complete(run.stop())


@h.test
def killed_with_what_it_keeps():
    """A probe that is a perf event goes with it, and the closing lines say so."""
    target = mapper(h.folder())
    run = h.cprof("heap", "--rate", RATE, "--limit", "attach_mode=1", "--allow-empty", "-p", target.pid)
    run.awaits(SAMPLING)
    attacher = attacher_of(run)
    os.kill(attacher, signal.SIGKILL)
    helpers.ends(attacher)
    allocates(target)
    done = run.stop()
    assert re.search("^cprof: the process that held the probes was killed: ", "\n".join(done.lines), re.M), done.lines


class Watch(threading.Thread):
    """Looks at a process, and knows for how long it was in an uninterruptible sleep at most."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.longest, self.is_over = pid, 0, False
        self.start()

    def run(self):
        began, before = None, time.monotonic()
        while not self.is_over:
            now = time.monotonic()
            if state(self.pid) != "D" or now - before > 0.3:  # this one had no CPU
                began = now
            self.longest = max(self.longest, now - (began or now))
            before = now
            time.sleep(0.005)

    def ends(self):
        self.is_over = True
        self.join()
        return self.longest


def state(pid):
    return helpers.status(pid).get("State", "Z")[0]


def stopped(pid):
    return state(pid) == "T"


def awaits_state(pid, wanted):
    end = time.monotonic() + h.HANGS
    while state(pid) != wanted:
        assert time.monotonic() < end, state(pid)
        time.sleep(0.01)


def awaits_call(pid):
    """It waits in another system call than read(2) of its standard input."""
    end = time.monotonic() + h.HANGS
    while True:
        with open(f"/proc/{pid}/syscall", encoding="ascii") as file:
            call = file.read().split()
        if len(call) > 1 and call[1] != "0x0":
            return
        assert time.monotonic() < end, call
        time.sleep(0.01)


def make_allocator(folder):
    path = os.path.join(folder, "private.so")
    subprocess.run(["gcc", "-shared", "-nostdlib", "-x", "assembler", "-", "-o", path], check=True, input=heaps.SMALL.format(first=r"push %rbx; pop %rbx"), text=True)
    return path


@contextlib.contextmanager
def lockable(make=make_allocator):
    """(a target, the file that it maps, its server, how to keep the lock): the kernel attaches and detaches nothing of the file
    from then on, until the server answers."""
    folder = h.folder()
    path = make(folder)
    with turns.alone(), fusefs.serving(path) as server:
        target = mapper(folder)
        locker = h.Workload("locker", path, server.path)
        locker.says()
        # whatever happens: forked while that is possible
        guard = subprocess.Popen([sys.executable, "-c", GUARD, str(GUARD_S), str(server.process.pid)])

        def keeps():
            server.stops_answering()
            locker.go()
            awaits_call(locker.pid)

        try:
            yield target, path, server, keeps
            assert state(locker.pid) != "Z"
        finally:
            server.answers_again()
            guard.kill()
            guard.wait()


@contextlib.contextmanager
def locked(make=make_allocator):
    """The same, kept already."""
    with lockable(make) as (target, path, server, keeps):
        keeps()
        yield target, path, server


def is_held(run):
    """Its attacher is, and main is not."""
    end = time.monotonic() + h.HANGS
    while not (attacher := attacher_of(run)):
        assert time.monotonic() < end, "there is none"
        time.sleep(0.01)
    awaits_state(attacher, "D")
    time.sleep(HOLD_S)
    assert state(attacher) == "D"
    return attacher


def interrupted(run, target):
    """Ends it by SIGINT while its attacher is held: the attacher, how long main was held at most, whether the attacher still is."""
    watch = Watch(run.pid)
    run.awaits(SAMPLING)
    attacher = is_held(run)
    allocates(target)
    run.signal(signal.SIGINT)
    run.process.wait(GUARD_S)
    return attacher, watch.ends(), state(attacher) == "D"


STILL = r"^cprof: the kernel is still placing or removing probes: "
WAITS = r"1 file without probes so far \('{}': a process that maps it keeps its memory locked, and the kernel waits for that\)"


@h.test
def a_target_that_keeps_its_lock():
    """It holds the attacher; main drains, hears SIGINT, and writes what was sampled in other files."""
    with locked() as (target, path, server):
        run = h.cprof("heap", "--rate", RATE, "-p", target.pid)
        attacher, longest, was_held = interrupted(run, target)
        server.answers_again()
        done = run.wait()
    assert was_held, "main waited for it"
    assert longest < CALL_S, longest
    assert done.code == 0, done.code
    is_complete(done)
    assert re.search("^cprof: not probed: " + WAITS.format(path), "\n".join(done.lines), re.M), done.lines
    helpers.ends(attacher)


@h.test
def a_lock_that_is_released():
    """The file is probed then, and nothing is missing."""
    with locked() as (target, path, server):
        run = h.cprof("heap", "--rate", RATE, "-p", target.pid)
        run.awaits(SAMPLING)
        is_held(run)
        server.answers_again()
        run.awaits(rf"^cprof: probing malloc\+\d+ at offset \S+ of {path}")
        allocates(target)
        done = run.stop()
    is_complete(done)
    assert "not probed" not in "\n".join(done.lines), done.lines


def make_unprobeable(folder):
    """A static program whose malloc cannot be probed."""
    path = os.path.join(folder, "unprobeable")
    subprocess.run(["gcc", "-static", "-nostdlib", "-x", "assembler", "-", "-o", path], check=True, text=True,
                   input="\t.globl _start\n_start:\tmov $34, %eax\n\tsyscall\n" + heaps.SMALL.format(first="int3"))
    return path


@h.test
def a_lock_before_the_only_allocator():
    """Nobody knows until it is released that it cannot be probed. Then there is nothing to wait for."""
    with lockable(make_unprobeable) as (_, path, server, keeps):
        target = h.Workload(path)
        keeps()
        run = h.cprof("heap", "-p", target.pid)
        run.awaits(SAMPLING)
        is_held(run)
        server.answers_again()
        done = run.wait()
    assert done.code == 4, done.code
    assert [line for line in done.lines if line.startswith("cprof: no allocator can be probed: 1 file that cannot be probed")], done.lines


@h.test
def perf_events():
    """Where a probe is a perf event, the attacher keeps all of them, and has to be let go to remove them."""
    with locked() as (target, path, server):
        run = h.cprof("heap", "--rate", RATE, "--limit", "attach_mode=1", "-p", target.pid)
        attacher, longest, was_held = interrupted(run, target)
        server.answers_again()
        done = run.wait()
    assert was_held, "main waited for it"
    assert longest < CALL_S, longest
    is_complete(done)
    assert re.search(STILL, "\n".join(done.lines), re.M), done.lines
    helpers.ends(attacher)


@h.test
def a_lock_that_is_kept_at_the_end():
    """The probes are there, and cannot be removed: the kernel does it later, and main ends."""
    with lockable() as (target, path, server, keeps):
        run = h.cprof("heap", "--rate", RATE, "-p", target.pid)
        run.awaits(SAMPLING)
        run.awaits(rf"^cprof: probing malloc\+\d+ at offset \S+ of {path}")
        allocates(target)
        keeps()
        watch = Watch(run.pid)
        run.signal(signal.SIGINT)
        began = time.monotonic()
        run.process.wait(GUARD_S)
        took, longest = time.monotonic() - began, watch.ends()
        server.answers_again()
        done = run.wait()
    assert took < GUARD_S / 2, took
    assert longest < CALL_S, longest
    is_complete(done)


def make_command(folder):
    """A program with an allocator of its own, which is probed first."""
    return shutil.copy(test_heap_allocators.build("linked", "heap/first.c", "heap/toyalloc.c"), os.path.join(folder, "command"))


@h.test
def a_launched_command_waits():
    """The kernel does not place its probes for more than a second; then it does, and the command's first allocation is seen."""
    for _ in range(5):
        with locked(make_command) as (_, path, server):
            began = time.monotonic()
            run = h.cprof("heap", "--mode", "probe", "--rate", 1, "--", path)
            is_held(run)
            server.answers_again()
            took = time.monotonic() - began
            done = run.wait()
        if took < WAIT_S - 1:
            heaps.exact(done.profile(), done.says())
            return
    raise h.Skip(f"NOT RUN: on this machine it takes {took:.1f} s to begin")


def copy_cprof(folder):
    return shutil.copy(h.CPROF, os.path.join(folder, "cprof"))


@h.test
def a_lock_of_who_maps_cprof():
    """cprof measures on its own code what a probe costs. When the kernel lets nobody fork, the command has been forked. It waits for its
    probes, and then no longer."""
    with locked(copy_cprof) as (_, path, server):
        run = h.cprof("heap", "--mode", "probe", "--allow-empty", "--", h.workload("allocs"), "200", "now",
                      run_as=("sh", "-c", f'exec {path} "$@"'))
        watch = Watch(run.pid)
        is_held(run)
        run.process.wait(GUARD_S)
        longest = watch.ends()
        was_held = stopped(server.process.pid)
        server.answers_again()
        done = run.wait()
    assert was_held, "main waited for it"
    assert longest < CALL_S, longest
    assert done.code == 0, done.code


@h.test
def doctor_beside_a_lock():
    """It says that probes cannot be placed."""
    with locked(copy_cprof) as (_, path, server):
        done = subprocess.run([path, "doctor"], check=False, stdout=subprocess.PIPE, text=True, timeout=GUARD_S)
        was_held = stopped(server.process.pid)
    assert was_held, "it waited for it"
    assert re.search(r"^no +multi-uprobe links +no probe can be placed: a process that maps cprof's file, too, keeps its memory locked", done.stdout, re.M), done.stdout


@h.test
def killed_while_a_lock_is_kept():
    """Main ends at once, its attacher when the kernel lets it."""
    with locked() as (target, _, server):
        run = h.cprof("heap", "-p", target.pid)
        run.awaits(SAMPLING)
        attacher = is_held(run)
        run.signal(signal.SIGKILL)
        run.process.wait(GUARD_S)
        was_held = state(attacher) == "D"
        server.answers_again()
    assert was_held, "main waited for it"
    helpers.ends(attacher)


h.main()
