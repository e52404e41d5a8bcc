#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What unwinding costs on the running kernel, each figure beside its target: make bench-unwind.

Every figure is the median of several rounds, with their range: on a shared or virtual machine single
runs differ by a fifth. Nothing is asserted. How each is found:

 - BPF time: run_time_ns of the sampling program (kept while we hold a descriptor of
   BPF_ENABLE_STATS, as with the sysctl kernel.bpf_stats_enabled; tail calls are inside it, and the
   clock's own 20-30 ns too) over the program's own counters, read from cprof's map `stats`. Ticks of other processes and of idle CPUs cost something as well:
   that is measured with an idle target and subtracted.
 - runtimes: programs that run in a loop below 10 and 110 functions of theirs, with and without --no-RUNTIME. What 100 more
   take, less what their native frames take, is what interpreted frames cost.
 - start: from the fork of cprof to the first sample in that map, asked for every millisecond, of a
   target that never sleeps. Blind: ticks that came before it and were neither of others nor counted.
 - memory of maps: memlock in /proc/PID/fdinfo; slabs of tables are counted apart.
 - own cost: /proc/PID/schedstat (nanoseconds; utime has ticks), VmHWM, under a mixed load.
 - slowdown: pieces of work that a target does in the same CPU time with and without a profiler.

BENCH_ROUNDS=5 BENCH_SECONDS=30 (of the run for the own cost; all others last at most 3)
BENCH_ONLY=samples,runtimes,tables,wall,start,maps,own,slowdown
"""
import ctypes
import glob
import os
import re
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build"))
CPROF = os.environ.get("CPROF", os.path.join(BUILD, "cprof"))
DEEP = os.path.join(BUILD, "bench", "deep")
TABLES = os.path.join(BUILD, "bench", "bench_tables")
WALL = os.path.join(BUILD, "bench", "bench_wall")
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
LONG = float(os.environ.get("BENCH_SECONDS", "30"))
SHORT = min(3.0, LONG)

libc = ctypes.CDLL(None, use_errno=True)
SYS_BPF, SYS_PIDFD_OPEN, SYS_PIDFD_GETFD = 321, 434, 438
MAP_LOOKUP, ENABLE_STATS, STATS_RUN_TIME = 1, 32, 0
PROG_PERF_EVENT, MAP_ARRAY, MAP_PERCPU_ARRAY, MAP_OF_MAPS = 7, 2, 6, 12
SLAB_MB = 1

PYTHON_LOAD = """
import sys, time
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
limit = float(sys.argv[1]); sys.stdin.readline() if limit else None
end = time.process_time() + limit; nr = 0
while not limit or time.process_time() < end: fib(12); nr += 1
print(nr)
"""

# A loop below n functions: the command, without n.
RUNTIMES = {
    "python": (["python3", "-c", """
import sys
def down(n):
    if n: return down(n - 1)
    x = 1
    while True: x = x * x % 1000003
down(int(sys.argv[1]))"""], 220),
    "php": (["php", "-r", """
function down($n) { if ($n) return down($n - 1); $x = 1; while (true) $x = $x * $x % 1000003; }
down((int)$argv[1]);"""], 320),
    "ruby": (["ruby", "-e", """
def down(n)
  return down(n - 1) if n > 0
  x = 1
  x = x * x % 1000003 while true
end
down(ARGV[0].to_i)"""], 320),
    "perl": (["perl", "-e", """
sub down { my $n = shift; if ($n) { my $y = down($n - 1); return $y + 1 } my $x = 1; $x = $x * $x % 1000003 while 1 }
no warnings 'recursion'; down($ARGV[0]);"""], 320),
    "v8": (["node", "-e", """
function down(n) { if (n) return down(n - 1) + 1; let x = 1; while (true) x = x * x % 1000003; }
down(Number(process.argv[1]));"""], 250),
}

folder = None
started = []  # every process, to be ended whatever happens


# What is said --------------------------------------------------------------------------------------

def heading(text):
    print(f"\n{text:<58} {'median':>10}  {'range':<21} target", flush=True)


def row(name, values, target=None, unit="", at_least=False):
    """One line; values that are None could not be had."""
    values = [value for value in values if value is not None]
    if not values:
        print(f"  {name:<56} {'none':>10}", flush=True)
        return
    median = statistics.median(values)
    digits = 0 if median >= 1000 else 1 if median >= 20 else 2
    spread = f"{min(values):,.{digits}f} - {max(values):,.{digits}f}" if len(values) > 1 else ""
    goal = ""
    if target is not None:
        missed = median < target if at_least else median > target
        goal = f"{'>=' if at_least else '<='} {target:g} {unit}{'   MISSED' if missed else ''}"
    print(f"  {name:<56} {median:>10,.{digits}f}  {spread:<21} {goal}".rstrip(), flush=True)


# Processes -----------------------------------------------------------------------------------------

def start(*arguments, **options):
    process = subprocess.Popen(list(map(str, arguments)), text=True, **options)
    started.append(process)
    return process


def end(process):
    if process.poll() is None:
        process.kill()
    process.wait()


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def possible_cpus():
    return int(re.split("[-,]", read("/sys/devices/system/cpu/possible").strip())[-1]) + 1


def counters():
    """The index of each counter in the map `stats`, from the one place where they stand."""
    header = read(os.path.join(ROOT, "bpf", "cprof_abi.h"))
    names = re.findall(r"X\((\w+), \"", header.split("#define ABI_STATS(X)")[1].split("\n\n")[0])
    losses = re.findall(r"X\((\w+), \"", header.split("#define ABI_LOSSES(X)")[1].split("\n\n")[0])
    return {name: i for i, name in enumerate(names)}, len(names) + len(losses)


class Cprof:
    """A cprof under way, and what the kernel tells about its programs and maps."""

    index, nr_counters = counters()

    def __init__(self, *arguments):
        self.output = os.path.join(folder, "profile.pb.gz")
        self.log = open(os.path.join(folder, "log"), "w+", encoding="utf-8")
        self.started = time.monotonic()
        self.process = start(CPROF, "record", "-v", "-o", self.output, *arguments,
                             stderr=self.log, stdout=self.log)
        self.pid = self.process.pid
        self.pidfd = libc.syscall(SYS_PIDFD_OPEN, self.pid, 0)
        self.stats_fd = None

    def descriptors(self):
        """The fields of each BPF program and map that it holds, by descriptor."""
        base, found = f"/proc/{self.pid}/fdinfo", {}
        try:
            numbers = os.listdir(base)
        except OSError:
            return found
        for fd in numbers:
            fields = dict(re.findall(r"^(\w+):\s*(\d+)", read(f"{base}/{fd}"), re.M))
            if "map_id" in fields or "prog_type" in fields:
                found[int(fd)] = {name: int(value) for name, value in fields.items()}
        return found

    def steal(self, fd):
        """A descriptor of ours for one of its own, None if it is not there any more."""
        copy = libc.syscall(SYS_PIDFD_GETFD, self.pidfd, fd, 0)
        return copy if copy >= 0 else None

    def look_up(self, fd, key, len_bytes):
        key_bytes, value = ctypes.c_uint32(key), ctypes.create_string_buffer(len_bytes)
        attr = ctypes.create_string_buffer(struct.pack(
            "IIQQQ", fd, 0, ctypes.addressof(key_bytes), ctypes.addressof(value), 0), 128)
        return value.raw if not libc.syscall(SYS_BPF, MAP_LOOKUP, attr, 128) else None

    def stats(self):
        """The counters now, None if there are none yet."""
        if self.stats_fd is None:
            for fd, fields in self.descriptors().items():
                if (fields.get("map_type"), fields.get("value_size")) == \
                        (MAP_PERCPU_ARRAY, 8 * self.nr_counters):
                    self.stats_fd = self.steal(fd)
        if self.stats_fd is None:
            return None
        cpus = possible_cpus()
        raw = self.look_up(self.stats_fd, 0, 8 * self.nr_counters * cpus)
        words = struct.unpack(f"{self.nr_counters * cpus}Q", raw)
        sums = [sum(words[i::self.nr_counters]) for i in range(self.nr_counters)]
        return {name: sums[i] for name, i in self.index.items()} | \
            {"LOST": sum(sums[len(self.index):])}

    def run_time(self):
        """Nanoseconds and runs of the sampling program. One that is only tail called has no runs."""
        programs = [fields for fields in self.descriptors().values()
                    if fields.get("prog_type") == PROG_PERF_EVENT]
        best = max(programs, key=lambda fields: fields["run_cnt"], default=None)
        return (best["run_time_ns"], best["run_cnt"]) if best else (0, 0)

    def wait_for(self, counter, limit=20, pause=0.001):
        """Seconds from its start until the counter moved, and the counters then."""
        while time.monotonic() < self.started + limit and self.process.poll() is None:
            stats = self.stats()
            if stats and stats[counter]:
                return time.monotonic() - self.started, stats
            time.sleep(pause)
        return None, None

    def slabs(self):
        for fd, fields in self.descriptors().items():
            if fields.get("map_type") == MAP_OF_MAPS:
                copy = self.steal(fd)
                nr = sum(self.look_up(copy, i, 4) is not None for i in range(fields["max_entries"]))
                os.close(copy)
                return nr
        return 0

    def stop(self):
        """Ctrl-C; returns what it said."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self.process.wait(60)
        for fd in (self.pidfd, self.stats_fd):
            if fd is not None and fd >= 0:
                os.close(fd)
        self.log.seek(0)
        said = self.log.read()
        self.log.close()
        return said


# BPF time of a sample --------------------------------------------------------------------------------

def observe(pid, hz, seconds, *options):
    """Of a run: BPF ns a tick, the share of ticks that were samples, frames a sample."""
    cprof = Cprof("-p", pid, "-F", hz, *options)
    cprof.wait_for("TICKS")
    before, (ns_before, runs_before) = cprof.stats(), cprof.run_time()
    time.sleep(seconds)
    after, (ns, runs) = cprof.stats(), cprof.run_time()
    cprof.stop()
    if not before or not after or runs == runs_before:
        return None
    delta = {name: after[name] - before[name] for name in after}
    return ((ns - ns_before) / (runs - runs_before), delta["STORED"] / delta["TICKS"],
            delta["FRAMES"] / delta["STORED"] if delta["STORED"] else 0)


def filtered_ns(hz):
    idle = start("sleep", 1000)
    seen = observe(idle.pid, hz, SHORT / 2)
    end(idle)
    return seen[0] if seen else 0


def sample_ns(pid, hz, other_ns, *options):
    """(ns a sample, frames a sample)"""
    seen = observe(pid, hz, SHORT, *options)
    if not seen or not seen[1]:
        return None, None
    per_tick, share, frames = seen
    return (per_tick - other_ns * (1 - share)) / share, frames


def python_load(limit=0, **options):
    return start(sys.executable, "-c", PYTHON_LOAD, limit, **options)


def bench_samples():
    depths = (10, 25, 30, 100, 400)
    costs, others = {}, {997: [], 99: []}
    for _ in range(ROUNDS):
        for hz in (997, 99):
            others[hz].append(filtered_ns(hz))
        for name, hz, command in (
                *((depth, 997, [DEEP, depth]) for depth in depths),
                ("python3", 997, None), ("cold", 99, [DEEP, 26])):
            target = start(*command) if command else python_load()
            time.sleep(0.1)
            costs.setdefault(name, []).append(sample_ns(target.pid, hz, others[hz][-1]))
            end(target)
    show_samples(depths, costs, others)


def show_samples(depths, costs, others):
    def ns(name):
        return [cost for cost, _ in costs[name]]

    def frames(name):
        return statistics.median([nr for _, nr in costs[name] if nr] or [0])

    heading("BPF ns (run time of the sampling program)")
    row("a tick of another process or an idle CPU", others[997])
    for depth in depths:
        row(f"a sample of {frames(depth):.1f} frames at 997 Hz, all in", ns(depth),
            2500 if depth == 25 else None, "ns")
    for depth in depths:
        row(f"  the same, a frame (of {depth})", [a / b for a, b in costs[depth] if a and b])
    for low, high, target in ((10, 100, 45), (30, 100, 45), (100, 400, 45)):
        row(f"slope from {low} to {high} frames, ns a frame",
            [(b[0] - a[0]) / (b[1] - a[1]) for a, b in zip(costs[low], costs[high])
             if a[0] and b[0]], target, "ns")
    row(f"python3 (no frame pointers), {frames('python3'):.1f} frames at 997 Hz", ns("python3"))
    row(f"a sample of {frames('cold'):.1f} frames at 99 Hz: caches are cold", ns("cold"))


def sample_ns_of(hz, command, *options):
    """Of a process that is started for it."""
    other_ns = filtered_ns(hz)
    process = start(*command)
    time.sleep(0.3)
    ns, _ = sample_ns(process.pid, hz, other_ns, *options)
    end(process)
    return ns


def interpreted_ns(command, option):
    """(ns a function, ns a sample beside that), over what native frames take; None: not to be had."""
    over = []
    for depth in (10, 110):
        with_it, native = sample_ns_of(997, [*command, depth]), sample_ns_of(997, [*command, depth], option)
        if None in (with_it, native):
            return None, None
        over.append(with_it - native)
    return (over[1] - over[0]) / 100, over[0] - (over[1] - over[0]) / 10


def bench_runtimes():
    heading("BPF ns of interpreted functions, over the native frames")
    for runtime, (command, target) in RUNTIMES.items():
        if not shutil.which(command[0]):
            print(f"  {command[0]} is not installed")
            continue
        costs = [interpreted_ns(command, f"--no-{runtime}") for _ in range(ROUNDS)]
        row(f"{runtime}: a function", [function for function, _ in costs], target, "ns")
        row(f"{runtime}: a sample, beside its functions", [sample for _, sample in costs],
            1000 if runtime == "python" else None, "ns")
    options = [f"--no-{runtime}" for runtime in RUNTIMES]
    pairs = [(sample_ns_of(997, [DEEP, 100]), sample_ns_of(997, [DEEP, 100], *options)) for _ in range(ROUNDS)]
    row("a process without a runtime, 100 frames: % more",
        [100 * (a / b - 1) for a, b in pairs if None not in (a, b)], 1, "%")


# Tables --------------------------------------------------------------------------------------------

def library(stem):
    found = [name for name in os.listdir("/usr/lib/x86_64-linux-gnu") if name.startswith(stem)]
    return f"/usr/lib/x86_64-linux-gnu/{min(found)}" if found else None


def table_figures(path):
    """(bytes per FDE, build ms, FDEs, files) of a file or folder."""
    said = subprocess.run([TABLES, path], capture_output=True, text=True, check=False).stdout
    for line in said.splitlines()[1:]:
        fields = line.split()
        if len(fields) == 12:
            return float(fields[8]), float(fields[9]), int(fields[2]), int(fields[1])
    return None


def bench_tables():
    targets = ((library("libc.so.6"), 2), (shutil.which("node"), None), (library("libLLVM-14"), 50),
               ("/usr/lib", None))
    heading("Unwind tables")
    for path, target_ms in targets:
        rounds = [table_figures(path) for _ in range(ROUNDS)] if path else []
        if not rounds or not rounds[0]:
            print(f"  {path or 'node or libLLVM-14'}: not here")
            continue
        name = os.path.basename(path) if os.path.isfile(path) else \
            f"all {rounds[0][3]:,} files of {path}"
        row(f"{name}: bytes an FDE (of {rounds[0][2]:,})", [rounds[0][0]], 28, "B")
        row(f"{name}: build ms", [figures[1] for figures in rounds], target_ms, "ms")


# The process that parses -----------------------------------------------------------------------------

def bench_wall():
    heading("Parsed by another process: % more time than in the same one")
    rounds = {}
    for _ in range(ROUNDS):
        for line in subprocess.run([WALL], capture_output=True, text=True, check=True).stdout.splitlines():
            name, what, number, here, there = line.split()
            rounds.setdefault(f"{name}: {what} (of {int(number):,})", []).append((float(here), float(there)))
    for name, pairs in rounds.items():
        row(name + ", %", [100 * (there / here - 1) for here, there in pairs], 10, "%")
        row("  ms in the same one", [here for here, _ in pairs])


# Start ---------------------------------------------------------------------------------------------

def start_times(*which):
    """(its CPU ms until the first tick, ms to the first sample, ms between them, samples lost)"""
    cprof = Cprof(*which, "-F", 999)
    tick, _ = cprof.wait_for("TICKS")
    spent = cpu_seconds(cprof.pid)
    sample, _ = cprof.wait_for("STORED")
    time.sleep(0.3)
    stats = cprof.stats()
    cprof.stop()
    if not spent or sample is None or stats is None:
        return None, None, None, None
    return 1e3 * spent, 1e3 * sample, 1e3 * (sample - tick), stats["LOST"]


def bench_start():
    heading("Start to first stored sample (999 Hz, a target that never sleeps)")
    target = start(DEEP, 30)
    for which, name, goal in ((["-p", target.pid], "-p", 300), (["-a"], "-a", None)):
        times = [start_times(*which) for _ in range(ROUNDS)]
        row(f"{name}: ms to the first sample", [each[1] for each in times], goal, "ms")
        row(f"{name}: CPU ms of cprof until the first tick", [each[0] for each in times])
        row(f"{name}: blind: ms from the first tick to it", [each[2] for each in times], 2, "ms")
        row(f"{name}: samples lost", [each[3] for each in times], 0)
    end(target)


# Memory of maps ------------------------------------------------------------------------------------

def maps_mb(cprof):
    return sum(fields["memlock"] for fields in cprof.descriptors().values()
               if "map_id" in fields) / 2**20


def bench_maps():
    heading("Memory of maps (memlock)")
    idle, busy = start("sleep", 1000), start(DEEP, 30)
    for which, name in ((["-p", idle.pid], "-p of an idle process"), (["-a"], "-a")):
        cprof = Cprof(*which)
        cprof.wait_for("TICKS")
        time.sleep(1)
        row(f"{name}: MB of maps without tables", [maps_mb(cprof)], 8, "MB")
        row(f"{name}: MB of tables (1 MB slabs)", [cprof.slabs() * SLAB_MB])
        cprof.stop()
    end(idle)
    end(busy)


# Own cost ------------------------------------------------------------------------------------------

def compile_load():
    """gcc over and over: short-lived processes of a large program."""
    source = os.path.join(folder, "load.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write("#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n")
        for i in range(400):
            file.write(f"int f{i}(int x, char *s) {{ for (int i = 0; i < x; i++) "
                       f"if (s[i] == {i}) s[i] = strtol(s, &s, {2 + i % 30}); return strlen(s); }}\n")
    loop = f"while :; do gcc -O2 -c -o {folder}/load.o {source}; done"
    return start("sh", "-c", loop, start_new_session=True)


def family(pid):
    """A cprof and the processes that work for it."""
    found = [pid]
    for member in found:
        for tasks in glob.glob(f"/proc/{member}/task/*/children"):
            found += map(int, read(tasks).split())
    return found


def cpu_seconds(pid):
    """Of all threads of the family that live; None: it has ended."""
    spent = [read(path).split()[0] for member in family(pid) for path in glob.glob(f"/proc/{member}/task/*/schedstat")
             if read(path).split()]
    return sum(map(int, spent)) / 1e9 if spent else None


def resident_mb(pid):
    """Of the family; what several of them share counts once."""
    return sum(int(size) for member in family(pid)
               for size in re.findall(r"^Pss:\s*(\d+)", read(f"/proc/{member}/smaps_rollup"), re.M)) / 1024


def own_cost(seconds):
    """CPU s until the first tick, until the last; whole life; peak MB then, at the end."""
    cprof = Cprof("-a", "-F", 99)
    cprof.wait_for("TICKS")
    at_start = cpu_seconds(cprof.pid)
    peak = 0
    while time.monotonic() < cprof.started + seconds:
        peak = max(peak, resident_mb(cprof.pid))
        time.sleep(0.1)
    at_stop, peak_at_stop, slabs = cpu_seconds(cprof.pid), peak, cprof.slabs()
    cprof.process.send_signal(signal.SIGINT)
    whole = at_stop
    while cprof.process.poll() is None:
        peak, whole = max(peak, resident_mb(cprof.pid)), cpu_seconds(cprof.pid) or whole
        time.sleep(0.005)
    said = cprof.stop()
    summary = [line for line in said.splitlines() if re.match(r"cprof: (taken|stacks)", line)]
    return (at_start, at_stop, whole, peak_at_stop, peak, slabs), summary


def bench_own():
    heading(f"cprof's own cost: {LONG:g} s of -a at 99 Hz beside python3, gcc and a deep stack")
    loads = [python_load(), start(DEEP, 100), compile_load()]
    time.sleep(0.5)
    try:
        runs = [own_cost(LONG) for _ in range(min(3, ROUNDS))]
    finally:
        os.killpg(loads[2].pid, signal.SIGKILL)
        for load in loads:
            end(load)
    names = (("CPU s until the first tick", None, ""),
             ("CPU s until the last sample", 0.3, "s"),
             ("CPU s of its whole life: with names and files", None, ""),
             ("peak MB until the last sample", 40, "MB"), ("peak MB of its whole life", 40, "MB"),
             ("MB of tables", None, ""))
    for i, (name, target, unit) in enumerate(names):
        row(name, [figures[i] for figures, _ in runs], target, unit)
    for line in runs[-1][1]:
        print(f"    {line}")


# Slowdown of the target ----------------------------------------------------------------------------

def perf(mode):
    def attach(pid):
        data = os.path.join(folder, "perf.data")
        process = start("perf", "record", "-q", "-F", 999, "--call-graph", mode, "-p", pid,
                        "-o", data, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(1)
        return process, data
    return attach


def cprof_attached(pid):
    cprof = Cprof("-F", 999, "-p", pid)
    cprof.wait_for("TICKS")
    return cprof.process, cprof.output


def work_done(target, attach):
    """Pieces of work by a target that waits for a line, and bytes that the profiler wrote."""
    process, path = attach(target.pid) if attach else (None, None)
    said = target.communicate("\n")[0]
    if not process:
        return int(said), 0
    process.wait(60)
    size = os.path.getsize(path) if os.path.exists(path) else 0
    return int(said), size


def bench_slowdown():
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    profilers = {"bare": None, "cprof": cprof_attached}
    if shutil.which("perf"):
        profilers |= {"perf --call-graph fp": perf("fp"), "perf --call-graph dwarf": perf("dwarf")}
    heading(f"Slowdown at 999 Hz: % fewer pieces of work in {SHORT:g} s of the target's CPU time")
    if not shutil.which("perf"):
        print("  perf is not installed: cprof alone")
    for name, begin in (("deep, 100 frames", lambda: start(DEEP, 100, SHORT, **pipes)),
                        ("python3", lambda: python_load(SHORT, **pipes))):
        done = {profiler: [] for profiler in profilers}
        for _ in range(ROUNDS):
            for profiler, attach in profilers.items():
                done[profiler].append(work_done(begin(), attach))
        bare = statistics.median([pieces for pieces, _ in done["bare"]])
        for profiler, runs in done.items():
            row(f"{name}: {profiler}", [100 * (1 - pieces / bare) for pieces, _ in runs])
            if profiler != "bare":
                row(f"{name}: {profiler}, KB written", [size / 1024 for _, size in runs])


# ---------------------------------------------------------------------------------------------------

def run_all():
    parts = {"samples": bench_samples, "runtimes": bench_runtimes, "tables": bench_tables, "wall": bench_wall, "start": bench_start,
             "maps": bench_maps, "own": bench_own, "slowdown": bench_slowdown}
    wanted = os.environ.get("BENCH_ONLY", ",".join(parts)).split(",")
    print(f"Linux {os.uname().release}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}; "
          f"medians of {ROUNDS} rounds")
    for name, part in parts.items():
        if name in wanted:
            part()


def main():
    global folder
    if os.geteuid():
        sys.exit("bench_unwind: needs root")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    folder = tempfile.mkdtemp(prefix="cprof-bench-")
    attr = ctypes.create_string_buffer(struct.pack("I", STATS_RUN_TIME), 128)
    if libc.syscall(SYS_BPF, ENABLE_STATS, attr, 128) < 0:
        sys.exit("bench_unwind: this kernel keeps no BPF run times (Linux 5.8 does)")
    try:
        run_all()
    finally:
        for process in started:
            end(process)
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
