#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What cprof's profiles are worth to compilers, beside those of the compilers' own tools, in one run.

    bench_pgo.py        needs root

C (tests/pgo/lexer.c): clang -O2; with cprof's sample profile; with clang's instrumentation, which knows how often each
line ran, and costs a special build and a slow run. Go (tests/pgo/shapes.go): without a profile, with cprof's, with that of
runtime/pprof. The builds run in alternation; user time, the least and the median of ROUNDS, and beside the first build.
"""
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
CPROF = os.path.join(ROOT, "build/cprof")
ROUNDS = 15
ENV = {**os.environ, "GOTOOLCHAIN": "local", "GOPROXY": "off", "GO111MODULE": "off"}


def must(*command):
    done = subprocess.run(command, capture_output=True, text=True, env=ENV, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return done.stdout


def user_seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    must(*command)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def compare(title, builds):
    """builds: (what, command), the first is what the others are held against."""
    times = {what: [] for what, _ in builds}
    for _ in range(ROUNDS):
        for what, command in builds:
            times[what].append(user_seconds(command))
    print(f"{title}\n{'':34} least  median   of the first")
    first = statistics.median(times[builds[0][0]])
    for what, seconds in times.items():
        median = statistics.median(seconds)
        print(f"  {what:30} {min(seconds):6.3f}  {median:6.3f}  {100 * median / first:6.1f} %")


def bench_c(folder):
    source, at = os.path.join(ROOT, "tests/pgo/lexer.c"), os.path.join(folder, "lexer")
    build = ("clang", "-O2", "-g1", "-fdebug-info-for-profiling", source, "-o")
    must(*build, at)
    must(CPROF, "record", "-F", "3999", "-o", at + ".pb.gz", "--", at, "8000")
    must(CPROF, "convert", at + ".pb.gz", "-o", at + ".afdo.txt")
    must(*build, at + ".sampled", f"-fprofile-sample-use={at}.afdo.txt", "-mllvm", "-sample-profile-use-profi")
    must(*build, at + ".counting", f"-fprofile-instr-generate={at}.raw")
    must(at + ".counting", "4000")
    must("llvm-profdata", "merge", "-o", at + ".profdata", at + ".raw")
    must(*build, at + ".counted", f"-fprofile-instr-use={at}.profdata")
    compare("C: lexer", [(what, (at + name, "4000")) for what, name in
                         (("clang -O2", ""), ("with cprof's profile", ".sampled"), ("with clang's instrumentation", ".counted"))])


def bench_go(folder):
    source, at = os.path.join(ROOT, "tests/pgo/shapes.go"), os.path.join(folder, "shapes")
    must("go", "build", "-pgo=off", "-o", at, source)
    must(CPROF, "record", "-F", "999", "-o", at + ".pb.gz", "--", at, "200000", at + ".own.pb.gz")
    must("go", "build", f"-pgo={at}.pb.gz", "-o", at + ".cprof", source)
    must("go", "build", f"-pgo={at}.own.pb.gz", "-o", at + ".own", source)
    compare("Go: shapes", [(what, (at + name, "50000")) for what, name in
                           (("go build", ""), ("-pgo with cprof's profile", ".cprof"), ("-pgo with runtime/pprof's", ".own"))])


def main():
    with tempfile.TemporaryDirectory() as folder:
        bench_c(folder)
        if shutil.which("go") and [int(n) for n in re.findall(r"go1\.(\d+)", must("go", "version"))] >= [21]:
            bench_go(folder)
        else:
            print("Go: left out, since go build optimizes by profiles since 1.21")


main()
