#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What `cprof heap` costs its target, beside its peers, in one run on this machine (root).

Two targets: jq reading a generated 16 MB file (2.2 million pairs of malloc and free: one in 0.3 us), and
tests/e2e/workloads/pairs.c, two threads that do nothing but malloc and free. Each is held until the
profiler is attached, so that what is timed is the target and not the profiler's start. Of several
runs the best counts (memleak has one). A peer that is not installed, or does not work here, is said to be so.

Figures, no verdicts: they hold for this machine, and others may be using it.
"""
import functools
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build"))
CPROF = os.path.join(BUILD, "cprof")
JEMALLOC = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"
FILE_BYTES = 16 << 20
NEVER = str(1 << 40)  # a rate at which nothing is sampled
RUNS = 3
SECONDS_TO_ATTACH = 60


class Unavailable(Exception):
    """This peer cannot be measured here; says why."""


def write_json(path):
    row = {"id": 0, "name": "somebody", "tags": ["a", "b", "c"], "at": {"x": 1.5, "y": -2}, "on": True}
    with open(path, "w", encoding="utf-8") as file:
        file.write("[\n")
        number = 0
        while file.tell() < FILE_BYTES:
            row["id"], row["name"] = number, f"somebody {number * 7919 % 1000003}"
            file.write((",\n" if number else "") + json.dumps(row))
            number += 1
        file.write("\n]\n")


def reason_in(text):
    """The line of what a profiler said that tells most."""
    lines = text.splitlines()
    telling = [line for line in lines if "Unable" in line or "rror" in line or "Failed" in line]
    return (telling or lines or ["it says nothing"])[0][:120]


# Profilers ---------------------------------------------------------------------------------------

class Nobody:
    """No profiler; also the base of those that a target is launched under."""

    runs = RUNS

    def __init__(self, name, prefix=(), env=None):
        self.name, self.prefix, self.env = name, list(prefix), env or {}

    def attach(self, pid, folder):
        del pid, folder

    def detach(self):
        pass


class Attached(Nobody):
    """One that attaches: command, pid, and what it says on stream once it has."""

    def __init__(self, name, command, ready, settle_seconds=0.0):
        super().__init__(name)
        self.command, self.ready, self.process = command, ready, None
        self.settle_seconds = settle_seconds  # from when it says so until it has

    def attach(self, pid, folder):
        with open(os.path.join(folder, "said"), "wb") as said:
            self.process = subprocess.Popen([*self.command, "-p", str(pid)], stdout=said, cwd=folder,
                                            stderr=subprocess.STDOUT, env={**os.environ, "PYTHONUNBUFFERED": "1"})
        end = time.monotonic() + SECONDS_TO_ATTACH
        while time.monotonic() < end:
            with open(os.path.join(folder, "said"), encoding="utf-8", errors="replace") as said:
                text = said.read()
            if self.ready in text:
                time.sleep(self.settle_seconds)
                if self.process.poll() is None:
                    return
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        self.detach()
        raise Unavailable(reason_in(text))

    def detach(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def cprof(name, *options):
    return Attached(name, [CPROF, "heap", "-v", "-o", "heap.pb.gz", *options], "sampling")


def find(command):
    path = shutil.which(command, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin:/usr/share/bcc/tools")
    if not path:
        raise Unavailable("not installed")
    return path


# Debian 12's python3-bpfcc 0.26 forgets the last argument of its library's bpf_attach_uprobe(), which
# then is whatever the register held, and the kernel refuses it.
MEMLEAK = """
import bcc, runpy, sys
library = bcc.lib
class Mended:
    def __getattr__(self, name):
        return getattr(library, name)
    def bpf_attach_uprobe(self, *arguments):
        return library.bpf_attach_uprobe(*arguments, 0)
bcc.lib = Mended()
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@functools.cache
def kernel_headers():
    """What bcc compiles its programs with: for this one, that reads registers only, another kernel's
    will do. Debian's are in two places, and bcc wants one. None: it finds them."""
    if "BCC_KERNEL_SOURCE" in os.environ or os.path.exists(f"/lib/modules/{os.uname().release}/build"):
        return None
    built = glob.glob("/usr/src/linux-headers-*-amd64")
    if not built:
        raise Unavailable("no kernel headers (apt-get install linux-headers-cloud-amd64)")
    merged = tempfile.TemporaryDirectory(prefix="cprof-bench-")
    common = re.sub("-[a-z]*-?amd64$", "-common", built[0])
    for part in (common, built[0]):
        subprocess.run(["cp", "-rsf", part + "/.", merged.name], check=True)
    return merged


def memleak():
    """bcc's, which compiles its program here."""
    for name in ("memleak-bpfcc", "memleak"):
        try:
            path = find(name)
        except Unavailable:
            continue
        headers = kernel_headers()
        environment = [f"BCC_KERNEL_SOURCE={headers.name}"] if headers else []
        profiler = Attached("bcc memleak", ["env", *environment, "/usr/bin/python3", "-c", MEMLEAK, path],
                            "Attaching to pid", 8)
        profiler.runs = 1  # a minute or two
        return profiler
    raise Unavailable("not installed")


def heaptrack():
    return Nobody("heaptrack", [find("heaptrack")])


def jemalloc(profile):
    options = "prof:true,prof_active:true,lg_prof_sample:19,prof_prefix:jeprof" if profile else ""
    if not os.path.exists(JEMALLOC):
        raise Unavailable("not installed")
    env = {"LD_PRELOAD": JEMALLOC, "MALLOC_CONF": options}
    said = subprocess.run(["true"], env={**os.environ, **env}, stderr=subprocess.PIPE, check=False).stderr
    if said:
        raise Unavailable("built without profiling: " + " ".join(said.decode().split())[:60])
    return Nobody("jemalloc, prof:true" if profile else "jemalloc, bare", env=env)


# By the names that their rows have.
PROFILERS = {
    "bare": lambda: Nobody("bare"),
    "cprof, attached": lambda: cprof("cprof, attached"),
    "cprof, --follow-fork": lambda: cprof("cprof, --follow-fork", "--follow-fork"),
    "cprof, --alloc-only": lambda: cprof("cprof, --alloc-only", "--alloc-only"),
    "cprof, --rate 1": lambda: cprof("cprof, --rate 1", "--rate", "1"),
    "cprof, multi links": lambda: cprof("cprof, multi links", "--limit", "attach_mode=2"),
    "cprof, perf uprobes": lambda: cprof("cprof, perf uprobes", "--limit", "attach_mode=1"),
    "bcc memleak": memleak,
    "heaptrack": heaptrack,
    "jemalloc, bare": lambda: jemalloc(False),
    "jemalloc, prof:true": lambda: jemalloc(True),
}


# Targets -----------------------------------------------------------------------------------------

def run_jq(profiler, folder, path):
    """Seconds. The shell waits for a line, so that there is a pid to attach to, and becomes jq."""
    shell = ["sh", "-c", 'read -r _; exec "$@"', "sh", *profiler.prefix, "jq", "length", path]
    target = subprocess.Popen(shell, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, cwd=folder,
                              stderr=subprocess.DEVNULL, env={**os.environ, **profiler.env})
    try:
        profiler.attach(target.pid, folder)
        start = time.monotonic()
        target.stdin.write(b"\n")
        target.stdin.close()
        if target.wait(300):
            raise Unavailable(f"jq ended with {target.returncode}")
        return time.monotonic() - start
    finally:
        target.kill()
        target.wait()
        profiler.detach()


def run_pairs(profiler, folder, *arguments):
    """What the workload says of itself."""
    target = subprocess.Popen([*profiler.prefix, os.path.join(BUILD, "workloads", "pairs"), *arguments],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder, text=True,
                              stderr=subprocess.DEVNULL, env={**os.environ, **profiler.env})
    try:
        next(line for line in target.stdout if '"ready"' in line)  # heaptrack talks, too
        profiler.attach(target.pid, folder)
        target.stdin.write("\n")
        target.stdin.close()
        says = json.loads(next(line for line in target.stdout if "pair_ns" in line))
        target.wait(60)
        return says
    finally:
        target.kill()
        target.wait()
        profiler.detach()


def best(run, make, key=lambda result: result):
    results, wanted = [], 1
    while len(results) < wanted:
        profiler = make()
        wanted = profiler.runs
        with tempfile.TemporaryDirectory(prefix="cprof-bench-") as folder:
            results.append(run(profiler, folder))
    return min(results, key=key)


def measure(name, make, path):
    """(name, seconds of jq, ns of a pair), or (name, why not)."""
    try:
        seconds = best(lambda profiler, folder: run_jq(profiler, folder, path), make)
        pairs = best(lambda profiler, folder: run_pairs(profiler, folder, "2", "5000"), make,
                     lambda says: says["pair_ns"])
        return name, seconds, pairs["pair_ns"]
    except Unavailable as reason:
        return name, str(reason)


def print_table(rows):
    bare = rows[0]
    print(f"{'':22}{'jq, 16 MB':>12}{'x bare':>9}{'2 threads':>14}")
    for row in rows:
        if len(row) == 2:
            print(f"{row[0]:22}  cannot be measured here: {row[1]}")
            continue
        name, seconds, pair_ns = row
        print(f"{name:22}{seconds:10.2f} s{seconds / bare[1]:9.1f}{pair_ns:9.0f} ns/pair")
    known = {row[0]: row for row in rows if len(row) == 3}
    ours, theirs = known.get("cprof, attached"), known.get("bcc memleak")
    print(f"\njq, cprof attached: {ours[1] / bare[1]:.1f} x bare (wanted: at most 5)")
    if theirs:
        cost, other = ours[1] - bare[1], theirs[1] - bare[1]
        print(f"jq, memleak's time / cprof's: {theirs[1] / ours[1]:.1f}, of what they add: "
              f"{other / cost:.1f} (wanted: at least 7)")


def print_single_calls():
    def one(make):
        return best(lambda profiler, folder: run_pairs(profiler, folder, "1", "5000"), make,
                    lambda says: says["pair_ns"])

    bare = one(lambda: Nobody("bare"))
    none = one(lambda: cprof("none", "--rate", NEVER))
    every = one(lambda: cprof("every", "--rate", "1"))
    sampled = every["malloc_ns"] - bare["malloc_ns"]
    freed = every["free_ns"] - none["free_ns"]
    print("\none thread, ns             bare  unsampled    sampled")
    for what in ("malloc", "free"):
        key = f"{what}_ns"
        print(f"{what:22}{bare[key]:9.1f}{none[key]:11.0f}{every[key]:11.0f}")
    print(f"{'free(NULL)':22}{bare['null_ns']:9.1f}{none['null_ns']:11.1f}{every['null_ns']:11.1f}")
    print(f"\na sampled allocation: {sampled / 1000:.2f} us (wanted: at most 3)")
    print(f"a sampled free, over the trap: {freed / 1000:.2f} us (wanted: at most 0.5)")
    print(f"free(NULL): {'never traps' if none['null_ns'] < 50 else 'TRAPS'}")


def print_own_account():
    """What cprof says it took, beside what the target's own clock says: of the same work without and with it, in turns."""
    program, pairs, spins = os.path.join(BUILD, "workloads", "fixed"), "150000", "2000"

    def seconds(*prefix):
        done = subprocess.run([*prefix, program, pairs, spins], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)["cpu_seconds"], done.stderr

    shares = []
    with tempfile.TemporaryDirectory(prefix="cprof-bench-") as folder:
        for _ in range(RUNS):
            bare, _ = seconds()
            probed, said = seconds(CPROF, "heap", "--mode", "probe", "--allow-empty", "-o", os.path.join(folder, "x.pb.gz"), "--")
            took = re.search(r"profiling took (?:about |less than )(\d+) %", said)
            shares.append((int(took[1]) if took else 0, 100 * (1 - bare / probed)))
    print("\nwhat cprof says it took of the target's CPU time, and what the target says: "
          + ", ".join(f"{said} % / {true:.0f} %" for said, true in shares))


def slab_bytes():
    with open("/proc/meminfo", encoding="utf-8") as file:
        return 1024 * int(re.search(r"^SUnreclaim: +(\d+) kB$", file.read(), re.M)[1])


def live_bytes(pid):
    """By the kernel's account of the maps of live blocks."""
    total = 0
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        with open(f"/proc/{pid}/fdinfo/{fd}", encoding="utf-8") as file:
            row = dict(re.findall(r"^(\w+):\t(\w+)$", file.read(), re.M))
        if (row.get("map_type"), row.get("key_size"), row.get("value_size")) == ("1", "16", "8"):
            total += int(row["memlock"])
    if not total:
        raise Unavailable("there are no such maps")
    return total


def print_live_memory():
    """A million live blocks. The map's own account leaves out what the slab allocator rounds up to, and
    the table of who is charged; the growth of all slabs has that, but not the map's buckets."""
    profiler = cprof("cprof", "--rate", "1")
    with tempfile.TemporaryDirectory(prefix="cprof-bench-") as folder:
        target = subprocess.Popen([os.path.join(BUILD, "workloads", "hoard"), "1000000"], text=True,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            target.stdout.readline()
            profiler.attach(target.pid, folder)
            slabs, empty = slab_bytes(), live_bytes(profiler.process.pid)
            target.stdin.write("\n")
            target.stdin.flush()
            target.stdout.readline()  # full
            grown, full = slab_bytes() - slabs, live_bytes(profiler.process.pid)
        except Unavailable as reason:
            print(f"\na live sampled block: cannot be measured here: {reason}")
            return
        finally:
            target.kill()
            target.wait()
            profiler.detach()
    print(f"\na million live sampled blocks, bytes of kernel memory for each (wanted: at most 128):\n"
          f"by the map's account {full / 1e6:.0f}; by the growth of slabs, and buckets "
          f"{(grown + empty) / 1e6:.0f}")


def main():
    if os.geteuid() != 0:
        sys.exit("bench-heap: attaching needs root")
    if not shutil.which("jq"):
        sys.exit("bench-heap: jq is missing (apt-get install jq)")
    with tempfile.TemporaryDirectory(prefix="cprof-bench-") as folder:
        path = os.path.join(folder, "file.json")
        write_json(path)
        rows = []
        for name, make in PROFILERS.items():
            rows.append(measure(name, make, path))
            print(f"measured {rows[-1][0]}", file=sys.stderr)
        print_table(rows)
    print_single_calls()
    print_own_account()
    print_live_memory()


if __name__ == "__main__":
    main()
