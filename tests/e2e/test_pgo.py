#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compilers optimize by cprof's profiles: Go's as by those of runtime/pprof, clang by its sample profiles."""
import os
import re
import shutil
import subprocess

import harness as h

PROGRAMS = os.path.join(h.ROOT, "tests/pgo")


def go(*arguments):
    """Offline, with the toolchain that is there. What the compiler says."""
    done = subprocess.run(["go", *arguments], capture_output=True, text=True, timeout=h.HANGS, check=False,
                          env={**os.environ, "GOTOOLCHAIN": "local", "GOPROXY": "off", "GO111MODULE": "off"})
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@h.test
def go_inlines_what_it_does_by_its_own_profile():
    """Of the same run: the decisions that depend on what is hot are the same."""
    if not shutil.which("go") or [int(n) for n in re.findall(r"go1\.(\d+)", go("version"))] < [21]:
        raise h.Skip("go optimizes by profiles since 1.21")
    folder = h.folder()
    program, own = os.path.join(folder, "shapes"), os.path.join(folder, "own.pb.gz")
    source = os.path.join(PROGRAMS, "shapes.go")
    go("build", "-pgo=off", "-o", program, source)
    run = h.cprof("record", "-F", "999", "--", program, "150000", own).wait()
    decisions = {}
    for path in (run.output, own):
        said = go("build", "-pgo=off", f"-gcflags=-pgoprofile={path} -d=pgodebug=1", "-o", program + ".new", source)
        decisions[path] = sorted(line for line in said.splitlines() if line.startswith(("hot-node", "hot-budget")))
    assert decisions[run.output] == decisions[own], decisions
    text = "\n".join(decisions[own])
    for name in (r"main\.mix\[go\.shape\.int\]", r"main\.\(\*square\)\.area"):
        assert re.search(rf"allows inlining for call {name} .* in function main\.loop", text), text
    assert "main.setup" not in text, text


def clang(out, *flags):
    """Of lexer.c; which calls it inlined: "callee into caller"."""
    done = subprocess.run(["clang", "-O2", "-g1", "-fdebug-info-for-profiling", "-Rpass=inline", *flags, "-o", out, os.path.join(PROGRAMS, "lexer.c")],
                          capture_output=True, text=True, timeout=h.HANGS, check=False)
    assert done.returncode == 0, done.stderr
    return set(re.findall(r"remark: '(\w+)' inlined into '(\w+)'", done.stderr)), done.stderr


@h.test
def clang_inlines_what_is_hot():
    """A function that it takes for too large otherwise; not what never runs."""
    if not shutil.which("llvm-profdata"):
        raise h.Skip("no llvm-profdata")
    program = os.path.join(h.folder(), "lexer")
    text, data = program + ".afdo.txt", program + ".profdata"
    before, _ = clang(program)
    run = h.cprof("record", "-F", "999", "--", program, "4000").wait()
    h.run_cprof("convert", run.output, "-o", text, text=False)
    subprocess.run(["llvm-profdata", "merge", "--sample", text, "-o", data], check=True, timeout=h.HANGS)
    after, said = clang(program + ".new", f"-fprofile-sample-use={data}")
    assert ("next", "parse") not in before, before
    assert ("next", "parse") in after, after
    assert ("fail", "next") in before and ("fail", "next") not in after, (before, after)
    assert "warning" not in said, said


h.main()
