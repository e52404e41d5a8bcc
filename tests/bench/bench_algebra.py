#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Reading, writing and merging large profiles, beside `go tool pprof -proto`, in one run.

    tests/bench/bench_algebra.py [RUNS]

The profiles are generated (tests/oracle/family.go): runs of one program, three thousand functions,
stacks 6 to 36 deep that seldom recur, which is the worst case for merging. Of several runs the best
counts, for each of the figures. The result of each merge is compared by pprof's own package.

Figures, no verdicts: they hold for this machine, and others may be using it. Targets: 10 times as fast,
a quarter of the memory.
"""
import glob
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build"))
CPROF = os.path.join(BUILD, "cprof")
ORACLE = os.path.join(BUILD, "oracle", "oracle")
RUNS = int(sys.argv[1]) if len(sys.argv) > 1 else 3

# name, files, samples in each, cprof's command
CASES = (("read and write, 10 MB", 1, 250_000, "convert"),
         ("read and write, 1 M samples", 1, 1_000_000, "convert"),
         ("make compact, 10 MB", 1, 250_000, "merge"),
         ("merge 10 files of 1 MB", 10, 20_000, "merge"),
         ("merge 100 files of 1 MB", 100, 20_000, "merge"))


def measure(command):
    """(seconds of the clock, seconds of CPU, bytes at most)"""
    began = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        said = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command[:3]}: {said.decode()[-500:]}")
    return time.monotonic() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def best(command):
    return tuple(map(min, zip(*(measure(command) for _ in range(RUNS)))))


def show(who, figures, beside=None):
    wall, cpu, size = figures
    line = f"  {who:14} {wall:8.2f} s {cpu:8.2f} s CPU {size / 1e6:8.0f} MB"
    if beside:
        line += f"   {beside[0] / wall:5.1f} x {beside[1] / cpu:5.1f} x   1/{beside[2] / size:.1f}"
    print(line, flush=True)


def run_case(folder, name, nr_files, nr_samples, command):
    made = os.path.join(folder, f"{nr_files}-{nr_samples}")
    if not os.path.isdir(made):
        os.mkdir(made)
        subprocess.run([ORACLE, "family", "1", str(nr_files), made, str(nr_samples)], check=True)
    paths = sorted(glob.glob(os.path.join(made, "*")))
    judge, ours = os.path.join(folder, "judge.pb.gz"), os.path.join(folder, "cprof.pb.gz")
    size = sum(map(os.path.getsize, paths)) / 1e6
    print(f"{name}: {len(paths)} files, {size:.1f} MB", flush=True)
    pprof = best(["go", "tool", "pprof", "-proto", f"-output={judge}", *paths])
    show("go tool pprof", pprof)
    show("cprof", best([CPROF, command, *paths, "-o", ours]), pprof)
    same = subprocess.run([ORACLE, "compare", judge, ours], capture_output=True, text=True, check=False)
    if len(paths) > 1 and len(paths) <= 10 and same.returncode:
        print(f"  not the same: {same.stdout[:200]}")
    print(f"  written: {os.path.getsize(judge) / 1e6:.1f} and {os.path.getsize(ours) / 1e6:.1f} MB")


def main():
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            run_case(folder, *case)


main()
