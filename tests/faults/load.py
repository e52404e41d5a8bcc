# SPDX-License-Identifier: BSD-2-Clause
"""F25 to F31: too little memory, too many processes, mappings and starts, targets that do not run, and allocators."""
import contextlib
import fcntl
import os
import re
import signal
import time

import cgroups
import harness as h
import test_record_storm as storm
from fault import CANNOT, DONE, NOTHING, USAGE, existing, fault, number_in, words

MEGABYTE = 1 << 20


def inside(path):
    """A command prefix: in this control group."""
    return ("sh", "-c", f'echo $$ >{path}/cgroup.procs && exec "$@"', "sh")


def names_memory(ended):
    """A run that memory was missing for says so, unless the kernel killed it."""
    assert ended.code in (DONE, -signal.SIGKILL) or re.search("memory", ended.lines[-1]), ended.lines


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
            names_memory(ended)
            seen.append(f"{megabytes} MB: {words(run) if ended.code >= 0 else 'killed by the kernel'}")
    for megabytes in 16, 24, 32, 64, 128:
        run = h.cprof("record", "-F", "499", "-d", "500ms", "-p", target.pid, verbose=False,
                      run_as=("prlimit", f"--as={megabytes * MEGABYTE}"))
        ended = run.wait()
        assert ended.code in (DONE, USAGE, CANNOT), (ended.code, ended.lines)
        names_memory(ended)
        seen.append(f"address space of {megabytes} MB: {words(run)}")
    return "; ".join(seen)


def nr_descriptors(pid):
    """But for those of files: -a holds one for each that is mapped on this machine, up to a limit of its own."""
    count = 0
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            count += not os.readlink(f"/proc/{pid}/fd/{fd}").startswith("/")
    return count


NR_MANY, NR_MORE = 2000, 32000
SECONDS_TO_BEGIN, TRIES = 1, 3
MOST_DESCRIPTORS = 1024


def used_by(run):
    """CPU seconds of a cprof and of the processes that work for it."""
    total = 0
    for pid in (run.pid, *h.children(run.pid)):
        with contextlib.suppress(OSError):
            total += time.clock_gettime(~pid << 3 | 2)
    return total


def begin(*command):
    """A cprof that samples, and the CPU seconds that this took: the least of some, which others delayed least."""
    least = None
    for left in reversed(range(TRIES)):
        run = h.cprof("record", "-F", "499", *command).attached()
        least = min(used_by(run), least or h.HANGS)
        if not left or least < SECONDS_TO_BEGIN:
            return run, least
        run.stop()


@contextlib.contextmanager
def pids_allowed(nr):
    """So many at least, on the whole machine; then as many as before."""
    path = "/proc/sys/kernel/pid_max"
    with open("/run/cprof-e2e-pid-max", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        before = number_in(path)
        try:
            cgroups.put("/proc/sys/kernel", ("pid_max", str(max(before, nr))))
            yield
        finally:
            cgroups.put("/proc/sys/kernel", ("pid_max", str(before)))


def free_memory():
    with open("/proc/meminfo", encoding="ascii") as file:
        return int(re.search(r"^MemAvailable:\s+(\d+) kB", file.read(), re.M)[1]) << 10


def sampled_beside(busy, command, is_first, look):
    """Profiles a busy process that is one of thousands. The CPU seconds until it was sampled, and the descriptors that are not files."""
    run, seconds = begin(*command)
    busy.uses(0.5)
    nr_fds = nr_descriptors(run.pid)
    assert nr_fds < MOST_DESCRIPTORS, (command, nr_fds)
    look(run, is_first)
    samples = [s for s in run.stop().profile()["samples"] if s["labels"]["pid"] == busy.pid]
    assert any("hot_a" in s["stack"] for s in samples), (command, len(samples))
    return seconds, nr_fds


def two_thousand(busy, seen):
    """Two families of shells."""
    script = f"i=0; while [ $i -lt {NR_MANY // 2} ]; do sleep 1000 & i=$((i + 1)); done; echo '{{}}'; wait"
    shells = [h.Workload("/bin/sh", "-c", script) for _ in range(2)]
    for shell in shells:
        shell.says()

    def look(run, is_first):
        seen.append(storm.most_memory(run))
        if is_first:
            return
        for shell in shells:
            for child in h.children(shell.pid):
                os.kill(child, signal.SIGKILL)
            shell.wait()
        storm.nothing_stays(run)

    family = sampled_beside(busy, ("-p", f"{shells[0].pid},{busy.pid}"), True, look)
    everything = sampled_beside(busy, ("-a",), False, look)
    assert max(family[0], everything[0]) < SECONDS_TO_BEGIN, (family, everything)
    return family, everything


def thirty_two_thousand(busy, seen):
    """More than there is room for among the targets: how many are left out is said, and each is sampled that -p names."""
    farm = h.Workload("farm", NR_MORE)
    farm.says()
    family = sampled_beside(busy, ("-p", f"{farm.pid},{busy.pid}"), True, lambda run, _: seen.append(storm.most_memory(run)))
    said = [line for line in h.runs[-1].said().splitlines() if re.search("at a time", line)]
    most = h.number(re.search(rf"no more than {h.NUMBER} processes can be chosen at a time", said[0])[1])
    out = h.number(re.search(rf"{h.NUMBER} processes are not in the profile", said[1])[1])
    assert len(said) == 2 and out == NR_MORE + 2 - most, (said[:3], len(said))
    everything = sampled_beside(busy, ("-a",), False, lambda run, _: seen.append(storm.most_memory(run)))
    farm.go()
    farm.wait()
    return family, everything


@fault
def f26_many_processes():
    """2,000 processes, half of them of the target's family; then 32,000, all of it"""
    if free_memory() < 6 << 30:
        raise h.Skip("32,000 processes take 4 GB")
    busy, memory = h.Workload("hot", 600), []
    with pids_allowed(3 * NR_MORE):
        many, more = two_thousand(busy, memory), thirty_two_thousand(busy, memory)
    for (few_seconds, _), (seconds, _) in zip(many, more):
        assert seconds < 3 * NR_MORE / NR_MANY * few_seconds, (many, more)  # what each costs does not grow with their number
    fds = max(nr for _, nr in many + more)
    return (f"{words()}; {max(memory) // MEGABYTE} MB and {fds} descriptors at most that are not files; sampled after "
            f"{max(many)[0]:.2f} and {max(more)[0]:.2f} s of CPU time")


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


MISSED = re.compile(rf"^cprof: {h.NUMBER} of {h.NUMBER} ticks .* were missed")


def busy_in_bpf():
    """A process in bpf(2), as a profiler is: there the kernel runs no BPF program, and counts no miss. The ticks that are missing are told."""
    target = h.Workload("/usr/bin/nice", "-n", "-20", h.workload("bpfbusy"), 600)
    target.uses(0.1)
    run = h.cprof("record", "-F", "999", "-p", target.pid).attached()
    before = target.used()
    target.uses(0.5)
    ended = run.stop()
    due = (target.used() - before) * 999
    ended.profile()
    missed, expected = map(h.number, ended.matches(MISSED)[0].groups())
    assert missed == ended.ticks_missed and expected == ended.ticks + missed, ended.lines
    assert missed + ended.closing.taken > 0.8 * due > 0 and missed > 0.1 * due, (missed, ended.closing.taken, due)
    target.process.kill()
    return ended.matches(MISSED)[0][0].removeprefix("cprof: ")


@fault
def f30_profilers_of_profilers():
    """two cprofs at once, two that profile each other, and one that profiles who is busy in bpf(2)"""
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
    return f"{seen}; profiled by others: {words(second)}; {words(heap)}; busy in bpf(2): {busy_in_bpf()}"


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
