#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes tests/fuzz/corpus/jitsyms: perf maps and jitdumps."""
import os
import struct

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "jitsyms")


def header(flags=0):
    return struct.pack("<6I2Q", 0x4A695444, 1, 40, 62, 0, 1, 1, flags)


def record(kind, time, body):
    return struct.pack("<2IQ", kind, 16 + len(body), time) + body


def load(time, start, size, number, name):
    return record(0, time, struct.pack("<2I4Q", 1, 1, start, start, size, number) + name + b"\0\xc3")


def move(time, old, new, size, number):
    return record(1, time, struct.pack("<2I5Q", 1, 1, new, old, new, size, number))


def lines(time, start, *entries):
    body = b"".join(struct.pack("<Q2i", at, line, 0) + name + b"\0" for at, line, name in entries)
    return record(2, time, struct.pack("<2Q", start, len(entries)) + body)


FILES = {
    "map": b"1000 80 first\n1100 10 LazyCompile:*f a.js:1\r\n0x1040 0x40 second\nbad\n1200 0 x\n1300 10 unfinished",
    "dump": header() + load(100, 0x1000, 0x80, 1, b"first") + load(300, 0x1000, 0x200, 2, b"second") +
            move(400, 0x1000, 0x1400, 0x80, 1) + record(2, 1, b"x" * 24) + record(3, 500, b""),
    "dump_clock": header(1) + load(2**60, 0x1000, 0x80, 1, b"first") + load(2**61, 0x1040, 0x80, 2, b"second"),
    "dump_lines": header() + lines(90, 0x1000, (0x1000, 3, b"a.js"), (0x1080, 5, b"\xff"), (0x1180, -1, b"b.js")) +
                  load(100, 0x1000, 0x200, 1, b"first") + lines(110, 0x1300, (0x1300, 7, b"c.js")) +
                  load(120, 0x1400, 0x80, 2, b"another"),
    "dump_short": header() + load(100, 0x1000, 0x80, 1, b"first")[:-3],
}

os.makedirs(HERE, exist_ok=True)
for name, data in FILES.items():
    with open(os.path.join(HERE, name), "wb") as out:
        out.write(data)
