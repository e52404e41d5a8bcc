#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Lines and inlined functions of programs whose debug information is in .dwo files or in a package of these
(-gsplit-dwarf), as llvm-symbolizer has them of the same program with all of it in one file: its version 14 itself finds no
inlined functions in split units that have one range of addresses."""
import os
import re
import shutil
import subprocess

import dwarfjudge as d
import harness as h

MISSING = re.compile(r"inlined functions of ([\d,]+) code addresses are missing: (\d+) \.dwo files? w\w+ not found "
                     r"\('(.*)' of (\w+)(, and others)?\)")
KINDS = [(compiler, version) for compiler in ("gcc", "clang") for version in (4, 5)]


def build(compiler="gcc", version=5, *flags):
    if not shutil.which(compiler):
        raise h.Skip(f"no {compiler}")
    program = d.build(f"-gdwarf-{version}", "-gsplit-dwarf", *flags, compiler=compiler)
    folder = os.path.dirname(program)
    for unit in ("one", "two"):
        d.run(compiler, "-O2", f"-gdwarf-{version}", *flags, "-c", f"{unit}.c", "-o", f"{unit}.whole.o", cwd=folder)
    d.run(compiler, "-Wl,--build-id", "-o", "whole", "one.whole.o", "two.whole.o", cwd=folder)
    assert code_of(program) == code_of(os.path.join(folder, "whole"))
    return program


def code_of(program):
    dump = subprocess.run(["readelf", "-x", ".text", program], capture_output=True, text=True, check=True).stdout
    return dump


def missing(run):
    """Addresses, files, and one of these, as the run says."""
    found = [match for line in run.lines if (match := MISSING.search(line))]
    assert len(found) <= 1, run.lines
    return (int(found[0][1].replace(",", "")), int(found[0][2]), found[0][3]) if found else None


def assert_all(run, program):
    d.assert_same(run, os.path.join(os.path.dirname(program), "whole"))
    assert missing(run) is None, run.lines


def assert_lines_alone(run, units):
    """Functions have their names, without those that are inlined; the run counts the addresses."""
    found = d.own(d.chains(run))
    nr, nr_files, name = missing(run)
    assert nr == len(found) and nr_files == units and name.endswith(".dwo"), (run.lines, found)
    assert {len(chain) for chain in found.values()} == {1}, found
    assert all(line for chain in found.values() for _, _, line in chain), found


def move_units(program, *folder):
    """Their .dwo files, to another folder."""
    target = os.path.join(*folder)
    os.makedirs(target, exist_ok=True)
    for unit in ("one.dwo", "two.dwo"):
        os.rename(os.path.join(os.path.dirname(program), unit), os.path.join(target, unit))
    return target


@h.test
def where_they_were_compiled():
    """gcc and clang, DWARF 4 and 5; in one process, too."""
    for compiler, version in KINDS:
        program = build(compiler, version)
        assert_all(d.record(program), program)
    assert_all(d.record(program, "--no-sandbox"), program)


@h.test
def packages():
    """PROGRAM.dwp, of binutils and of LLVM; what it lacks is in .dwo files."""
    for compiler, version, tool in (("gcc", 4, "dwp"), ("clang", 4, "llvm-dwp"), ("clang", 5, "llvm-dwp")):
        if not shutil.which(tool):
            print(f"# {tool} is not installed", flush=True)
            continue
        program = build(compiler, version)
        folder = os.path.dirname(program)
        subprocess.run([tool, "-o", "twofold.dwp", "one.dwo", "two.dwo"], check=True, cwd=folder, timeout=h.HANGS)
        subprocess.run([tool, "-o", "one.dwp", "one.dwo"], check=True, cwd=folder, timeout=h.HANGS)
        away = move_units(program, folder, "away")
        assert_all(d.record(program), program)
        os.rename(os.path.join(away, "two.dwo"), os.path.join(folder, "two.dwo"))
        os.rename(os.path.join(folder, "one.dwp"), program + ".dwp")
        assert_all(d.record(program), program)


@h.test
def in_other_places():
    """Beside a program that was moved; in --debug-dir by path and by name; of a stripped program's debug file."""
    program = build()
    folder = os.path.dirname(program)
    away = h.folder()
    moved = shutil.copy(program, os.path.join(away, "twofold"))
    for unit in ("one.dwo", "two.dwo"):
        shutil.copy(os.path.join(folder, unit), away)
    hidden = move_units(program, folder, "hidden")
    assert_all(d.record(moved), program)
    given = h.folder()
    by_path = shutil.copytree(hidden, given + folder)
    assert_all(d.record(program, "--debug-dir", given), program)
    shutil.rmtree(by_path)
    for unit in os.listdir(hidden):
        shutil.copy(os.path.join(hidden, unit), given)
    assert_all(d.record(program, "--debug-dir", given), program)
    subprocess.run(["objcopy", "--only-keep-debug", program, os.path.join(given, "twofold.debug")], check=True)
    subprocess.run(["strip", program], check=True)
    subprocess.run(["objcopy", f"--add-gnu-debuglink={given}/twofold.debug", program], check=True)
    assert_all(d.record(program, "--debug-dir", given), program)


@h.test
def what_is_missing():
    """It is said in numbers: both files, one of them, others' units, damaged ones, a FIFO, a symbolic link."""
    program = build()
    folder = os.path.dirname(program)
    hidden = move_units(program, folder, "hidden")
    assert_lines_alone(d.record(program), 2)
    one, two = (os.path.join(folder, unit) for unit in ("one.dwo", "two.dwo"))
    shutil.copy(os.path.join(hidden, "two.dwo"), two)
    run = d.record(program)
    found = d.own(d.chains(run))
    nr, nr_files, name = missing(run)
    assert nr_files == 1 and name == "one.dwo", run.lines
    assert nr == len([chain for chain in found.values() if chain[-1][0] == "one"]), (run.lines, found)
    assert [chain for chain in found.values() if len(chain) > 1], found
    other = os.path.dirname(build("gcc", 5, "-DOTHER", "-O1"))
    for unit in ("one.dwo", "two.dwo"):
        shutil.copy(os.path.join(other, unit), os.path.join(folder, unit))
    assert_lines_alone(d.record(program), 2)
    with open(os.path.join(hidden, "one.dwo"), "rb") as file:
        whole = file.read()
    for damaged in (b"x", whole[:70], whole.replace(b".debug_info.dwo", b".debug_inf0.dwo")):
        for unit in (one, two):
            with open(unit, "wb") as file:
                file.write(damaged)
        assert_lines_alone(d.record(program), 2)
    for unit in (one, two):
        os.unlink(unit)
    os.mkfifo(one)
    os.symlink(os.path.join(hidden, "two.dwo"), two)
    assert_lines_alone(d.record(program), 2)
    run = d.record(program, "--no-lines")
    assert missing(run) is None, run.lines


if __name__ == "__main__":
    h.main()
