#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Names that dwz(1) has moved into an alternate file, as of Debian's debug files: the same as those of the program before,
where the alternate file is found and is the right one."""
import os
import shutil

import dwarfjudge as d
import harness as h

MISSING = "was not found"


def share(*flags, options=(), noted="shared"):
    """A program, its copy that dwz has worked on, and their alternate file, which is noted so."""
    if not shutil.which("dwz"):
        raise h.Skip("no dwz")
    before = d.build(*flags)
    folder = os.path.dirname(before)
    os.makedirs(os.path.join(folder, "out"))
    program, other = os.path.join(folder, "out", "twofold"), os.path.join(folder, "out", "other")
    shutil.copy(before, program)
    shutil.copy(before, other)
    d.run("dwz", *options, "-m", "shared", "-M", noted, "out/twofold", "out/other", cwd=folder)
    return before, program, os.path.join(folder, "shared")


def put(source, *path):
    target = os.path.join(*path)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copy(source, target)
    return target


def assert_missing(run, before):
    """The functions that code is in are right, inlined ones are missing, and the run says so."""
    assert any(MISSING in line and "inlined functions of twofold may be missing" in line for line in run.lines), run.lines
    found = d.own(d.chains(run))
    right = d.judged(before, list(found))
    assert found
    for address, chain in found.items():
        assert chain[-1] == right[address][-1], (hex(address), chain, right[address])
        assert set(chain) <= set(right[address]), (hex(address), chain, right[address])
    assert not [chain for chain in found.values() if len(chain) > 1], found


def assert_found(run, before):
    d.assert_same(run, before)
    assert not [line for line in run.lines if MISSING in line], run.lines


@h.test
def where_the_program_notes_it():
    """From its own folder, also upwards; absolute; by DWARF 5's section; in one process, too."""
    before, program, _ = share(noted="../shared")
    d.assert_same(d.record(before), before)
    assert_found(d.record(program), before)
    assert_found(d.record(program, "--no-sandbox"), before)
    folder = h.folder()
    before, program, alt = share("-gdwarf-4", noted=os.path.join(folder, "elsewhere", "alt"))
    put(alt, folder, "elsewhere", "alt")
    assert_found(d.record(program), before)
    before, program, _ = share("-gdwarf-5", options=["--dwarf-5"], noted="./.././shared")
    assert_found(d.record(program), before)


@h.test
def of_a_debug_file():
    """As Debian has them: a stripped program, its debug file by build-id, and its alternate file in .dwz or by build-id."""
    before, program, alt = share(noted="/usr/lib/debug/.dwz/x86_64-linux-gnu/twofold.debug")
    given, build_id, alt_id = h.folder(), d.build_id(program), d.build_id(alt)
    by_id = os.path.join(given, ".build-id", build_id[:2], build_id[2:] + ".debug")
    os.makedirs(os.path.dirname(by_id))
    d.run("objcopy", "--only-keep-debug", program, by_id)
    d.run("strip", program)
    assert_missing(d.record(program, "--debug-dir", given), before)
    placed = put(alt, given, ".dwz/x86_64-linux-gnu/twofold.debug")
    assert_found(d.record(program, "--debug-dir", given), before)
    os.unlink(placed)
    put(alt, given, ".build-id", alt_id[:2], alt_id[2:] + ".debug")
    assert_found(d.record(program, "--debug-dir", given), before)


@h.test
def what_is_not_it():
    """Another file, a damaged one, a FIFO, a symbolic link of the process: as if it were missing."""
    before, program, alt = share(noted="alt")
    noted = os.path.join(os.path.dirname(program), "alt")
    assert_missing(d.record(program), before)
    _, _, another = share("-DOTHER", "-O1", noted="alt")
    with open(alt, "rb") as file:
        whole = file.read()
    put(another, noted)
    assert_missing(d.record(program), before)
    for damaged in (b"", b"\x7fELF", whole[:100], whole.replace(b"\x7fELF\x02", b"\x7fELF\x01")):
        with open(noted, "wb") as file:
            file.write(damaged)
        assert_missing(d.record(program), before)
    os.unlink(noted)
    os.mkfifo(noted)
    assert_missing(d.record(program), before)
    os.unlink(noted)
    os.symlink(alt, noted)
    assert_missing(d.record(program), before)
    os.unlink(noted)
    shutil.copy(alt, noted)
    assert_found(d.record(program), before)


@h.test
def without_lines():
    """Nothing is looked for where nobody asks for lines."""
    _, program, _ = share(noted="nowhere")
    run = d.record(program, "--no-lines")
    assert not [line for line in run.lines if MISSING in line], run.lines
    assert {chain[-1][0] for chain in d.chains(run).values()} & {"one", "two"}


if __name__ == "__main__":
    h.main()
