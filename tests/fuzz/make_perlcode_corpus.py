#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes tests/fuzz/corpus/perlcode: what Perl functions consist of (user/runtime/perlcode.h), good ones and some that are
not."""
import os
import struct

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "perlcode")
VERSIONS = (0x0520, 0x0524, 0x0528, 0x052a)


def name(text, length=None):
    if text is None:
        return b""
    utf8 = text if isinstance(text, bytes) else text.encode()
    return struct.pack("<i", len(utf8) if length is None else length) + utf8 + (b"\0\0" if isinstance(text, bytes) else b"\0\1")


def start(line):
    return b"\1" * 36 + struct.pack("<I", line) + b"\1" * 16


def parts(version, function=b"f", package=b"main", file=b"/app/prog.pl\0", begins=start(7), block=b""):
    copies = [begins] + [text if isinstance(text, bytes) and text[:1] == b"\xff" else name(text) for text in (function, package)]
    copies = [copy[1:] if copy[:1] == b"\xff" else copy for copy in copies] + [file, block]
    return struct.pack("<6H", version, *map(len, copies)) + b"".join(copies)


INPUTS = {f"5.{version & 255}": parts(version) for version in VERSIONS}
INPUTS.update({
    "method": parts(0x0524, b"run", b"App::Service"),
    "anonymous": parts(0x0524, b"__ANON__"),
    "no_package": parts(0x0524, b"run", None),
    "main": parts(0x0524, None, None, begins=b"\1" * 8),
    "eval": parts(0x0524, None, None, b"(eval 12)\0", b"\1" * 8),
    "block": parts(0x0524, None, None, begins=b"\1" * 8, block=b"\1" * 8),
    "regex": parts(0x0524, None, None, begins=b"\1" * 8, block=b"\1" * 16),
    "no_such_block": parts(0x0524, None, None, begins=b"\1" * 8, block=b"\1" * 24),
    "nameless": parts(0x0524, None, None, b"", b""),
    "no_file": parts(0x0524, file=b""),
    "cut_file": parts(0x0524, file=b"/app/prog.p"),
    "deep": parts(0x0524, b"run", b"App::" * 33 + b"Service"),
    "latin1": parts(0x0524, b"caf\xe9\n"),
    "utf8": parts(0x0524, "\u540d\u524d"),
    "no_flags": parts(0x0524, b"\xff" + name(b"caf\xe9")[:-2]),
    "long": parts(0x0524, b"f" * 1000, b"P" * 1000),
    "long_anonymous": parts(0x0524, b"__ANON__", b"P" * 1000, b"/app/" + b"\xc3\xa9" * 500 + b"\0"),
    "beyond": parts(0x0524, b"\xff" + name(b"short", 1 << 30)),
    "negative": parts(0x0524, b"\xff" + name(b"short", -5)),
    "unknown": parts(0x0901),
    "short": parts(0x0524)[:40],
})

os.makedirs(HERE, exist_ok=True)
for input_name, content in INPUTS.items():
    with open(os.path.join(HERE, input_name), "wb") as out:
        out.write(content)
