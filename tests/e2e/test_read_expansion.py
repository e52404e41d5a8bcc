#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Files that are small until their stacks are written out (user/input/expansion.h): each command and each format
refuses them with one line, exit code 2 and nothing left behind, in less than 1 GB of memory. What is
below the limits is written whole, and a file that is merely large is no such file."""
import gzip
import json
import os
import resource
import sys

import harness as h

sys.path.insert(0, os.path.join(h.ROOT, "tests", "bad"))
import pprof as made  # noqa: E402 (its folder is known only now)

BYTES = 1 << 30
FORMATS = h.formats()
# %: the file
COMMANDS = ("top %", "top --by line %", "tree %", "tree --json %", "peek leaf %", "info %", "diff % %",
            "merge % -o out.pb.gz", "merge % % -o out.pb.gz", "flame % -o out.html", "flame % -o out.svg",
            "flame --base % % -o out.html", "check --base % --head %")


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (BYTES, BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(folder, *arguments):
    return h.run_cprof(*arguments, status=None, cwd=folder, preexec_fn=limited, text=False)


def folder_with(data):
    folder = h.folder()
    with open(os.path.join(folder, "in.pb.gz"), "wb") as file:
        file.write(data)
    return folder


def assert_refused(folder, arguments, word):
    done = run(folder, *arguments)
    lines = done.stderr.decode().splitlines()
    assert done.returncode == 2, f"{arguments}: exit code {done.returncode}: {lines}"
    assert len(lines) == 1 and lines[0].startswith("cprof: ") and word in lines[0], f"{arguments}: {lines}"
    assert not done.stdout, f"{arguments}: {done.stdout[:80]}"
    assert os.listdir(folder) == ["in.pb.gz"], f"{arguments}: leaves {os.listdir(folder)}"


@h.test
def every_format_and_command_refuses_a_million_inlined_functions():
    data = made.inlined(1_000_000, 100)
    assert len(data) < 9_000, len(data)
    folder = folder_with(data)
    for name in FORMATS:
        assert_refused(folder, ("convert", "in.pb.gz", "--format", name, "-o", "out"), "expand to 100000000 frames")
    for command in COMMANDS:
        assert_refused(folder, command.replace("%", "in.pb.gz").split(), "expand to 100000000 frames")


@h.test
def the_manual_shows_the_line():
    folder = folder_with(made.inlined(1_000_000, 100))
    done = run(folder, "top", "in.pb.gz")
    with open(os.path.join(h.ROOT, "doc", "cprof.1"), encoding="utf-8") as file:
        assert done.stderr.decode().replace("in.pb.gz", "p.pb.gz") in file.read(), done.stderr.decode()


@h.test
def every_format_refuses_long_names():
    folder = folder_with(made.long_names(4 << 20, 2 << 20))
    for name in FORMATS:
        assert_refused(folder, ("convert", "in.pb.gz", "--format", name, "-o", "out"), "names in its stacks")


@h.test
def too_many_stacks_are_refused():
    """Sixteen inlined functions are few; eight million locations in a stack are a lot."""
    folder = folder_with(made.inlined(16, 8 << 20))
    for suffix in (".gecko.json", ".folded", ".txt") if h.IS_LONG else (".gecko.json",):
        assert_refused(folder, ("convert", "in.pb.gz", "-o", "out" + suffix), "too many or too long stacks")
    assert_refused(folder, ("tree", "in.pb.gz"), "too many or too long stacks")


@h.test
def too_long_stacks_are_refused():
    """A name of 4,000 bytes, a million times in a stack: 4 GB, where each name is written."""
    folder = folder_with(made.long_names(4000, 1 << 20))
    for name in FORMATS:
        arguments = "convert", "in.pb.gz", "--format", name, "-o", "out"
        if name in ("folded", "text"):
            assert_refused(folder, arguments, "too many or too long stacks")
        elif name != "afdo":  # which has only functions of which is known where they begin
            done = run(folder, *arguments)  # a file that grows beyond its limit ends it
            assert done.returncode == 0, (name, done)
            os.unlink(os.path.join(folder, "out"))
    for arguments in (("tree", "in.pb.gz"), ("tree", "--json", "in.pb.gz")):
        assert_refused(folder, arguments, "too many or too long stacks")
    done = run(folder, "tree", "--depth", "2", "in.pb.gz")
    assert done.returncode == 0 and done.stdout.count(b"xxxx\n") == 2, (done.returncode, done.stdout[-80:], done.stderr)


@h.test
def what_is_below_the_limit_is_written():
    folder = folder_with(made.inlined(1_000_000, 4))
    for name in FORMATS if h.IS_LONG else ("proto", "html", "folded", "gecko"):
        done = run(folder, "convert", "in.pb.gz", "--format", name, "-o", "out." + name)
        assert done.returncode == 0 or name == "afdo", f"{name}: {done.stderr.decode()}"
    with open(os.path.join(folder, "out.folded"), encoding="utf-8") as file:
        stack, _, value = file.readline().rpartition(" ")
    assert value.strip() == "5" and stack == ";".join(["leaf"] * 4_000_000)
    with open(os.path.join(folder, "out.gecko"), encoding="utf-8") as file:
        assert json.load(file)["shared"]["stackTable"]["length"] == 4_000_000


@h.test
def a_large_file_is_read():
    """Fifteen million frames, of five million locations, each with two functions inlined."""
    places = b"".join(made.location(i, made.msg(4, made.num(1, 1)) * 2, made.msg(4, made.num(1, 2)))
                      for i in range(1, 101))
    samples = b"".join(made.msg(2, made.msg(1, bytes(1 + (i // 7 + i * k) % 100 for k in range(20))), made.num(2, 1))
                       for i in range(250_000))
    folder = folder_with(gzip.compress(made.profile(sample=samples, locations=places), 1, mtime=0))
    done = run(folder, "top", "--json", "in.pb.gz")
    assert done.returncode == 0, done.stderr.decode()
    rows = {row["name"]: (row["flat"], row["cum"]) for row in json.loads(done.stdout)["rows"]}
    assert rows == {"leaf": (250_000, 250_000), "main": (0, 250_000)}, rows


h.main()
