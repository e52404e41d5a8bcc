#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes tests/fuzz/corpus/v8code: what JavaScript functions consist of (user/runtime/v8code.h), good ones and some that
are not."""
import os
import struct

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "v8code")
ONE_BYTE, TWO_BYTES, CONS, CUT = 8, 0, 9, 0x8000


def string(text, length=None):
    return struct.pack("<QII", 1, 0x1234, len(text) if length is None else length) + text


def wide(text):
    units = text.encode("utf-16-le", "surrogatepass")
    return struct.pack("<QII", 1, 0x1234, len(units) // 2) + units


def parts(name=string(b"f"), rest=b"", last=b"", file=string(b"/app/prog.js"), types=(ONE_BYTE,) * 4, line=12):
    copies = [struct.pack("<4H3q", *types, 0x1001, 7, line), name, rest, last, file]
    return struct.pack("<5H", *map(len, copies)) + b"".join(copies)


INPUTS = {
    "plain": parts(),
    "three": parts(string(b"Module"), string(b".prototype"), string(b".load"), string(b"node:internal/loader")),
    "url": parts(file=string(b"file:///app/prog.mjs")),
    "anonymous": parts(b"", file=b""),
    "placed": parts(b""),
    "nowhere": parts(b"", line=0),
    "negative": parts(line=-7),
    "latin": parts(string(b"caf\xe9\n")),
    "wide": parts(wide("f\u00e9\u4e2d\U0001f600"), types=(TWO_BYTES, ONE_BYTE, ONE_BYTE, ONE_BYTE)),
    "half": parts(wide("a\ud83d") + b"", types=(TWO_BYTES, ONE_BYTE, ONE_BYTE, ONE_BYTE)),
    "cut": parts(string(b"begin"), types=(ONE_BYTE | CUT, ONE_BYTE, ONE_BYTE, ONE_BYTE)),
    "beyond": parts(string(b"short", 1 << 30)),
    "long": parts(string(b"x" * 1024, 70000)),
    "long_file": parts(file=string(b"/" + b"d" * 1000)),
    "escaped_file": parts(file=string(b"/" + b"\n" * 1000)),
    "cons": parts(types=(CONS, ONE_BYTE, ONE_BYTE, ONE_BYTE)),
    "nul": parts(string(b"a\0b")),
    "headless": parts(b"\1\2\3"),
    "short": parts()[:20],
}

os.makedirs(HERE, exist_ok=True)
for name, data in INPUTS.items():
    with open(os.path.join(HERE, name), "wb") as out:
        out.write(data)
