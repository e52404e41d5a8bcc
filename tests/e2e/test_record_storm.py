#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""More files, mappings and processes than there is room for."""
import contextlib
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import time

import harness as h
import helpers

BPFTOOL = shutil.which("bpftool", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def crowd(nr):
    """A process that has so many files mapped, each of which could be a library."""
    folder = h.folder()
    for i in range(nr):
        with open(os.path.join(folder, f"lib{i}.so"), "wb") as file:
            file.write(b"\x7fELF" + bytes(100))
    target = h.Workload("mapper", "files", folder)
    assert target.says() == {"mapped": nr}
    target.sleeps()
    return target


def of(profile, pid):
    """How many samples a process has, and how many of them are in hot's functions, by name and from the root."""
    samples = [s for s in profile["samples"] if s["labels"].get("pid") == pid]
    whole = [s for s in samples if {"hot_a", "hot_b"} & set(s["stack"]) and "main" in s["stack"]]
    return sum(s["values"]["samples"] for s in samples), sum(s["values"]["samples"] for s in whole)


@h.test
def more_files_than_descriptors():
    """A program that starts when all descriptors are in use has names and whole stacks."""
    crowd(600)
    run = h.cprof("record", "-a", "-F", "499", run_as=("prlimit", "--nofile=512:512")).attached()
    target = h.Workload("hot", 60)
    target.uses(0.5)
    target.pauses()
    done = run.stop()
    nr, whole = of(done.profile(), target.pid)
    assert nr and whole > 0.8 * nr, (nr, whole, done.lines)
    # of other people's files some may be too large
    assert not [line for line in done.lines if re.search("could not be opened.*Too many open files", line)], done.lines


@h.test
def a_file_that_cannot_be_opened_says_so():
    """Its stacks end for a reason of their own, not for a lack of unwind information, and the closing lines count it."""
    path = os.path.join(h.folder(), "large")
    shutil.copy(h.workload("hot"), path)
    os.truncate(path, 5 << 30)
    target = h.paused(path, 60)
    run = h.cprof("record", "-F", "999", "-p", target.pid).attached()
    target.uses(0.15)
    target.pauses()
    done = run.stop()
    ends = [s["stack"][-1] for s in done.profile()["samples"]]
    assert "[truncated: cannot open large (File too large)]" in ends, set(ends)
    assert not any("no unwind info for large" in end for end in ends), set(ends)
    said = "\n".join(done.lines)
    assert re.search(r"^cprof: truncated stacks, cannot open large \(File too large\): [\d,]+ of", said, re.M), said
    assert re.search(r"^cprof: [\d,]+ code addresses have no names: their files could not be opened "
                     r"\(large: File too large\)$", said, re.M), said


SLOW_DISK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
static int slow = 1;

int renameat(int from, const char *a, int to, const char *b)
{
	int (*real)(int, const char *, int, const char *) = dlsym(RTLD_NEXT, "renameat");

	if (slow) {
		slow = 0;
		close(creat(getenv("SLOW_FROM_NOW"), 0600));
		close(open(getenv("SLOW_UNTIL"), O_RDONLY)); /* a FIFO that nobody writes yet */
	}
	return real(from, a, to, b);
}
"""


def slow_disk():
    """A library with which the first file that is written takes until the FIFO SLOW_UNTIL has a writer; meanwhile
    SLOW_FROM_NOW exists."""
    path = os.path.join(h.folder(), "slow.so")
    subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", path], input=SLOW_DISK, text=True, check=True)
    return path


def long_path():
    """A program whose mappings are announced in 4 KB each: 256 fill a ring."""
    folder = os.path.join(h.folder(), *["d" * 200] * 18)
    os.makedirs(folder)
    return shutil.copy("/bin/true", folder)


DROPPED = re.compile(rf"^cprof: the kernel dropped {h.NUMBER} process events: ")
SECONDS_OF_STORM = 3 if h.IS_LONG else 1.2
LEAST_OF_STORM = 1000  # programs
EACH = 6  # announcements of a program: fork, exec, three mappings of code or more, exit


@h.test
def writing_does_not_delay_reading():
    """While a file is written, for however long, the kernel's announcements are read. Of the thousands of a storm, a ring
    that is not read has room for 512: what a machine that is busy with others drops is less than half."""
    folder, mark, fifo = os.path.join(h.folder(), "all"), os.path.join(h.folder(), "mark"), os.path.join(h.folder(), "fifo")
    os.mkfifo(fifo)
    run = h.cprof("record", "-a", "--interval", "500ms", "-o", folder, run_as=h.AHEAD_OF_OTHERS,
                  env={"LD_PRELOAD": slow_disk(), "SLOW_FROM_NOW": mark, "SLOW_UNTIL": fifo}).attached()
    end = time.monotonic() + h.HANGS
    while not os.path.exists(mark):
        assert time.monotonic() < end, "no file is written"
        time.sleep(0.01)
    nr_spawned, program = 0, long_path()
    while nr_spawned < LEAST_OF_STORM:
        storms = [h.Workload("spawner", SECONDS_OF_STORM / 2, program) for _ in range(2)]
        nr_spawned += sum(storm.says()["spawned"] for storm in storms)
    writer = os.open(fifo, os.O_RDWR)  # now the file is written
    done = run.stop()
    os.close(writer)
    assert done.files, done.lines
    dropped = [h.judges.number(match[1]) for match in done.matches(DROPPED)]
    print(f"# {nr_spawned} programs, {dropped} announcements dropped", flush=True)
    assert not dropped or dropped[0] < nr_spawned * EACH / 2, done.lines[-8:]


@h.test
def a_lost_ring():
    """While cprof is stopped, the kernel has no room for what it announces. What began meanwhile has names, and what became another
    program has its new ones."""
    there = h.Workload("/bin/sh", "-c", f"echo '{{}}'; read line; exec {h.workload('hot')} 60")
    there.says()
    run = h.cprof("record", "-a", "-F", "499").attached()
    run.signal(signal.SIGSTOP)
    nr_spawned, program = 0, long_path()
    while nr_spawned < LEAST_OF_STORM:
        nr_spawned += h.Workload("spawner", 0.5, program).says()["spawned"]
    there.go()
    new = h.Workload("hot", 60)
    for target in new, there:
        target.uses(0.05)
    run.signal(signal.SIGCONT)
    run.snapshot(1)  # now it has read what it missed, however late
    for target in new, there:
        target.uses(0.3)
        target.pauses()
    done = run.stop()
    windows = done.windows()
    after = windows[-1]
    assert done.matches(DROPPED), done.lines
    for target in new, there:
        nr, whole = of(after, target.pid)
        samples = [s for profile in windows for s in profile["samples"] if s["labels"].get("pid") == target.pid]
        named = h.count_of(s for s in samples if {"hot_a", "hot_b"} & set(s["stack"]))
        # of those before that the stacks may end early: nobody gave BPF the tables
        assert named > 0.8 * h.count_of(samples) and whole > 0.4 * nr > 0, (nr, named, whole, done.lines[-8:])


# What stays ---------------------------------------------------------------------------------------

# The hash maps of a run: those whose entries are about a process, and the others.
OF_PROCESSES = {"targets", "processes"}
OF_PROCESSES_OF_HEAP = {"inflight", "live", "live_more", "holders", "peaks"}
OF_OTHERS = {"counts_even", "counts_odd"}


def hash_maps(run):
    """Those of a cprof: name -> id."""
    found, folder = {}, f"/proc/{run.pid}/fdinfo"
    for fd in os.listdir(folder):
        try:
            with open(os.path.join(folder, fd), encoding="utf-8") as file:
                number = re.search(r"^map_id:\t(\d+)$", file.read(), re.M)
        except OSError:
            continue  # a file of some process, closed meanwhile
        if number:
            shown = json.loads(h.silent([BPFTOOL, "-j", "map", "show", "id", number[1]], "map"))
            if shown["type"].endswith("hash"):
                found[shown["name"]] = number[1]
    return found


def maps_of(run):
    """The maps of a cprof that count by process: name -> id. A hash map that nobody has listed above fails the test, and so does one
    that is listed and not there. seen_processes is for kernels before Linux 5.11."""
    expected = OF_PROCESSES | (OF_PROCESSES_OF_HEAP if run.heap_rate else set())
    found = hash_maps(run)
    assert set(found) - {"seen_processes"} == expected | OF_OTHERS, sorted(found)
    return {name: number for name, number in found.items() if name not in OF_OTHERS}


def process_of(key):
    """The tgid in a key, whichever map's it is."""
    if isinstance(key, dict):
        return key["tgid"] if "tgid" in key else process_of(key["image"])
    return key >> 32 or key


def of_the_dead(number):
    """The processes that a map knows and that are not there any more."""
    entries = json.loads(h.silent([BPFTOOL, "-j", "map", "dump", "id", number], "map") or "[]")
    # one that goes while bpftool reads has an error for a value, or is not formatted
    known = {process_of(entry["formatted"]["key"]) for entry in entries
             if "formatted" in entry and "error" not in entry["value"]}
    return {tgid for tgid in known if not os.path.exists(f"/proc/{tgid}")}


MOST_MEMORY = 200 << 20
TABLE_OF = re.compile(r"^cprof: unwind table of (.*): [\d,]+ bytes")


def most_memory(run):
    """Bytes that cprof and the processes that work for it held in RAM, at most, all together."""
    held = {}
    for pid in (run.pid, *h.children(run.pid)):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/status", encoding="utf-8") as file:
            found = re.search(r"^Name:\s+(\S+)$.*^VmHWM:\s+(\d+) kB", file.read(), re.M | re.S)
            if found:  # a process that has ended has no memory
                held[f"{found[1]} {pid}"] = int(found[2]) << 10
    assert 0 < sum(held.values()) < MOST_MEMORY, held
    return sum(held.values())


def files_called(name):
    """Those that processes of this machine have mapped now: containers have a C library of their own, by the same name."""
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as file:
            found |= {tuple(line.split()[3:5]) for line in file if line.rstrip().endswith("/" + name)}
    return found


LIBC = "libc.so.6"


def is_parsed_once(ended, seen=None):
    """However many processes map a file, its unwind information is read once: that of the C library. seen: there are as many of these
    as processes had mapped before the run, or have now; without it, the run is about one process."""
    tables = [match[1] for match in ended.matches(TABLE_OF) if os.path.basename(match[1]) == LIBC]
    most = 1 if seen is None else len(seen | files_called(LIBC))
    assert 1 <= len(tables) <= most, (tables, most)


def nothing_stays(run):
    """Of the processes that are gone now; others come and go meanwhile."""
    maps, end = maps_of(run), time.monotonic() + h.HANGS
    gone = {name: of_the_dead(number) for name, number in maps.items()}
    for name, number in maps.items():
        while gone[name]:
            assert time.monotonic() < end, (name, gone[name])
            time.sleep(0.3)
            gone[name] &= of_the_dead(number)


@h.test
def nothing_stays_of_processes_that_went():
    """Thousands came, were sampled, and went: no map remembers one, and memory is bounded."""
    for command, options in ("record", ("-F", "999")), ("heap", ("--rate", "64", "--max-overhead", "100")):
        seen = files_called(LIBC)
        run = h.cprof(command, "-a", *options).attached()
        storms = [h.Workload("spawner", SECONDS_OF_STORM) for _ in range(2)]
        assert all(storm.says()["spawned"] for storm in storms)
        nothing_stays(run)
        most_memory(run)
        is_parsed_once(run.stop(), seen)


@h.test
def nothing_stays_of_a_family():
    """The same of a server and its workers, one after the other, some of which fork once more or execute another program; and of
    heap --peak, which keeps what each process held at its peak."""
    nr_workers = 400
    for command, *options in ("record", "-F", "999"), ("heap", "--peak", "--rate", "64", "--follow-fork"):
        server = h.Workload("forkserver", nr_workers)
        server.says()
        run = h.cprof(command, *options, "-p", server.pid).attached()
        server.go()
        server.says()
        nothing_stays(run)
        most_memory(run)
        done = run.stop()
        pids = h.labels(done.profile(), "pid")
        assert command == "record" or len(pids) > nr_workers, (len(pids), done.lines[-8:])


@contextlib.contextmanager
def mappings_allowed(nr):
    """So many in a process, on the whole machine; then as many as before."""
    path = "/proc/sys/vm/max_map_count"
    with open("/run/cprof-e2e-max-map-count", "w", encoding="utf-8") as lock, open(path, "r+", encoding="ascii") as file:
        fcntl.flock(lock, fcntl.LOCK_EX)
        before = file.read()
        try:
            if int(before) < nr:
                with open(path, "w", encoding="ascii") as raised:
                    raised.write(str(nr))
            yield
        finally:
            with open(path, "w", encoding="ascii") as restored:
                restored.write(before)


def stacks_of(profile, target):
    """The samples of a process, and those of them that reach its root."""
    samples = [s for s in profile["samples"] if s["labels"].get("pid") == target.pid]
    whole = [s for s in samples if "main" in s["stack"] and s["stack"][-1] == "_start"]
    return samples, whole


@h.test
def many_mappings_are_read_once():
    """As many as the kernel allows by default, 65,530, all of them changing: the list is read once, what lies above them all has names
    and whole stacks, memory is bounded, and the run ends."""
    if not shutil.which("strace"):
        raise h.Skip("no strace")
    path, trace = os.path.join(h.folder(), "pieces"), os.path.join(h.folder(), "trace")
    with open(path, "wb") as file:
        file.truncate(70000 * 4096)
    with mappings_allowed(65530):
        target = h.Workload("mapper", "churn", path, 69000)
        assert target.says()["mapped"] >= 65000
        run = h.cprof("record", "-F", "499", "-p", target.pid,
                      run_as=("strace", "-f", "--seccomp-bpf", "-qq", "-e", "trace=open,openat,openat2", "-o", trace)).attached()
        target.uses(0.5)
        most_memory(run)
        target.pauses()
        os.kill(helpers.child(run.pid, "cprof"), signal.SIGINT)
        done = run.wait()
    samples, whole = stacks_of(done.profile(), target)
    in_libc = [s for s in whole if {"mprotect", "__mprotect"} & set(s["stack"])]
    with open(trace, encoding="utf-8", errors="replace") as file:
        nr = file.read().count(f'"/proc/{target.pid}/maps"')
    assert h.count_of(whole) > 0.9 * h.count_of(samples) and in_libc, (len(whole), len(samples), done.lines[-6:])
    assert nr == 1, f"the list of mappings was read {nr} times"


@h.test
def more_mappings_than_usual():
    """128,198 executable ones, where an administrator allows them: what lies above them all has names and whole stacks."""
    path, nr = os.path.join(h.folder(), "page"), 128198
    with open(path, "wb") as file:
        file.write(b"\x7fELF" + bytes(5000))
    with mappings_allowed(nr + 1000):
        target = h.Workload("mapper", "same", path, nr)
        assert target.says() == {"mapped": nr}
    target.pauses()
    run = h.cprof("record", "-F", "999", "-p", target.pid).attached()
    target.uses(0.25)
    target.pauses()
    most_memory(run)
    done = run.stop()
    samples, whole = stacks_of(done.profile(), target)
    in_libc = [s for s in whole if {"random", "random_r"} & set(s["stack"])]
    assert h.count_of(whole) > 0.9 * h.count_of(samples) and in_libc, (len(whole), len(samples), done.lines[-6:])
    is_parsed_once(done)


# Where others leave no CPU ------------------------------------------------------------------------

def hog():
    """Busy on CPU 0, before all others."""
    return h.Workload("/usr/bin/taskset", "-c", "0", "nice", "-n", "-20", h.workload("hot"), 100)


@h.test
def a_run_ends_where_others_leave_no_cpu():
    """Beside two of the highest priority: cprof raises its own while it needs to, and no longer."""
    hogs, given = [hog() for _ in range(2)], os.getpriority(os.PRIO_PROCESS, 0)
    try:  # who waits here needs a CPU, too
        os.setpriority(os.PRIO_PROCESS, 0, -20)
        run = h.cprof("record", "-F", "499", "-d", "400ms", "-p", hogs[0].pid,
                      run_as=("taskset", "-c", "0", "nice", "-n", "20"))
        ended = run.wait()
        for each in hogs:
            each.pauses()
        assert ended.profile()["samples"]
    finally:
        os.setpriority(os.PRIO_PROCESS, 0, given)


@h.test
def the_priority_is_that_which_was_given():
    """While nobody is in the way; and a command gets what it would have had."""
    for given in (), ("nice", "-n", "5"):
        run = h.cprof("record", "-p", h.Workload("idle").pid, run_as=given).attached()
        expected = os.getpriority(os.PRIO_PROCESS, 0) + (5 if given else 0)
        if not run.said().count("nice -20 from now on"):  # a busy machine is in the way
            for pid in (run.pid, *h.children(run.pid)):  # those that parse files, too
                assert os.getpriority(os.PRIO_PROCESS, pid) == expected, pid
        run.stop()
        run = h.cprof("record", "--allow-empty", "--", "nice", run_as=given).wait()
        assert run.code == 0 and run.out.split() == [str(expected)], (run.out, expected)


h.main()
