#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What somebody meets who does not know cprof yet: help, slips of the hand, no file given."""
import os
import re
import signal
import subprocess

import harness as h
from madeup import madeup

COMMANDS = ["record", "heap", "info", "lint", "merge", "symbolize", "diff", "top", "tree", "peek", "flame", "convert", "check",
            "bench", "doctor"]


def cprof(*arguments, status=0, folder=None):
    return h.run_cprof(*arguments, status=status, cwd=folder or h.folder())


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
    for command in ("doctor", "help", "version"):
        assert cprof(command, "--help").stdout.startswith(f"usage: cprof {command} "), command
        assert "unknown option" in refused(command, "--frobnicate")
    assert "unexpected argument 'top'" in refused("version", "top")


@h.test
def help_is_wrapped_alike():
    """In 80 columns, and all help texts begin in one column."""
    columns = set()
    for command in (None, *COMMANDS, "help", "version"):
        said = cprof(*filter(None, (command, "--help"))).stdout
        assert max(map(len, said.splitlines())) <= 80, said
        columns |= {match.end() for match in re.finditer(r"^(?:  -\w, |      )--[^\n]*?  +(?=\S)", said, re.M)
                    for match in [re.match(r".*?(?=\S*\Z)", match[0])]}
    assert columns == {28}, columns


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
    for command, value in (("top", "--cum=3"), ("record", "--all=yes"), ("heap", "--help=me")):
        assert f"{value.split('=', maxsplit=1)[0]} takes no argument" in refused(command, value), value
    assert "one of --full-names, --focus?" in refused("top", "--f", "x")
    assert "one of --inuse, --interval" not in refused("record", "--in", "-a")
    assert "needs an argument" in refused("record", "-a", "--freq")


@h.test
def values_are_refused_alike():
    """In the same words by every command, by the option as it was given."""
    for command in (("record", "-a"), ("bench", "--base", "true", "--head", "true")):
        for option in ("-F", "--frequency"):
            assert f"{option} 1e3: not a rate from 1 to " in refused(*command, option, "1e3"), (command, option)
    for command in (("heap", "-a"), ("bench", "--heap", "--base", "true", "--head", "true")):
        assert "--rate 12k: not a number of bytes from 1 to 2^40." in refused(*command, "--rate", "12k"), command
    for command, option in (("record", "-d"), ("heap", "--interval"), ("bench", "--max-time")):
        assert f"{option} soon: not a duration such as 30s, 500ms or 2m." in refused(command, option, "soon"), command
    for command in ("top", "tree", "peek", "flame", "convert", "diff", "check"):
        assert "--focus '(' is not a regular expression" in refused(command, "--focus", "("), command
    assert "--comm '(' is not a regular expression" in refused("record", "--comm", "(")
    for command in ("record", "heap", "flame", "merge", "diff", "convert"):
        assert "-o: the file name is empty." in refused(command, "-o", ""), command
    for command in ("record", "convert", "flame"):
        assert "--format pdf: not one of " in refused(command, "--format", "pdf"), command
    for command, option, words in (("top", "--by", "function, line"), ("check", "--as", "share, absolute, both"),
                                   ("check", "--measure", "flat, cum, both"), ("check", "--inconclusive", "pass, fail")):
        assert f"{option} x: not one of {words}" in refused(command, option, "x"), option
    assert "--width 7: not a whole number from 200 to 20000." in refused("flame", "--width", "7")


@h.test
def output_that_cannot_be_written():
    """A full disk, or no stdout at all: exit code 2 and one line, whatever the command prints."""
    folder = h.folder()
    path = os.path.join(folder, "p.pb.gz")
    with open(path, "wb") as file:
        file.write(madeup(1, comms=["a", "b"]))
    everything = [[command, word] for command in COMMANDS for word in ("--help", "--list-options")]
    everything += [["--help"], ["help"], ["help", "top"], ["help", "--help"], ["version"], ["--version"], ["-V"],
                   ["version", "--help"], ["--list-options"]]
    everything += [[command, *words] for command, *words in (
        ("info", path), ("info", "--json", path), ("lint", path), ("lint", "--json", path), ("merge", path),
        ("merge", "-o", "-", path), ("diff", path, path), ("diff", "--json", path, path),
        ("diff", "-o", "-", path, path), ("top", path), ("top", "--json", path), ("tree", path),
        ("tree", "--json", path), ("peek", ".", path), ("peek", "--json", ".", path), ("flame", path),
        ("flame", "--format", "svg", path), ("check", "--base", path, path, "--head", path, path),
        *(("check", report, "--base", path, path, "--head", path, path)
          for report in ("--json", "--markdown", "--junit", "--sarif", "--github")),
        ("check", "--self-test", path, path, path, path))]
    everything += [["convert", "--to", name, path] for name in ("proto", "folded", "html", "text", "legacy")]
    for words in everything:
        for full in ("/dev/full", None):
            stdout = os.open(full, os.O_WRONLY) if full else None
            done = subprocess.run(["sh", "-c", 'exec "$@"' if full else 'exec "$@" >&-', "sh", h.CPROF, *words],
                                  stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=h.HANGS, check=False,
                                  cwd=folder)
            if full:
                os.close(stdout)
            lines = [line for line in done.stderr.splitlines() if "stdout" in line]
            assert done.returncode == 2 and len(lines) == 1, (words, full, done)
            assert not full or "No space left" in lines[0], (words, done)
            assert words[-1] != "--help" or done.stderr.count("\n") == 1, (words, done)
    with subprocess.Popen([h.CPROF, "top", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN), restore_signals=False) as gone:
        gone.stdout.close()
        assert gone.wait(h.HANGS) == 0 and not gone.stderr.read(), "a reader that went away is no error"


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
