#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cprof symbolize with debug files of the right build whose sections are damaged in eleven ways, 110 files: each is read in
bounded memory, the profile is valid, and what may be missing is said in one line that names the file."""
import os
import struct
import subprocess

import harness as h
from symbolizing import Program, edited, forget_names

MAX_BYTES = 60 << 20  # of a process of cprof's; for the intact file it takes 20 MB
MAX_SECONDS = 60       # it hangs: the intact file takes a tenth of a second

# What is damaged in these is noticed, or does no harm. Other texts are texts, too, and an address is as good as another.
CHECKED = ".debug_info", ".debug_abbrev", ".debug_line", ".debug_aranges", ".debug_loclists"
UNCHECKED = ".debug_rnglists", ".debug_str", ".debug_line_str", ".symtab", ".strtab"


class Elf:
    def __init__(self, data):
        self.data = data
        self.at, = struct.unpack_from("<Q", data, 40)
        self.size, nr, names = struct.unpack_from("<HHH", data, 58)
        texts = self.header(names)[4]
        self.index = {}
        for i in range(nr):
            start = texts + self.header(i)[0]
            self.index[data[start:data.index(b"\0", start)].decode()] = i

    def header(self, i):
        """name, type, flags, address, offset, size, ..."""
        return struct.unpack_from("<IIQQQQIIQQ", self.data, self.at + i * self.size)

    def with_bytes(self, name, change):
        *_, offset, size = self.header(self.index[name])[:6]
        return self.data[:offset] + change(self.data[offset:offset + size]) + self.data[offset + size:]

    def with_field(self, name, field, change):
        """field: its offset in the section's header; all of these have eight bytes."""
        copy, place = bytearray(self.data), self.at + self.index[name] * self.size + field
        value, = struct.unpack_from("<Q", copy, place)
        struct.pack_into("<Q", copy, place, change(value))
        return bytes(copy)


FLAGS, OFFSET, SIZE = 8, 24, 32
DAMAGES = {
    "zeros": lambda elf, name: elf.with_bytes(name, lambda b: bytes(len(b))),
    "ones": lambda elf, name: elf.with_bytes(name, lambda b: b"\xff" * len(b)),
    "reversed": lambda elf, name: elf.with_bytes(name, lambda b: b[::-1]),
    "flipped": lambda elf, name: elf.with_bytes(name, lambda b: bytes(c ^ 0x55 if not i % 7 else c for i, c in enumerate(b))),
    "shifted": lambda elf, name: elf.with_bytes(name, lambda b: b[1:] + b[:1]),
    "half": lambda elf, name: elf.with_field(name, SIZE, lambda size: size // 2),
    "short": lambda elf, name: elf.with_field(name, SIZE, lambda size: size - 1),
    "huge": lambda elf, name: elf.with_field(name, SIZE, lambda size: 1 << 60),
    "beyond": lambda elf, name: elf.with_field(name, OFFSET, lambda offset: len(elf.data) - 8),
    "elsewhere": lambda elf, name: elf.with_field(name, OFFSET, lambda offset: offset // 2),
    "compressed": lambda elf, name: elf.with_field(name, FLAGS, lambda flags: flags | 0x800),
}

kept = {}


def program():
    if not kept:
        kept["program"] = made = Program()
        with open(edited(made.record(), forget_names), "rb") as file:
            kept["bare"] = file.read()
        made.strip()
        with open(made.full, "rb") as file:
            kept["elf"] = Elf(file.read())
        kept["answer"], said, _ = symbolize(made, kept["elf"].data)
        assert "could not all be read" not in said, said
        assert any(frame["line"] for sample in kept["answer"] for frame in sample), kept["answer"][:2]
    return kept["program"]


def symbolize(made, debug_file):
    """The frames, what was said, and the debug file's path."""
    given = h.folder()
    place = os.path.join(given, ".build-id", made.build_id[:2], made.build_id[2:] + ".debug")
    bare, out = os.path.join(given, "bare.pb.gz"), os.path.join(given, "named.pb.gz")
    os.makedirs(os.path.dirname(place))
    for path, data in ((place, debug_file), (bare, kept["bare"])):
        with open(path, "wb") as file:
            file.write(data)
    with open(os.path.join(given, "said"), "w+", encoding="utf-8") as said:
        process = subprocess.Popen(["timeout", str(MAX_SECONDS), h.CPROF, "symbolize", bare, "-o", out, "--no-cache", "--debug-dir", given], stdout=said, stderr=said)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        text = said.read()
    assert process.returncode == 0, (process.returncode, text)
    assert usage.ru_maxrss * 1024 <= MAX_BYTES, usage.ru_maxrss
    with open(out, "rb") as file:
        assert not h.contract.check(file.read())[0]
    return made.frames(out), text, place


def assert_told(name, damage):
    made = program()
    frames, said, place = symbolize(made, DAMAGES[damage](kept["elf"], name))
    lines = [line for line in said.splitlines() if place in line]
    if name in CHECKED and frames != kept["answer"]:
        assert len(lines) == 1 and ("could not all be read" in lines[0] or "was not used: it is " in lines[0]), (name, damage, said, frames[:1])
    assert len(lines) <= 1, (name, damage, said)
    return frames


def of(name):
    def case():
        same = [damage for damage in DAMAGES if assert_told(name, damage) == kept["answer"]]
        print(f"# as if nothing were: {' '.join(same) or 'none'}")

    case.__name__ = "of" + name.replace(".", "_")
    case.__doc__ = f"In {name}."
    return case


for section in CHECKED + UNCHECKED:
    h.test(of(section))

h.main()
