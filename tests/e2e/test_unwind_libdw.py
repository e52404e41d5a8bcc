#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Every stack against elfutils' libdwfl, frame for frame, from the same registers and stack memory.

cprof records both (--captures), tests/unwind/dwfl_compare.c walks and compares. A stack is right if
it is equal, or if one of the two had to stop for lack of memory, with the same frames until then:
libdwfl where the stack is larger than the capture, cprof where code was new to BPF and what remained
of the stack is beyond what was copied of it.
"""
import functools
import json
import os
import shutil
import subprocess
import tempfile

import harness as h
import unwinding as u
import unwindloads as loads

def program(name):
    found = shutil.which(name, path="/usr/bin:/bin")
    if not found:
        raise h.Skip(f"no {name}")
    return found


def script(name, text):
    path = os.path.join(h.folder(), name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


tools = tempfile.TemporaryDirectory(prefix="cprof-e2e-")


@functools.cache
def comparer():
    """The judge, compiled: it shares nothing with cprof but two headers and malloc's wrapper."""
    target = os.path.join(tools.name, "dwfl_compare")
    subprocess.run(["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", f"-I{h.ROOT}/user",
                    f"-I{h.ROOT}/bpf", "-o", target,
                    os.path.join(h.ROOT, "tests", "unwind", "dwfl_compare.c"),
                    os.path.join(h.BUILD, "libcprof.a"), "-ldw", "-lelf"], check=True)
    return target


def recorded(command, hz):
    """The captures of a recording."""
    captures = os.path.join(h.folder(), "captures")
    h.cprof("record", "-F", hz, "--limit", "events=134217728", "--captures", captures,
            "-o", os.path.join(h.folder(), "all.pb.gz"), "--", *command).wait()
    return captures


def compare(*command, hz=499, least=100):
    judge, captures = comparer(), recorded(command, hz)
    found = json.loads(h.silent([judge, captures], captures))
    cut = sum(kind["nr"] for kind in found["kinds"] if kind["what"].startswith("shorter") and
              "cprof: BEYOND_COPY;" in kind["what"])
    nr, right = found["stacks"], found["equal"] + found["beyond"] + cut
    print(f"# {os.path.basename(command[0])}: {nr} stacks, equal {found['equal']} "
          f"({100 * found['equal'] / max(nr, 1):.2f} %), equal until libdwfl's capture ended "
          f"{found['beyond']}, until cprof's copy ended {cut}, different "
          f"{nr - right}; {found['equal_frames']} equal frames; {found['finished_in_user_space']} "
          f"finished in user space", flush=True)
    for kind in found["kinds"]:
        if not kind["what"].startswith("beyond") and "BEYOND_COPY" not in kind["what"]:
            print(f"# {kind['nr']} x {kind['what']}: {kind['example']}", flush=True)
    assert nr >= least, f"only {nr} stacks"
    assert right >= 0.99 * nr, found["kinds"]
    assert found["equal"] >= 0.9 * nr, found["kinds"]


@h.test
def python():
    compare(program("python3"), script("work.py", loads.PYTHON), hz=1999)


@h.test
def perl():
    compare(program("perl"), script("work.pl", loads.PERL), hz=1999)


@h.test
def bash():
    compare(program("bash"), script("work.sh", loads.BASH), hz=1249)


@h.test
def git():
    """Adds files to a repository: deflate and SHA-1."""
    folder = h.folder()
    for i in range(800):
        text = "\n".join(str(i * j * 7919 % 10007) for j in range(1500))
        with open(os.path.join(folder, f"file{i}"), "w", encoding="utf-8") as file:
            file.write(text)
    git_command = [program("git"), "-C", folder, "-c", "user.name=x", "-c", "user.email=x@x.x"]
    # a repository of its own for each recording
    again = f"rm -rf {folder}/.git && {' '.join(git_command)} init -q && exec {' '.join(git_command)} add ."
    compare("/bin/sh", "-c", again, hz=2999)


@h.test
def cc1plus():
    source = script("big.cc", loads.CXX)
    compare(program("g++"), "-O2", "-c", source, "-o", source + ".o", hz=999)


@h.test
def sqlite():
    compare(program("sqlite3"), ":memory:", loads.SQL, hz=1999)


@h.test
def c_without_frame_pointers():
    compare(u.build("recurse"), 0.5, 200, hz=1999)


@h.test
def signals():
    compare(u.build("signals"), 0.5, hz=1999)


@h.test
def exceptions_in_flight():
    compare(u.build("throws"), 0.5, hz=3999)


h.main()
