#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cprof symbolize: names after the fact, from files that are found by build-id. What record knows where the files are at hand
is the answer that is known; go tool pprof reads what is written."""
import os
import re
import shutil

import harness as h
from symbolizing import OWN, Program, edited, forget_names, no_symbols, own, run


def breaches(path):
    with open(path, "rb") as file:
        return h.contract.check(file.read())[0]


def symbolize(path, *options, status=0):
    """Where the result is, and what was said."""
    out = os.path.join(h.folder(), "named.pb.gz")
    done = run(h.CPROF, "symbolize", path, "-o", out, *options, status=status)
    if not status:
        if not breaches(path):  # what was good stays so
            assert not breaches(out), breaches(out)
        if "not looked up" not in done.stderr:
            assert run(*h.pprof("-raw", out)).stderr == ""
    return out, done.stderr


@h.test
def what_record_knows():
    """Named later from the debug file, a profile is what record makes where that is at hand: names, lines, inlined functions."""
    program = Program()
    known = program.record()
    answer = program.frames(known)
    assert any("twist" in [frame["name"] for frame in sample] for sample in answer), answer[:3]
    bare = edited(known, forget_names)
    program.strip()
    named, said = symbolize(bare, "--debug-dir", program.away)
    assert program.frames(named) == answer, (program.frames(named)[:3], answer[:3])
    assert program.flags(named) == program.flags(known) and all(program.flags(named).values()), program.flags(named)
    assert re.search(r": \d+ addresses have a symbol now, ", said), said
    assert " leaf" in run(h.CPROF, "top", "--no-symbolize", named).stdout
    again, said = symbolize(named, "--debug-dir", program.away)
    assert program.frames(again) == answer and "nothing was added" in said, said


@h.test
def what_was_made_up():
    """Of a stripped program: made-up names are replaced, and only by symbols of the same build."""
    program = Program()
    program.strip()
    stripped = program.record()
    made_up = program.frames(stripped)
    assert all("+0x" in frame["name"] for sample in made_up for frame in sample), made_up[:3]
    same, said = symbolize(stripped)
    assert program.frames(same) == made_up and "nothing was added" in said, said
    named, _ = symbolize(stripped, "--debug-dir", program.away)
    for before, sample in zip(made_up, program.frames(named)):
        outer = [frame for frame in sample if frame["name"] != "twist"]
        assert [frame["address"] for frame in outer] == [frame["address"] for frame in before], sample
        assert {frame["name"] for frame in outer} <= OWN | {"_start"}, sample
        assert all(frame["system_name"] == frame["name"] and bool(frame["line"]) == (frame["name"] != "_start")
                   for frame in sample), sample
    names, _ = symbolize(stripped, "--debug-dir", program.away, "--no-lines")
    flat = own(program, names)
    assert {frame["name"] for frame in flat} == OWN and not any(f["line"] for f in flat), flat[:3]
    outer, _ = symbolize(stripped, "--debug-dir", program.away, "--no-inlines")
    flat = own(program, outer)
    assert {frame["name"] for frame in flat} == OWN and all(f["line"] for f in flat), flat[:3]
    both, _ = symbolize(outer, "--debug-dir", program.away)
    assert program.frames(both) == program.frames(named)


VDSO = """#include <time.h>
int main(void) { struct timespec t; for (;;) clock_gettime(CLOCK_MONOTONIC, &t); }
"""


@h.test
def code_of_the_vdso():
    """As record names it; that of another kernel has no name here."""
    folder = h.folder()
    source, program = os.path.join(folder, "app.c"), os.path.join(folder, "app")
    with open(source, "w", encoding="ascii") as file:
        file.write(VDSO)
    run("gcc", "-O1", "-o", program, source)
    target = h.Workload(program)
    cprof = h.cprof("record", "-F", "999", "--no-kernel", "-p", target.pid).attached()
    target.uses(0.3)
    known = cprof.stop().output

    def names(path):
        return [[(frame["name"], frame["system_name"], frame["address"]) for frame in sample["frames"]
                 if frame["mapping"]["path"] == "[vdso]"] for sample in h.contract.load(path)["samples"]]

    if not any(names(known)):
        raise h.Skip("clock_gettime() is a system call here")
    named, said = symbolize(edited(known, forget_names))
    assert names(named) == names(known), (names(named)[:3], names(known)[:3], said)

    def of_another_kernel(raw):
        forget_names(raw)
        mapping, = [m for m in raw["mapping"] if raw["string_table"][m["filename"]] == b"[vdso]"]
        raw["string_table"][mapping["build_id"]] = b"00" * 20
    other, said = symbolize(edited(known, of_another_kernel))
    assert not any(names(other)), (names(other)[:3], said)


@h.test
def better_stays():
    """Lines are added to names that are there; nothing is taken away by a file that knows less."""
    program = Program()
    known, short = program.record(), program.record("--no-kernel", "--no-lines")
    assert not any(frame["line"] for sample in program.frames(short) for frame in sample)
    lined, said = symbolize(short)
    assert re.search(r": 0 addresses have a symbol now, [1-9]\d* have lines", said), said
    answers = {sample[0]["address"]: sample for sample in program.frames(known) if sample}
    common = [sample for sample in program.frames(lined) if sample and sample[0]["address"] in answers]
    assert common, "no address was sampled twice"
    for sample in common:
        inner = [frame for frame in sample if frame["address"] == sample[0]["address"]]
        assert inner == answers[sample[0]["address"]][:len(inner)], (inner, answers)
    program.strip()
    for path in (known, lined):
        kept, _ = symbolize(path)
        assert program.frames(kept) == program.frames(path)


@h.test
def places():
    """By build-id, however the file is called; the file itself where that was moved."""
    program = Program()
    program.strip()
    stripped, (first, rest) = program.record(), (program.build_id[:2], program.build_id[2:])
    os.rename(program.path, program.path + ".gone")
    for place in (f".build-id/{first}/{rest}.debug", f"{first}/{rest}.debug", f".build-id/{first}/{rest}",
                  f".build-id/{first}/{rest}/elf", "deep/in/a/folder/x.so"):
        for source in (program.debug, program.full):
            given = h.folder()
            os.makedirs(os.path.dirname(os.path.join(given, place)))
            shutil.copy(source, os.path.join(given, place))
            named, said = symbolize(stripped, "--debug-dir", h.folder(), "--debug-dir", given)
            assert {frame["name"] for frame in own(program, named)} == OWN | {"twist"}, (place, said)
    _, said = symbolize(stripped)
    assert f"build-id {program.build_id}" in said and "their files are not here" in said, said


@h.test
def another_build():
    """A file of another build is not used, wherever it lies, and that is said."""
    program, other = Program(), Program()
    program.strip()
    stripped = program.record()
    shutil.copy(other.full, program.path)
    named, said = symbolize(stripped)
    assert no_symbols(program, named) and f"'{program.path}' was not used: it is of another build" in said, said
    place = os.path.join(h.folder(), ".build-id", program.build_id[:2])
    os.makedirs(place)
    shutil.copy(other.debug, os.path.join(place, program.build_id[2:] + ".debug"))
    named, said = symbolize(stripped, "--debug-dir", os.path.dirname(os.path.dirname(place)))
    assert no_symbols(program, named) and f"{program.build_id[2:]}.debug' was not used: it is of another build" in said, said


@h.test
def without_build_ids():
    """The file at the path counts, with a warning, if it was not changed since; a name that is there stays."""
    program = Program()

    def forget(raw):
        forget_names(raw)
        for mapping in raw["mapping"]:
            mapping["build_id"] = 0

    known = program.record()
    bare = edited(known, forget)
    program.build_id = ""
    named, said = symbolize(bare)
    assert "were named by the files at their paths" in said, said
    assert OWN <= {frame["name"] for frame in own(program, named)}, said
    os.utime(program.path)  # whatever it is now, it was touched
    named, said = symbolize(bare)
    assert no_symbols(program, named) and "their files have changed since the profile was taken" in said, said


def relocate(base):
    """As a profiler writes mappings that does not normalise addresses."""
    def edit(raw):
        forget_names(raw)
        for location in raw["location"]:
            if location["mapping_id"] == 1:
                location["address"] += base
        raw["mapping"][0]["memory_start"] += base
        raw["mapping"][0]["memory_limit"] += base
    return edit


@h.test
def addresses_of_a_process():
    """Where a mapping was in a process, its addresses are the file's by pprof's rule; also with the debug file alone."""
    for flags in ((), ("-no-pie",)):
        program = Program(*flags)
        known = program.record()
        base = 0x555555554000 if not flags else 0
        moved = edited(known, relocate(base))
        answer = [[{**frame, "address": frame["address"] + base} for frame in sample] for sample in program.frames(known)]
        named, _ = symbolize(moved)
        assert program.frames(named) == answer, (flags, program.frames(named)[:2], answer[:2])
        os.rename(program.path, program.path + ".gone")
        os.rename(program.full, program.full + ".gone")
        named, said = symbolize(moved, "--debug-dir", program.away)
        assert program.frames(named) == answer, (flags, said, program.frames(named)[:2], answer[:2])


@h.test
def debug_files_that_are_none():
    """A FIFO, a folder, an empty file, a text, a broken ELF file where the debug file should be: one clear line, no names."""
    program = Program()
    program.strip()
    stripped = program.record()
    with open(program.full, "rb") as file:
        elf = file.read()
    contents = {"fifo": None, "folder": None, "empty": b"", "text": b"x" * 5000, "header": elf[:64], "class": elf[:4] + b"\1" + elf[5:], "wild": elf[:64] + os.urandom(len(elf) - 64)}
    for what, content in contents.items():
        given = h.folder()
        place = os.path.join(given, ".build-id", program.build_id[:2], program.build_id[2:] + ".debug")
        os.makedirs(os.path.dirname(place))
        if what == "fifo":
            os.mkfifo(place)
        elif what == "folder":
            os.mkdir(place)
        else:
            with open(place, "wb") as file:
                file.write(content)
        named, said = symbolize(stripped, "--debug-dir", given)
        lines = [line for line in said.splitlines() if place in line]
        assert len(lines) == 1 and "was not used: it is " in lines[0], (what, said)
        assert no_symbols(program, named), what


@h.test
def by_debuglink():
    """The debug file that the program names: in its folder, in .debug there; by build-id, else by the checksum."""
    for flags in ((), ("-Wl,--build-id=none",)):
        program = Program()
        if flags:
            run("objcopy", "--remove-section=.note.gnu.build-id", program.path)
            run("objcopy", "--only-keep-debug", program.path, program.debug)
            program.build_id = ""
        program.strip()
        run("objcopy", f"--add-gnu-debuglink={program.debug}", program.path)
        bare = edited(program.record(), forget_names)
        for place in (program.folder, os.path.join(program.folder, ".debug")):
            os.makedirs(place, exist_ok=True)
            copy = os.path.join(place, "whatever")
            shutil.copy(program.debug, copy)
            named, said = symbolize(bare)
            assert {frame["name"] for frame in own(program, named)} == OWN | {"twist"}, (flags, place, said)
            if flags:
                with open(copy, "ab") as file:
                    file.write(b"!")
                named, said = symbolize(bare)
                assert no_symbols(program, named) and f"'{copy}' was not used: it is of another build" in said, said
            os.unlink(copy)


@h.test
def when_time_is_up():
    """What was left out is said in numbers, here and in the profile, which is whole otherwise."""
    program = Program()
    bare, many = edited(program.record(), forget_names), h.folder()
    os.unlink(program.path)
    for i in range(3000):
        os.link(program.debug, os.path.join(many, str(i))) if i else shutil.copy(h.CPROF, os.path.join(many, "0"))
    named, said = symbolize(bare, "--symbolize-timeout", "1ms", "--debug-dir", many)
    found = re.search(r"(\d+) of (\d+) addresses were not looked up, or not wholly: time was up", said)
    assert found and found[1] == found[2], said
    assert found[0] in h.contract.load(named)["comments"], h.contract.load(named)["comments"]
    assert h.contract.load(named)["samples"][0]["values"] == h.contract.load(bare)["samples"][0]["values"]


@h.test
def when_record_has_no_time():
    """What record left out it says, in numbers, and notes; its mappings are whole, so that the names can be added."""
    program = Program()
    known, short = program.record(), program.record("--no-cache", "--symbolize-timeout", "1us")
    whole = {sample[0]["address"]: sample[0] for sample in program.frames(known) if sample}
    said = h.runs[-1].said()
    found = re.search(r"time was up: (\d+) code addresses were not looked up, or not wholly", said)
    noted, = [text for text in h.contract.load(short)["comments"] if "not looked up" in text]
    assert found and noted.startswith(f"{found[1]} of "), (said, noted)
    assert no_symbols(program, short) and program.flags(short)["has_functions"]
    named, _ = symbolize(short)
    answers = [sample[0] for sample in program.frames(named) if sample and sample[0]["address"] in whole]
    assert answers and all(frame == whole[frame["address"]] for frame in answers), (answers[:3], whole)


@h.test
def where_it_is_written():
    program = Program()
    paths = [program.record(), program.record()]
    copies = h.folder()
    for i, path in enumerate(paths):
        shutil.copy(path, os.path.join(copies, f"{i}.pb.gz"))
    each = [os.path.join(copies, f"{i}.pb.gz") for i in (0, 1)]
    out = os.path.join(h.folder(), "out")
    run(h.CPROF, "symbolize", *each, "-o", out)
    assert sorted(os.listdir(out)) == ["0.pb.gz", "1.pb.gz"]
    before = [open(path, "rb").read() for path in each]
    for arguments, why in ((each, "use -o FOLDER"), ((*each, "-o", copies), "use another folder"),
                           ((each[0], each[0], "-o", out), "two of the files would be written as 0.pb.gz"),
                           ((each[0], "-o", out, "--debug-dir", each[1]), "--debug-dir"),
                           ((os.path.join(copies, "none"), "-o", os.path.join(out, "x")), "none")):
        assert why in run(h.CPROF, "symbolize", *arguments, status=2).stderr, (arguments, why)
    assert [open(path, "rb").read() for path in each] == before
    done = h.run_cprof("symbolize", "-", stdin=open(each[0], "rb"), text=False)
    assert done.stdout[:2] == b"\x1f\x8b" and b"stdin: " in done.stderr, done.stderr
    run(h.CPROF, "symbolize", each[0], "-o", each[0])  # as it was asked to
    assert program.frames(each[0]) == program.frames(paths[0])


@h.test
def without_a_sandbox():
    program = Program()
    bare = edited(program.record(), forget_names)
    named, said = symbolize(bare, "--no-sandbox")
    assert OWN <= {frame["name"] for frame in own(program, named)}, said
    assert "--no-sandbox" in said, said


h.main()
