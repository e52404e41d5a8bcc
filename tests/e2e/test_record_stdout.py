#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""-o -: the profile on standard output, and everything that is said on standard error."""
import os
import pty
import subprocess

import harness as h


def recorded(*arguments, kind="record", check=0, **options):
    done = subprocess.run([h.CPROF, kind, *map(str, arguments)], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=h.HANGS, **options)
    said = done.stderr.decode()
    assert done.returncode == check, (done.returncode, said)
    return done.stdout, said


def judged(data):
    path = os.path.join(h.folder(), "stdout.pb.gz")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
        file.write(data)
    return h.judge(path)


@h.test
def pprof_and_nothing_else():
    target = h.Workload("hot", 60)
    data, said = recorded("-F", "999", "-d", "500ms", "-o", "-", "-p", target.pid)
    target.pauses()
    profile = judged(data)
    assert h.share(profile, "samples", "hot") > 0.8
    assert "cprof: wrote standard output: " in said and "cprof: taken " in said, said
    assert "next:" not in said, said


@h.test
def every_process_in_one():
    target = h.Workload("hot", 60)
    folder = h.folder()
    data, _ = recorded("-F", "999", "-d", "500ms", "-o", "-", "-a", cwd=folder)
    target.pauses()
    assert {"hot"} <= h.labels(judged(data), "comm")
    assert not os.listdir(folder), "a file or a folder was made"


@h.test
def other_formats_and_other_files():
    target = h.Workload("hot", 60)
    text, _ = recorded("-F", "999", "-d", "500ms", "--format", "folded", "-o", "-", "-p", target.pid)
    assert b"hot_b" in text and text.decode().splitlines()[0].rpartition(" ")[2].isdigit(), text[:200]
    page = os.path.join(h.folder(), "page.html")
    data, said = recorded("-F", "999", "-d", "500ms", "-o", "-", "-o", page, "-p", target.pid)
    target.pauses()
    assert h.share(judged(data), "samples", "hot") > 0.8 and os.path.exists(page), said


@h.test
def heap_of_a_command_that_talks():
    """What the command writes to its standard output goes to standard error."""
    data, said = recorded("--rate", "1", "-o", "-", "--", h.workload("sizes"), kind="heap")
    assert h.total(judged(data), "alloc_objects") > 0
    assert "{" in said, said


@h.test
def reader_that_goes_away():
    target = h.Workload("stacks", 60)
    reading, writing = os.pipe()
    os.close(reading)
    run = h.cprof("record", "-F", "999", "-d", "500ms", "-o", "-", "-p", target.pid, stdout=writing)
    os.close(writing)
    ended = run.wait()
    assert ended.code == 2, ended.code
    assert any("write to standard output: Broken pipe" in line for line in ended.lines), ended.lines


@h.test
def refused():
    """A terminal, where it is binary; and more than one file."""
    target = h.paused("hot", 60)
    ours, terminal = pty.openpty()
    for kind in ("record", "heap"):
        run = h.cprof(kind, "-o", "-", "-p", target.pid, verbose=False, stdout=terminal)
        run.wait().refused(2, "terminal")
    os.close(ours)
    os.close(terminal)
    for more in (("--interval", "1s"), ("--format", "proto,folded"), ("-o", "-")):
        run = h.cprof("record", *more, "-o", "-", "-p", target.pid, verbose=False)
        run.wait().refused(2, "single file|twice")
    h.cprof("heap", "--views", "-o", "-", "-p", target.pid, verbose=False).wait().refused(2, "single file")
    h.Workload("hot", 60)
    target.goes_on()
    _, said = recorded("-F", "999", "-d", "500ms", "--format", "text", "-o", "-", "-a", check=2)
    assert "text holds only one process" in said, said


h.main()
