#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes tests/fuzz/corpus/rubycode: what Ruby functions consist of (user/runtime/rubycode.h), good ones and some that are
not."""
import os
import struct

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "rubycode")
ENTRY_BYTES = {0x0301: 12, 0x0303: 12, 0x0304: 12}


def index(starts, nr_words):
    """The index of entries that begin at these words: 54 numbers of seven bits, then blocks of 512 bits."""
    upto = [sum(start <= word for start in starts) for word in range(nr_words)]
    words = [sum(upto[min(word, nr_words - 1)] << word % 9 * 7 for word in range(first, first + 9)) & (1 << 64) - 1
             for first in range(0, 54, 9)]
    packed = struct.pack("<6Q", *words)
    for first in range(54, nr_words, 512):
        bits = [sum(1 << i for i in range(64) if first + 64 * k + i in starts) for k in range(8)]
        ranks, total = 0, 0
        for k in range(7):
            total += bin(bits[k]).count("1")
            ranks |= total << 9 * k
        packed += struct.pack("<I4xQ8Q", sum(start < first for start in starts), ranks, *bits)
    return packed


def parts(version, label=b"run", path=b"/app/prog.rb", line=7, rows=((0, 8), (3, 9), (40, 8)), nr_words=50, table=None):
    first = line << 1 | 1 if version < 0x0302 else line
    body = struct.pack("<II", 1, nr_words).ljust(88, b"\1") + struct.pack("<I", first)
    lines = b"".join(struct.pack("<i", number).ljust(ENTRY_BYTES.get(version, 12), b"\2") for _, number in rows)
    copies = [body.ljust(160, b"\1"), label, path, lines,
              index([start for start, _ in rows], nr_words) if table is None else table]
    return struct.pack("<6H", version, *map(len, copies)) + b"".join(copies)


MANY = tuple((word, 100 + word) for word in range(0, 1500, 2))
INPUTS = {f"{version >> 8}.{version & 255}": parts(version) for version in ENTRY_BYTES}
INPUTS.update({
    "block": parts(0x0303, b"block in run"),
    "long_code": parts(0x0301, rows=MANY, nr_words=1500),
    "no_lines": parts(0x0304, rows=(), table=b""),
    "no_line": parts(0x0304, rows=((0, 0), (5, -3))),
    "no_path": parts(0x0304, path=b""),
    "nameless": parts(0x0304, label=b""),
    "bytes": parts(0x0301, b"caf\xe9\n"),
    "long": parts(0x0301, b"f" * 1024),
    "huge": parts(0x0301, nr_words=50)[:16] + b"\xff" * 4 + parts(0x0301)[20:],
    "wild_index": parts(0x0301, table=b"\xff" * 48),
    "short_index": parts(0x0301, rows=MANY, nr_words=1500, table=index([0], 54)[:40]),
    "unknown": parts(0x0300),
    "short": parts(0x0301)[:40],
})

os.makedirs(HERE, exist_ok=True)
for input_name, content in INPUTS.items():
    with open(os.path.join(HERE, input_name), "wb") as out:
        out.write(content)
