#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What somebody meets who does not know cprof yet: help, slips of the hand, no file given."""
import os
import re
import subprocess

import harness as h
from madeup import madeup

COMMANDS = ["record", "heap", "info", "lint", "merge", "diff", "top", "tree", "peek", "flame", "convert", "check",
            "bench", "doctor"]


def cprof(*arguments, status=0, folder=None):
    done = subprocess.run([h.CPROF, *arguments], capture_output=True, text=True, timeout=h.HANGS, check=False,
                          cwd=folder or h.folder(), stdin=subprocess.DEVNULL)
    assert done.returncode == status, (arguments, done)
    return done


def refused(*arguments, folder=None):
    done = cprof(*arguments, status=2, folder=folder)
    assert not done.stdout and done.stderr.count("\n") == 1 and done.stderr.startswith("cprof: "), (arguments, done)
    return done.stderr


@h.test
def help_and_version():
    whole = cprof("--help").stdout
    assert cprof("help").stdout == whole == cprof("-h").stdout
    assert re.findall(r"^  (\w+) ", whole, re.M) == COMMANDS, whole
    for command in COMMANDS:
        said = cprof("help", command).stdout
        assert said.startswith(f"usage: cprof {command} ") and said == cprof(command, "--help").stdout
    assert cprof("version").stdout == cprof("--version").stdout == cprof("-V").stdout
    assert cprof("report", "--help").stdout == cprof("top", "--help").stdout
    assert cprof("help", "report").stdout == cprof("top", "--help").stdout


@h.test
def commands_that_are_almost_right():
    for typed, meant in (("recrod", "record"), ("repotr", "report"), ("tpo", "top"), ("flamegraph", "flame"),
                         ("conv", "convert"), ("hepl", "help"), ("verison", "version"), ("script", "convert"),
                         ("memory", "heap")):
        assert f"Did you mean cprof {meant}" in refused(typed), typed
        assert f"Did you mean cprof {meant}" in refused("help", typed), typed
    assert "Did you mean" not in refused("frobnicate")
    assert "give a command first" in refused("-p", "1")
    folder = h.folder()
    with open(f"{folder}/cpu.pb.gz", "wb") as file:
        file.write(madeup(1))
    assert "cprof top cpu.pb.gz" in refused("cpu.pb.gz", folder=folder)
    assert "\x1b" not in refused("\x1b[31m")


@h.test
def options_that_are_almost_right():
    for command in ("top", "tree", "flame", "convert", "diff"):
        assert "Did you mean --focus?" in refused(command, "--fcous=main", "x"), command
    assert "Did you mean --frequency?" in refused("record", "--freqency", "9", "-a")
    assert "--rate is an option of cprof heap" in refused("record", "--rate", "9", "-a")
    assert "--no-kernel is an option of cprof record" in refused("heap", "--no-kernel", "-a")
    assert "see cprof top --help" in refused("top", "--xyzzy", "x")
    assert "see cprof top --help" in refused("top", "-Z", "x")


def put(folder, name, age_s, data=None):
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(madeup(1) if data is None else data)
    os.utime(path, (1_700_000_000 - age_s,) * 2)
    return path


@h.test
def the_newest_profile():
    folder = h.folder()
    for command in (["top"], ["tree"], ["peek", "main"], ["info"], ["lint"], ["flame"], ["convert"]):
        refused(*command, folder=folder)
    put(folder, "old.pb.gz", 50)
    put(folder, "new.pb.gz", 20)
    # none of these is one
    put(folder, "notes.txt", 1)
    put(folder, "empty.pb.gz", 1, b"")
    put(folder, ".hidden.pb.gz", 1)
    put(folder, "later.folded", 1, b"main 1\n")
    os.mkdir(f"{folder}/folder.pb.gz")
    os.mkfifo(f"{folder}/fifo.pb.gz")
    os.symlink("old.pb.gz", f"{folder}/link.pb.gz")
    for command in (["top"], ["report"], ["tree"], ["peek", "main"], ["info"], ["flame"], ["convert", "--to", "folded"]):
        named = cprof(*command, f"{folder}/new.pb.gz")
        taken = cprof(*command, folder=folder)
        assert taken.stdout.replace(folder + "/", "") == named.stdout.replace(folder + "/", ""), command
        assert taken.stderr == "cprof: no FILE given: reading new.pb.gz, the newest profile in this folder\n", taken.stderr
    assert "new.pb.gz" in cprof("lint", status=1, folder=folder).stderr
    put(folder, "newer.prof", 10)
    assert "newer.prof" in cprof("top", "--json", folder=folder).stderr
    assert "no REGEX given" in refused("peek", "new.pb.gz", folder=folder)
    for command in ("merge", "diff", "check"):
        refused(command, folder=folder)
    folder = h.folder()
    put(folder, "a.folded", 5, b"main 1\n")
    assert "a.folded" in cprof("top", folder=folder).stderr


h.main()
