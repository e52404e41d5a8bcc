#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The sets of capabilities that PRIVILEGES in cprof-record(1) promises: they are enough, and each member is needed."""
import os
import shutil
import signal

import harness as h
import privileges as p


def open_folder():
    """One that nobody may write to."""
    path = h.folder()
    os.chmod(path, 0o777)
    return path


def cprof(capabilities, command, *arguments):
    output = os.path.join(open_folder(), "x.pb.gz")
    return h.cprof(command, "-o", output, *arguments, output=output, run_as=p.with_capabilities(*capabilities),
                   verbose=False)


OPTIONS = {"record": ("-F", "999"), "heap": ("--rate", "4096")}


def sampled(capabilities, target, command="record", whom=None):
    """A profile of it (-p, unless whom says otherwise), for as long as it takes it to use some CPU time. Before and after that it is
    stopped."""
    target.process.send_signal(signal.SIGSTOP)
    output = os.path.join(open_folder(), "x.pb.gz")
    run = h.cprof(command, *OPTIONS[command], "-o", output, *(whom or ("-p", target.pid)), output=output,
                  run_as=p.with_capabilities(*capabilities)).attached()
    target.process.send_signal(signal.SIGCONT)
    target.uses(0.1)
    target.process.send_signal(signal.SIGSTOP)
    return run.stop()


def leaves(run):
    return set(h.by_leaf(run.profile(), "samples"))


def blamed(run):
    """The lines that name a capability, but for the one that is missed only where others leave cprof no CPU."""
    return [line for line in run.lines if "CAP_" in line and "CAP_SYS_NICE" not in line]


def lines(run, text):
    return [line for line in run.lines if text in line]


def own_target(name, *arguments):
    """A workload of the user who profiles it, in a folder that this user may read."""
    path = os.path.join(open_folder(), name)
    shutil.copy(h.workload(name), path)
    command = os.path.join(os.path.dirname(path), "start")
    with open(command, "w", encoding="ascii") as file:
        file.write(f'#!/bin/sh\nexec {" ".join(p.as_nobody())} {path} "$@"\n')
    os.chmod(command, 0o755)
    return h.Workload(command, *arguments)


def names_each(capabilities, needed, *arguments):
    """With the set it works; with each of needed taken away it is refused, and that one is named."""
    for command in ("record", "heap"):
        run = cprof(capabilities, command, *(("--rate", "1") if command == "heap" else ("-F", "499")), *arguments).wait()
        assert run.code == 0, (command, capabilities, run.lines)
        for one in needed:
            run = cprof(p.without(capabilities, one), command, *arguments).wait()
            assert run.code == p.CANNOT, (command, one, run.code, run.lines)
            said = blamed(run)
            assert len(said) == 1 and f"CAP_{one.upper()} is missing" in said[0], (command, one, run.lines)


@h.test
def own_command_needs_two():
    """record -- COMMAND and heap -- COMMAND."""
    folder = open_folder()
    path = shutil.copy(h.workload("allocs"), folder)
    names_each(p.RECORD, p.RECORD, "--allow-empty", "--", path, "200", "now")


@h.test
def own_process_needs_two():
    target = own_target("hot", 60)
    target.uses(0.1)
    for one in p.RECORD:
        cprof(p.without(p.RECORD, one), "record", "-p", target.pid).wait().refused(
            p.CANNOT, f"CAP_{one.upper()} is missing")
    assert {"hot_a", "hot_b"} & leaves(sampled(p.RECORD, target))


@h.test
def everything_needs_six():
    """With the whole set nothing is lost; of the two that are always needed the missing one is named."""
    target = h.Workload("hot", 60)
    target.uses(0.1)
    checks, commands = p.doctor(*p.with_capabilities(*p.WHOLE), status=0)
    assert all(row["outcome"] == "works" for row in commands.values()), (checks, commands)
    for command, *arguments in (("record", "-F", "499", "-a"), ("record", "-p", target.pid), ("heap", "-p", target.pid),
                                ("heap", "-a", "--max-overhead", "100")):
        for one in (None, *p.RECORD):
            run = cprof(p.without(p.WHOLE, one), command, "--allow-empty", "-d", "100ms", *arguments).wait()
            if one:
                run.refused(p.CANNOT, f"CAP_{one.upper()} is missing")
            else:
                assert run.code == 0 and not blamed(run), run.lines
                # nobody may read the first process here and there, and nobody misses that unless it runs
                unread = lines(run, "cannot be read, so")
                assert not unread or "of 1 sampled process, 1 (" in unread[0], run.lines


@h.test
def doctor_names_each_that_is_missing():
    for one in p.WHOLE:
        name = f"CAP_{one.upper()}"
        checks, commands = p.doctor(*p.with_capabilities(*p.without(p.WHOLE, one)))
        cannot = one in p.RECORD
        at_fault = "kernel symbols" if one == "syslog" else name
        assert checks[at_fault]["verdict"] == ("no" if cannot else "loss"), checks[at_fault]
        assert f"{name} is missing" in checks[at_fault]["why"] and name in checks[at_fault]["remedy"], checks[at_fault]
        assert commands["record -a"]["causes" if cannot else "losses"] == [at_fault], commands


@h.test
def doctor_names_each_that_others_make_matter():
    """Those that no set has: what each is for is said, and nothing is lost by its lack. With them, they are there."""
    more = {"ipc_lock": "perf_event_mlock_kb", "sys_nice": "priority", "setuid": "user nobody", "setgid": "user nobody"}
    checks, commands = p.doctor(*p.with_capabilities(*p.WHOLE), status=0)
    assert all(command["outcome"] == "works" for command in commands.values()), commands
    for one, what in more.items():
        row = checks[f"CAP_{one.upper()}"]
        assert row["verdict"] == "info" and "missing" in row["why"] and what in row["why"], row
    uid = checks["user nobody"]
    assert uid["verdict"] == "info" and f"runs as uid {h.NOBODY}" in uid["why"], uid
    checks, _ = p.doctor(*p.with_capabilities(*p.WHOLE, *more), status=0)
    for one in more:
        assert checks[f"CAP_{one.upper()}"]["verdict"] == "ok", checks
    assert checks["user nobody"]["verdict"] == "ok", checks["user nobody"]


def deleted(name, *arguments):
    """A busy workload whose file is gone from a folder that only root may enter."""
    path = shutil.copy(h.workload(name), h.folder())
    target = h.Workload(path, *arguments)
    if name == "churn":
        target.says()
        target.go()
    target.uses(0.1)
    os.unlink(path)
    return target


def functions(run, target):
    """All that its stacks have."""
    return {name for s in run.profile()["samples"] if s["labels"]["pid"] == target.pid for name in s["stack"]}


@h.test
def files_of_others_need_three():
    """With one of the three missing, the code of a deleted file has no names: in a profile of its process, or of all."""
    hot, churn = deleted("hot", 60), deleted("churn", 0, 1)
    checks, _ = p.doctor(*p.with_capabilities(*p.without(p.WHOLE, "sys_ptrace")))
    is_refused = {"sys_ptrace"} if "-p refuses them" in checks["CAP_SYS_PTRACE"]["why"] else set()  # without it, no mappings are shown
    for command, target, function, *whom in (("record", hot, "hot"), ("record", hot, "hot", "-a"), ("heap", churn, "churn")):
        whole = sampled(p.WHOLE, target, command, whom)
        assert function in functions(whole, target) and (whom or not blamed(whole)), (functions(whole, target), whole.lines)
        for one in p.FILES:
            missing = f"CAP_{one.upper()} is missing"
            if not whom and one in is_refused:
                cprof(p.without(p.WHOLE, one), command, "-p", target.pid).wait().refused(p.CANNOT, missing)
                continue
            run = sampled(p.without(p.WHOLE, one), target, command, whom)
            said = lines(run, f": {missing} (")
            assert len(said) == len(blamed(run)) and (said if whom else len(said) == 1), run.lines
            assert function not in functions(run, target), functions(run, target)


@h.test
def names_of_the_kernel_need_syslog():
    target = h.Workload("/usr/bin/dd", "if=/dev/zero", "of=/dev/null", "bs=64k")  # the kernel does its work
    for one in (None, "syslog"):
        run = sampled(p.without(p.WHOLE, one), target)
        said = lines(run, "kernel functions have no names")
        assert run.code == 0 and len(said) == bool(one) and all("CAP_SYSLOG is missing" in line for line in said), run.lines


@h.test
def rings_need_memory_to_lock():
    """All programs of a user share a limit, which CAP_IPC_LOCK lifts: the refusal says so."""
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as file:
        if int(file.read()) < 0:
            raise h.Skip("NOT RUN: perf_event_paranoid is -1, which lifts the limit")
    uid = 54_000 + os.getpid() % 1000
    output = os.path.join(open_folder(), "x.pb.gz")

    def record(*more):
        return h.cprof("record", "-o", output, "--allow-empty", "-d", "100ms", "-a", output=output, verbose=False,
                       run_as=("prlimit", "--memlock=0:0", *p.with_capabilities(*p.RECORD, *more, uid=uid))).wait()

    with p.holding_locked_memory(uid) as holder:
        run = record()
        run.refused(p.CANNOT, "raise kernel.perf_event_mlock_kb, or grant CAP_IPC_LOCK")
        assert len(run.lines) == 1, run.lines
        run = record("ipc_lock")
        assert run.code == 0, run.lines
        holder.stdin.close()


@h.test
def admin_stands_for_both():
    run = cprof(("sys_admin",), "record", "-F", "499", "--allow-empty", "-d", "100ms", "-a").wait()
    assert run.code == 0, run.lines


h.main()
