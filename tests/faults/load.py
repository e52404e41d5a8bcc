# SPDX-License-Identifier: BSD-2-Clause
"""F25 to F31: too little memory, too many processes, mappings and starts, targets that do not run, and allocators."""
import contextlib
import os
import re
import signal
import time

import cgroups
import harness as h
import test_record_storm as storm
from fault import CANNOT, DONE, NOTHING, USAGE, existing, fault, words

MEGABYTE = 1 << 20


def inside(path):
    """A command prefix: in this control group."""
    return ("sh", "-c", f'echo $$ >{path}/cgroup.procs && exec "$@"', "sh")


@fault
def f25_out_of_memory():
    """control groups of 64 and of 16 MB, in which the kernel kills, and an address space that is too small"""
    target = h.Workload("stacks", 600)
    seen = []
    with cgroups.group("memory") as path:
        for megabytes in 64, 16:
            cgroups.put(path, ("memory.limit_in_bytes", str(megabytes * MEGABYTE)), ("memory.max", str(megabytes * MEGABYTE)))
            run = h.cprof("record", "-F", "499", "-d", "1s", "-p", target.pid, run_as=inside(path))
            ended = run.wait()
            if megabytes == 64:
                assert ended.profile()["samples"]
            assert ended.code in (DONE, USAGE, CANNOT, -signal.SIGKILL), (ended.code, ended.lines)
            run.sent.add(signal.SIGKILL)  # by the kernel
            seen.append(f"{megabytes} MB: {words(run) if ended.code >= 0 else 'killed by the kernel'}")
    for megabytes in 16, 24, 32, 64, 128:
        run = h.cprof("record", "-F", "499", "-d", "500ms", "-p", target.pid, verbose=False,
                      run_as=("prlimit", f"--as={megabytes * MEGABYTE}"))
        ended = run.wait()
        assert ended.code in (DONE, USAGE, CANNOT), (ended.code, ended.lines)
        seen.append(f"address space of {megabytes} MB: {words(run)}")
    return "; ".join(seen)


def nr_descriptors(pid):
    """But for those of files: -a holds one for each that is mapped on this machine, up to a limit of its own."""
    count = 0
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            count += not os.readlink(f"/proc/{pid}/fd/{fd}").startswith("/")
    return count


@fault
def f26_two_thousand_processes():
    """2,000 processes, half of them of the target's family"""
    script = "i=0; while [ $i -lt 1000 ]; do sleep 1000 & i=$((i + 1)); done; echo '{}'; wait"
    shells = [h.Workload("/bin/sh", "-c", script) for _ in range(2)]
    for shell in shells:
        shell.says()
    busy = h.Workload("hot", 600)
    most_fds = most_memory = 0
    for command in ("-p", f"{shells[0].pid},{busy.pid}"), ("-a",):
        run = h.cprof("record", "-F", "499", *command).attached()
        busy.uses(0.5)
        most_fds = max(most_fds, nr_descriptors(run.pid))
        most_memory = max(most_memory, storm.most_memory(run))
        if command == ("-a",):
            for shell in shells:
                for child in h.children(shell.pid):
                    os.kill(child, signal.SIGKILL)
                shell.wait()
            storm.nothing_stays(run)
        profile = run.stop().profile()
        samples = [s for s in profile["samples"] if s["labels"]["pid"] == busy.pid]
        assert any("hot_a" in s["stack"] for s in samples), (command, len(samples))
    assert most_fds < 1024, most_fds
    return f"{words()}; {most_memory // MEGABYTE} MB and {most_fds} descriptors at most that are not files"


@fault
def f27_many_mappings():
    """as many mappings as the kernel allows (65,530), which change all the time; 128,198 where its limit is raised"""
    return existing("test_record_storm", "many_mappings_are_read_once", "more_mappings_than_usual")


@fault
def f28_starts_without_end():
    """fork and exec of /bin/true as fast as it goes, on two processors, for 60 s"""
    seen = storm.files_called(storm.LIBC)
    run = h.cprof("record", "-a", "-F", "499").attached()
    storms = [h.Workload("spawner", 60) for _ in range(2)]
    spawned = sum(storm.says()["spawned"] for storm in storms)
    storm.nothing_stays(run)
    most_memory = storm.most_memory(run)
    ended = run.stop()
    storm.is_parsed_once(ended, seen)
    profile = ended.profile()
    total = h.total(profile, "samples")
    named = sum(s["values"]["samples"] for s in profile["samples"] if s["labels"].get("comm"))
    assert named >= 0.99 * total, (named, total)
    return (f"{spawned:,} processes: {total:,} samples, {named / total:.2%} with a name of the process; "
            f"{most_memory // MEGABYTE} MB at most, and no map remembers one")


@fault
def f29_target_does_not_run():
    """a target that is stopped (SIGSTOP), asleep, or frozen with its control group"""
    seen = []
    with cgroups.group("freezer") as path:
        for what, why in (("asleep", "(idle or waiting)"), ("stopped", "it is stopped (SIGSTOP"),
                          ("frozen", "it is frozen by its control group")):
            target = h.Workload("idle") if what == "asleep" else h.Workload("hot", 600)
            if what != "asleep":
                target.uses(0.05)
            if what == "stopped":
                target.process.send_signal(signal.SIGSTOP)
            elif what == "frozen":
                cgroups.put(path, ("cgroup.procs", str(target.pid)))
                cgroups.put(path, ("freezer.state", "FROZEN"), ("cgroup.freeze", "1"))
                time.sleep(0.5)
            else:
                target.sleeps()
            ended = h.cprof("record", "-d", "500ms", "-p", target.pid).wait()
            assert ended.code == NOTHING and not ended.files, (what, ended.code, ended.lines)
            assert why in ended.lines[-1], (what, ended.lines)
            seen.append(f"{what}: {re.sub(r' *: (exit|taken).*', '', ended.lines[-1].removeprefix('cprof: '))}")
            ended = h.cprof("record", "-d", "500ms", "--allow-empty", "-p", target.pid).wait()
            assert ended.code == DONE and not h.judge(ended.output)["samples"], (what, ended.code)
            ended = h.cprof("heap", "-d", "500ms", "-p", target.pid).wait()
            assert ended.code == NOTHING, (what, ended.code, ended.lines)
            assert what == "asleep" or why in ended.lines[-1], (what, ended.lines)
            if what == "frozen":
                cgroups.put(path, ("freezer.state", "THAWED"), ("cgroup.freeze", "0"))
            target.process.kill()
            target.wait()
    return "; ".join(seen)


@fault
def f30_profilers_of_profilers():
    """two cprofs at once, and two that profile each other"""
    existing("test_record_all", "two_at_a_time")
    h.Workload("hot", 60)
    first = h.cprof("record", "-a", "-F", "499").attached()
    second = h.cprof("record", "-F", "499", "-p", first.pid).attached()
    heap = h.cprof("heap", "--rate", "1", "-p", first.pid, "--allow-empty").attached()
    time.sleep(1)
    profile = first.stop().profile()
    assert first.pid not in h.labels(profile, "pid")
    seen = words(first)
    for run in second, heap:
        ended = run.wait()
        assert ended.code in (DONE, NOTHING), (ended.code, ended.lines)
    return f"{seen}; profiled by others: {words(second)}; {words(heap)}"


@fault
def f31_allocators():
    """heap: fork, longjmp, killed in malloc, dlopen, static, musl, nested calls, threads that free each other's blocks"""
    existing("test_heap_fork", "fork_server", "killed_inside_the_allocator", "killed_while_it_allocates")
    existing("test_heap_limits", "returns_that_never_come")
    existing("test_heap_allocators", "opened_late", "static", "static_with_musl", "wrapped")
    existing("test_heap_probes", "nested_calls_count_once_exactly")
    existing("test_heap_statistics", "sixteen_threads_free_each_others_blocks", "edges_of_a_static_program_with_musl")
    existing("test_heap_life", "cprof_is_killed")
    return existing("test_same_output", "attached_to", "launched") + "; the programs' output and exit codes are the same"
