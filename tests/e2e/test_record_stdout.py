#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""-o -: the profile on standard output, and everything that is said on standard error."""
import os
import pty

import harness as h


def recorded(*arguments, kind="record", check=0, by=(), **options):
    """What it wrote, and what it said; sampled until each of by had CPU time, or to its end."""
    run = h.cprof(kind, *arguments, **options)
    if by:
        run.attached()
        for target in by:
            target.uses(0.2)
    ended = run.stop() if by else run.wait()
    with open(run.says_path + ".out", "rb") as file:
        data = file.read()
    assert ended.code == check, (ended.code, ended.lines)
    return data, run.said()


def judged(data):
    path = os.path.join(h.folder(), "stdout.pb.gz")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
        file.write(data)
    return h.judge(path)


@h.test
def pprof_and_nothing_else():
    target = h.Workload("hot", 60)
    data, said = recorded("-F", "999", "-o", "-", "-p", target.pid, by=[target])
    target.pauses()
    profile = judged(data)
    assert h.share(profile, "samples", "hot") > 0.8
    assert "cprof: wrote standard output: " in said and "cprof: taken " in said, said
    assert "next:" not in said, said


@h.test
def every_process_in_one():
    target = h.Workload("hot", 60)
    folder = h.folder()
    data, _ = recorded("-F", "999", "-o", "-", "-a", by=[target], run_as=("env", "-C", folder))
    target.pauses()
    assert {"hot"} <= h.labels(judged(data), "comm")
    assert not os.listdir(folder), "a file or a folder was made"


@h.test
def other_formats_and_other_files():
    target = h.Workload("hot", 60)
    text, _ = recorded("-F", "999", "--format", "folded", "-o", "-", "-p", target.pid, by=[target])
    assert b"hot_b" in text and text.decode().splitlines()[0].rpartition(" ")[2].isdigit(), text[:200]
    page = os.path.join(h.folder(), "page.html")
    data, said = recorded("-F", "999", "-o", "-", "-o", page, "-p", target.pid, by=[target])
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
    run = h.cprof("record", "-F", "999", "-o", "-", "-p", target.pid, stdout=writing).attached()
    os.close(writing)
    target.uses(0.1)
    ended = run.stop()
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
    target.goes_on()
    _, said = recorded("-F", "999", "--format", "text", "-o", "-", "-a", check=2, by=[target, h.Workload("hot", 60)])
    assert "text holds only one process" in said, said


h.main()
