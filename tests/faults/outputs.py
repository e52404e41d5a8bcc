# SPDX-License-Identifier: BSD-2-Clause
"""F18 to F20: files that cannot be written. The file that was there stays, and no other is left."""
import os
import subprocess

import harness as h
from fault import USAGE, existing, fault, mounted, words

OLD = b"an older file"
WHAT = {"record": ("-F", "1999", "-d", "2s"), "heap": ("--rate", "1", "-d", "2s")}


def old_file(folder):
    path = os.path.join(folder, "old")
    with open(path, "wb") as file:
        file.write(OLD)
    return path


def busy(kind):
    if kind == "record":
        return h.Workload("stacks", 60)
    target = h.Workload("churn", "0", "2")
    target.says()
    target.go()
    return target


def start(kind, path, **options):
    return h.cprof(kind, "--format", "proto", *WHAT[kind], "-p", busy(kind).pid, output=path, **options)


def start_large(kind, path, **options):
    """A run whose profile has more than 4 KB, however busy the machine is."""
    what = {"record": ("-F", "1999", "--", h.workload("stacks"), "1"), "heap": ("--rate", "1", "--", "/usr/bin/python3", "-c", "1")}
    return h.cprof(kind, "--format", "proto", *what[kind], output=path, **options)


def cannot_write(run, path, pattern):
    """It ends with the code of a file that cannot be written, says so, and the older file is there alone."""
    ended = run.wait()
    assert ended.code == USAGE and any(pattern in line for line in ended.lines), (ended.code, ended.lines)
    with open(path, "rb") as file:
        assert file.read() == OLD
    assert os.listdir(os.path.dirname(path)) == [os.path.basename(path)], os.listdir(os.path.dirname(path))
    return next(line for line in ended.lines if pattern in line)


@fault
def f18_no_space():
    """the disk is full: a file system of 4 KB, which an older file takes"""
    for kind in WHAT:
        with mounted("-o", "size=4k") as folder:
            path = old_file(folder)
            seen = cannot_write(start(kind, path), path, "No space left on device")
    return f"exit {USAGE}, {seen}"


@fault
def f19_file_too_large():
    """the file is larger than RLIMIT_FSIZE, 4 KB; standard output is /dev/full"""
    existing("test_cli_bad", "files_have_a_largest_size")
    for kind in WHAT:
        path = old_file(h.folder())
        seen = cannot_write(start_large(kind, path, verbose=False, run_as=("prlimit", "--fsize=4096")), path, "File too large")
        with open("/dev/full", "wb") as full:
            ended = start(kind, "-", stdout=full).wait()
        assert ended.code == USAGE and any("No space left" in line for line in ended.lines), (ended.code, ended.lines)
    return f"exit {USAGE}, {seen}"


@fault
def f20_broken_pipe_and_read_only():
    """standard output is a pipe that nobody reads; the file system is read-only, or becomes so"""
    existing("test_record_stdout", "reader_that_goes_away")
    for kind in WHAT:
        with mounted() as folder:
            path = old_file(folder)
            run = start(kind, path).attached()
            subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
            seen = cannot_write(run, path, "Read-only file system")
            cannot_write(start(kind, path), path, "Read-only file system")
    return f"exit {USAGE}, {seen}"
