#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The process that parses the targets' files: what it may do, and what becomes of a run when it fails."""
import ctypes
import errno
import glob
import os
import re
import shutil
import signal
import sys
import time

import harness as h
import helpers
import privileges as p
import straced

PARSER, KEEPER = "cprof-parser", "cprof-keeper"
CALLS = 20  # so many system calls at most
SECCOMP, LANDLOCK_CREATE_RULESET = 317, 444


def parser_of(run):
    return helpers.grandchild(run, KEEPER, PARSER)


def is_complete(done, target, functions=("hot", "main")):
    """Every name is there and nothing was left out."""
    samples, named = helpers.named(done, target, functions)
    assert h.count_of(named) >= 0.9 * h.count_of(samples) > 0, [s["stack"] for s in samples]
    assert not [line for line in done.lines if "no names and no unwind info" in line], done.lines


@h.test
@h.confined
def its_powers():
    """Nobody, no capability, no new privileges, a filter; a socket and no other file."""
    target = h.paused("hot", 60)
    run = h.cprof("record", "-F", "999", "-p", target.pid).attached()
    parser = child_soon(helpers.child(run.pid, KEEPER), PARSER)
    found = helpers.status(parser)
    assert found["Uid"].split() == ["65534"] * 4 and found["Gid"].split() == ["65534"] * 4, found
    assert not found["Groups"], found
    for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(found[kind], 16) == 0, found
    assert found["NoNewPrivs"] == "1" and found["Seccomp"] == "2", found
    files = {os.readlink(path).split(":")[0] for path in glob.glob(f"/proc/{parser}/fd/[0-3]")}
    assert files == {"/dev/null", "socket"}, files
    assert os.readlink(f"/proc/{parser}/ns/net") != os.readlink("/proc/self/ns/net")
    with open(f"/proc/{parser}/limits", encoding="utf-8") as file:
        limits = {line[:26].strip(): line[26:].split()[:2] for line in file}
    assert limits["Max core file size"] == limits["Max file size"] == ["0", "0"], limits
    assert limits["Max data size"] == [str(1 << 30)] * 2 and limits["Max address space"] == [str(6 << 30)] * 2, limits
    assert limits["Max cpu time"] == ["60", "60"], limits
    target.uses(0.1)
    target.pauses()
    is_complete(run.stop(), target)
    helpers.ends(parser)


@h.test
def nobody_may_trace_them():
    """Not even the user who started cprof: what it has opened, and its memory, is root's to see."""
    target = h.paused("hot", 60)
    folder = h.folder()
    os.chmod(folder, 0o777)
    output = os.path.join(folder, "profile.pb.gz")
    run = h.cprof("record", "-o", output, "-p", target.pid, output=output, run_as=p.with_capabilities(*p.WHOLE)).attached()
    for keeper, worker in ((KEEPER, PARSER), ("cprof-openers", "cprof-opener")):
        for pid in (helpers.child(run.pid, keeper), helpers.grandchild(run, keeper, worker)):
            assert helpers.status(pid)["Uid"].split() == [str(h.NOBODY)] * 4
            assert os.stat(f"/proc/{pid}/environ").st_uid == 0, helpers.status(pid)["Name"]
    assert os.stat(f"/proc/{run.pid}/environ").st_uid == h.NOBODY  # else this would say nothing
    target.uses(0.05)
    target.pauses()
    run.stop()


def has_landlock():
    """Does this kernel have it?"""
    return ctypes.CDLL(None).syscall(LANDLOCK_CREATE_RULESET, None, 0, 1) > 0


def landlocked(trace):
    """The names of the processes that restricted themselves by landlock, as far as they set one afterwards."""
    restricted, names = set(), set()
    with open(trace, encoding="utf-8", errors="replace") as file:
        for line in file:
            pid, _, text = line.partition(" ")
            if re.search(r"\blandlock_restrict_self\b.*= 0$", text):  # other processes may come in between
                restricted.add(pid)
            name = re.search(r'PR_SET_NAME, "([^"]*)"', text)
            if name and pid in restricted:
                names.add(name[1])
    return names


def calls_of(trace, name):
    """The system calls of the processes of that name once they are confined: {name: a line}."""
    calls, named, is_confined = {}, set(), set()
    with open(trace, encoding="utf-8", errors="replace") as file:
        for line in file:
            pid, _, text = line.partition(" ")
            call = text.split("(")[0].strip()
            if pid in is_confined and call.isidentifier():
                calls.setdefault(call, line)
            if "PR_SET_NAME" in text and f'"{name}"' in text:
                named.add(pid)
            if pid in named and ("SECCOMP_MODE_FILTER" in text or "PR_SET_SECCOMP" in text):
                is_confined.add(pid)
    return calls


@h.test
@h.confined
def its_system_calls():
    """While it works, it uses few, and none that opens, creates, connects or runs anything."""
    if not shutil.which("strace"):
        raise h.Skip("no strace")
    target = h.Workload("hot", 60)
    target.uses(0.05)
    trace = os.path.join(h.folder(), "trace")
    done = h.cprof("record", "-a", "-d", "500ms", run_as=("strace", "-f", "-qq", "-o", trace)).wait()
    assert done.code == 0, done.lines
    calls = calls_of(trace, PARSER)
    assert 3 < len(calls) <= CALLS, calls
    forbidden = {"open", "openat", "openat2", "socket", "connect", "execve", "clone", "clone3", "fork", "ptrace", "kill",
                 "memfd_create", "process_vm_readv", "bpf", "write", "sysinfo"}
    assert not forbidden & set(calls), {name: calls[name] for name in forbidden & set(calls)}
    assert {"recvmsg", "sendmsg", "pread64"} <= set(calls), calls
    if has_landlock():  # a parser inherits it
        assert KEEPER in landlocked(trace), landlocked(trace)


NAMES = {1: "dac_override", 0: "chown", 2: "dac_read_search", 3: "fowner", 5: "kill", 14: "ipc_lock", 19: "sys_ptrace",
         21: "sys_admin", 23: "sys_nice", 34: "syslog", 38: "perfmon", 39: "bpf", 40: "checkpoint_restore"}
KEPT = set(NAMES.values()) - {"sys_admin", "dac_read_search", "sys_ptrace", "checkpoint_restore"}


def kept(run):
    """{set: names} of main's capabilities once it has given up the others; then the run ends."""
    end = time.monotonic() + h.HANGS
    while (found := helpers.status(run.pid))["NoNewPrivs"] != "1" and time.monotonic() < end:
        time.sleep(0.01)
    assert found["NoNewPrivs"] == "1", found
    run.signal(signal.SIGINT)
    run.wait()
    return {kind: {NAMES.get(bit) for bit in range(64) if int(found[kind], 16) >> bit & 1}
            for kind in ("CapPrm", "CapEff", "CapBnd")}


def beside(name, *arguments):
    """A target of runs whose samples do not matter."""
    return h.paused(name, *arguments) if arguments else h.Workload(name)


def filtered(pid):
    """The threads of a process that have a filter of system calls, and those that have none; without those that have ended meanwhile."""
    threads = {thread: helpers.status(f"{pid}/task/{thread}").get("Seccomp") for thread in os.listdir(f"/proc/{pid}/task")}
    return [[thread for thread, mode in threads.items() if mode and (mode == "2") == has] for has in (True, False)]


REFUSED = {"execve", "execveat", "fork", "vfork", "ptrace", "process_vm_readv", "process_vm_writev", "socket", "connect", "bind", "listen",
           "accept4", "setuid", "setresuid", "setfsuid", "setgroups", "keyctl", "mount", "umount2", "chroot", "setns",
           "unshare", "init_module", "finit_module", "clock_settime", "userfaultfd", "io_uring_setup", "mknodat"}


@h.test
@h.confined
def main_has_a_filter():
    """While it samples, no thread of main may use all system calls, and it tries none of those that are refused."""
    for command, workload in (("record", ("hot", 60)), ("heap", ("allocs",))):
        run = h.cprof(command, "-p", beside(*workload).pid).attached()
        end = time.monotonic() + h.HANGS
        while not filtered(run.pid)[0] and time.monotonic() < end:
            time.sleep(0.01)
        behind, free = filtered(run.pid)  # once one of them has it, all have
        assert behind and not free, (behind, free)
        run.signal(signal.SIGINT)
        run.wait()
    trace = os.path.join(h.folder(), "trace")
    for command in ("record", "heap"):
        done = h.cprof(command, "-d", "500ms", "--allow-empty", "--", h.workload("allocs"), "200", "now",
                       run_as=straced.run_as(trace)).wait()
        assert done.code == 0, done.lines
        _, calls, _ = straced.of_main(trace)  # of all its threads
        behind = calls[1 + next(i for i, call in enumerate(calls) if "SECCOMP_SET_MODE_FILTER" in call):]
        assert len(behind) > 10, command
        for call in behind:
            name = call.split("(")[0]
            assert name not in REFUSED and (name != "clone" or "CLONE_THREAD" in call), (command, call)


def needs_admin():
    """Debian's kernels demand CAP_SYS_ADMIN for the events of CPUs that come online."""
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as file:
        return int(file.read()) > 2


@h.test
def main_keeps_what_it_needs():
    """While it samples, main cannot inspect others, change users, load modules, mount, use the network or administer, whatever its
    probes are."""
    for command, workload, *options in (("record", ("hot", 60)), ("heap", ("allocs",)),
                                        ("heap", ("allocs",), "--limit", "attach_mode=1")):
        run = h.cprof(command, *options, "-p", beside(*workload).pid).attached()
        for kind, names in kept(run).items():
            assert names <= KEPT | {"sys_admin"}, (kind, names)
            assert ("sys_admin" in names) == needs_admin(), (options, kind, names)


@h.test
def probes_are_added_without_it():
    """Code that is mapped after heap has given up CAP_SYS_ADMIN is probed, too."""
    target = h.Workload("/bin/sh", "-c", f"read line; exec {h.workload('ownalloc')}")
    run = h.cprof("heap", "--rate", "1", "-p", target.pid).attached()
    if needs_admin():
        raise h.Skip("CAP_SYS_ADMIN is needed here")
    end = time.monotonic() + h.HANGS
    while helpers.status(run.pid)["NoNewPrivs"] != "1" and time.monotonic() < end:
        time.sleep(0.01)
    assert not int(helpers.status(run.pid)["CapEff"], 16) >> 21 & 1
    target.go()
    run.awaits(r"^cprof: probing malloc\+\d+ at offset \w+ of \S*/ownalloc")
    target.says()
    target.go()
    target.says()
    assert run.stop().profile()["samples"]


@h.test
def main_keeps_the_capability_that_serves_for_others():
    """CAP_SYS_ADMIN stays where one of those is missing that it stands for: counts are read and probes added to the end."""
    folder, target = h.folder(), h.paused("hot", 60)
    os.chmod(folder, 0o777)
    for others in ((), ("bpf",), ("bpf", "perfmon")):
        output = os.path.join(folder, f"{len(others)}.pb.gz")
        run = h.cprof("record", "-o", output, "-p", target.pid, output=output, run_as=p.with_capabilities(
            "sys_admin", "sys_ptrace", "dac_read_search", *others)).attached()
        names = kept(run)["CapEff"]
        assert ("sys_admin" in names) == (len(others) < 2 or needs_admin()), (others, names)


MOMENTS = int(os.environ.get("MOMENTS", "4"))


@h.test
def killed_at_any_moment():
    """A parser that is killed is replaced, and nothing is missing. MOMENTS=100 is `make kills`."""
    helpers.is_killed_at_any_moment(parser_of, is_complete, MOMENTS)


@h.test
def one_that_does_not_answer():
    """It costs a file and some seconds, and the closing lines say so; sampling goes on."""
    target = h.paused("hot", 60)
    run = h.cprof("record", "-F", "499", "-a").attached()
    target.uses(0.1)
    keeper = helpers.child(run.pid, KEEPER)
    os.kill(helpers.child(keeper, PARSER), signal.SIGSTOP)
    path = os.path.join(h.folder(), "met_later")
    shutil.copy(h.workload("hot"), path)
    later = h.Workload(path, 60)
    later.uses(0.5)
    target.uses(0.1)
    later.pauses()
    target.pauses()
    done = run.stop()
    profile = done.profile()
    said = [line for line in done.lines if line.endswith(": its parser took too long")]
    assert said, done.lines  # others on this machine may have one, too
    assert sum(s["labels"].get("pid") == target.pid for s in profile["samples"]), "nothing of the neighbour"


@h.test
def one_that_cannot_be_replaced():
    """Whoever runs as nobody can stop what makes parsers, and kill the parser: names are lost, which is said, and no time."""
    target = h.paused("hot", 600)
    run = h.cprof("record", "-F", "499", "-p", target.pid, run_as=h.AHEAD_OF_OTHERS).attached()
    keeper = helpers.child(run.pid, KEEPER)
    h.run(*p.as_nobody(), "kill", "-STOP", keeper)
    h.run(*p.as_nobody(), "kill", "-KILL", child_soon(keeper, PARSER))
    target.uses(0.1)
    target.pauses()
    began = time.monotonic()
    done = run.stop()
    assert time.monotonic() - began < 20, "it waited for each question"
    said = [line for line in done.lines if "could not be replaced" in line]
    assert len(said) == 1 and "files was killed or stopped" in said[0], done.lines
    assert done.profile()["samples"], done.lines


MAPS_LATER = """
import mmap, os, sys
print("{}", flush=True)
sys.stdin.readline()
kept = mmap.mmap(os.open(sys.argv[1], os.O_RDONLY), 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
print("{}", flush=True)
sys.stdin.readline()
"""


def large_library():
    """A shared library whose unwind table takes longer to make than a process takes to find its maker."""
    paths = glob.glob("/usr/lib/*-linux-gnu/libLLVM*.so*") + glob.glob("/usr/lib/llvm-*/lib/libLLVM*.so*")
    found = next((path for path in map(os.path.realpath, paths) if os.path.getsize(path) > 50 << 20), None)
    if not found:
        raise h.Skip("no libLLVM")
    return found


@h.test
def one_that_dies_twice():
    """Two parsers die while they hold the same file: it is left out, the closing line names it, there is no third try, and nothing else
    is missing."""
    library, target = large_library(), h.paused("hot", 600)
    mapper = h.Workload(sys.executable, "-c", MAPS_LATER, library)
    mapper.sleeps()
    run = h.cprof("record", "-F", "999", "-p", f"{target.pid},{mapper.pid}").attached()
    keeper = helpers.child(run.pid, KEEPER)
    first = helpers.at_rest(child_soon(keeper, PARSER))
    os.setpriority(os.PRIO_PROCESS, keeper, 19)  # the second is not done before it is found
    os.kill(first, signal.SIGSTOP)
    mapper.go()
    mapper.says()
    time.sleep(0.5)  # main asks, or will: a parser that is gone by then counts, too
    os.kill(first, signal.SIGKILL)
    end = time.monotonic() + h.HANGS
    while (second := helpers.child(keeper, PARSER)) in (None, first):
        assert time.monotonic() < end, "it was not replaced"
    os.kill(second, signal.SIGKILL)
    target.uses(0.1)
    target.pauses()
    done = run.stop()
    said = [line for line in done.lines if "its parser" in line]
    assert said == [f"cprof: no names and no unwind info from '{library}': its parser died twice"], done.lines
    samples, named = helpers.named(done, target)
    assert h.count_of(named) >= 0.9 * h.count_of(samples) > 0, [s["stack"] for s in samples]


def child_soon(parent, name):
    """The same, of a keeper that may be replacing it now: what others map on this machine can kill a parser."""
    end = time.monotonic() + h.HANGS
    while (found := helpers.child(parent, name)) is None and time.monotonic() < end:
        time.sleep(0.01)
    assert found, name
    return found


def without_its_own(run, name):
    """Nothing of cprof, its keeper and its parser is in the profile of everybody; something of name is."""
    keeper = helpers.child(run.pid, KEEPER)
    openers = helpers.child(run.pid, "cprof-openers")
    own = {run.pid, keeper, child_soon(keeper, PARSER), openers, child_soon(openers, "cprof-opener")}
    path = os.path.join(h.folder(), "met_later")  # to be parsed
    shutil.copy(h.workload(name), path)
    later = h.Workload(path, *(("5", "now") if name == "allocs" else ("0.3",)))
    later.wait()
    pids = {s["labels"].get("pid") for s in run.stop().profile()["samples"]}
    assert later.pid in pids and len(own) == 5 and not own & pids, (own, pids)


@h.test
def its_own_samples_are_left_out():
    without_its_own(h.cprof("record", "-a", "-F", "999").attached(), "hot")


@h.test
def its_own_allocations_are_left_out():
    without_its_own(h.cprof("heap", "-a", "--max-overhead", "100", "--rate", "1").attached(), "allocs")


@h.test
def without_a_sandbox():
    """Asked for, it is done, and said loudly."""
    target = h.paused("hot", 60)
    run = h.cprof("record", "-F", "999", "--no-sandbox", "-p", target.pid).attached()
    assert not helpers.child(run.pid, KEEPER)
    target.uses(0.1)
    target.pauses()
    done = run.stop()
    is_complete(done, target)
    assert [line for line in done.lines if line.startswith("cprof: --no-sandbox: files")], done.lines


@h.test
@h.confined
def refused_by_a_container():
    """Without the filter it is not safe: nothing is recorded, and the line says what is missing."""
    target = h.paused("hot", 60)
    done = h.cprof("record", "-d", "1s", "-p", target.pid, run_as=p.refusing_filters(), verbose=False).wait()
    done.refused(4, r"may use all system calls \(seccomp is refused\)")
    checks, commands = p.doctor(*p.refusing_filters(), status=p.CANNOT)
    assert checks["seccomp"]["verdict"] == "no" and "cannot be confined" in checks["seccomp"]["why"], checks["seccomp"]
    assert all(command["causes"] == ["seccomp"] for command in commands.values()), commands


def said_of_the_sandbox(run_as, *arguments):
    """What a run says without -v of what is missing; all else works."""
    done = h.cprof(*arguments, run_as=run_as, verbose=False).wait()
    assert done.code == 0 and done.profile()["samples"], done.lines
    return [line for line in done.lines if re.search("landlock|seccomp|privileges|capabilities|nobody", line)]


@h.test
def a_kernel_without_landlock():
    """One layer of several: all works."""
    if has_landlock():
        assert not said_of_the_sandbox((), "record", "-F", "999", "--", h.workload("hot"), "0.1")
    for error in (errno.ENOSYS, errno.EOPNOTSUPP):
        said = said_of_the_sandbox(p.refusing(LANDLOCK_CREATE_RULESET, error=error), "record", "-F", "999", "--", h.workload("hot"), "0.1")
        assert said == ["cprof: the process that parses files is kept from opening others by its filter of system calls alone "
                        "(there is no landlock)"], said


@h.test
@h.confined
def main_without_a_filter():
    """seccomp(2) is refused, prctl(2) is not: what parses files has its filter, and that main has none is said."""
    for command, workload in (("record", ("hot", "0.1")), ("heap", ("allocs", "10", "now"))):
        said = said_of_the_sandbox(p.refusing(SECCOMP), command, "--allow-empty", "--", h.workload(workload[0]), *workload[1:])
        assert said == ["cprof: the process that samples may use all system calls (seccomp is refused)"], said


@h.test
def without_the_right_to_change_the_groups():
    """Root that may become nobody and keeps its groups: it is nobody, and one line says so."""
    target = h.paused("hot", 60)
    run = h.cprof("record", "-F", "999", "-p", target.pid, run_as=("setpriv", "--bounding-set", "-setgid")).attached()
    found = helpers.status(parser_of(run))
    assert found["Uid"].split() == ["65534"] * 4 and found["Gid"].split()[0] == "0", found
    target.uses(0.1)
    target.pauses()
    done = run.stop()
    is_complete(done, target)
    said = [line for line in done.lines if "is still in groups of cprof's user (CAP_SETGID is missing" in line]
    assert len(said) == 1, done.lines


@h.test
@h.confined
def without_the_right_to_change_the_user():
    """Root that may not become nobody: one line says so, and all else holds."""
    target = h.paused("hot", 60)
    run = h.cprof("record", "-F", "999", "-p", target.pid, run_as=("setpriv", "--bounding-set", "-setuid,-setgid")).attached()
    found = helpers.status(parser_of(run))
    assert found["Uid"].split()[0] == "0" and int(found["CapPrm"], 16) == 0 and found["Seccomp"] == "2", found
    target.uses(0.1)
    target.pauses()
    done = run.stop()
    is_complete(done, target)
    said = [line for line in done.lines if "runs as cprof's user, not as nobody" in line]
    assert len(said) == 1 and "CAP_SETUID" in said[0], done.lines


h.main()
