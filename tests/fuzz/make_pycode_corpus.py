#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes tests/fuzz/corpus/pycode: what code objects of CPython 3.8, 3.10, 3.11 and 3.13 consist of, and some with one
thing wrong."""
import os
import struct

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "pycode")


def text(words, small, width=1, length=None, compact=1):
    ascii_only = width == 1 and all(ord(c) < 128 for c in words)
    state = width << 2 | compact << 5 | ascii_only << 6
    head = struct.pack("<QQQQI", 1, 0x1000, len(words) if length is None else length, 77, state)
    head = head.ljust((40 if small else 48) if ascii_only else (56 if small else 72), b"\0")
    return head + b"".join(ord(c).to_bytes(width, "little") for c in words)


def table(data, length=None):
    return struct.pack("<QQQQ", 1, 0x1000, len(data) if length is None else length, 5) + data


def code(version, lines, name="f", qualified="C.f", file="/srv/app/prog.py", **how):
    small = version >= 0x030c
    body = bytearray(144)
    struct.pack_into("<i", body, 40 if version < 0x030b else 72 if version == 0x030b else 68, 10)
    parts = [bytes(body), text(name, small, **how), text(qualified, small) if version >= 0x030b else b"",
             text(file, small), table(lines)]
    return struct.pack("<6H", version, *map(len, parts)) + b"".join(parts)


LNOTAB = bytes([0, 1, 4, 1, 6, 255, 8, 2])
LINETABLE = bytes([4, 1, 6, 1, 2, 128, 8, 254])
LOCATIONS = bytes([0x80 | 0 << 3 | 1, 0x11, 0x80 | 11 << 3 | 2, 4, 9, 0x80 | 13 << 3, 5, 0x80 | 14 << 3 | 3, 2, 0, 3, 4,
                   0x80 | 15 << 3 | 7])
CODES = {
    "3.8": code(0x0308, LNOTAB),
    "3.10": code(0x030a, LINETABLE),
    "3.11": code(0x030b, LOCATIONS),
    "3.13": code(0x030d, LOCATIONS),
    "library": code(0x030b, LOCATIONS, file="/usr/lib/python3.11/json/__init__.py"),
    "frozen": code(0x030b, LOCATIONS, file="<frozen importlib._bootstrap>"),
    "no_file": code(0x030b, LOCATIONS, file="<string>"),
    "wide": code(0x030a, LINETABLE, name="\u0444\u4e2d", width=2),
    "wider": code(0x030a, LINETABLE, name="\U0001f40d", width=4),
    "latin": code(0x030a, LINETABLE, name="caf\u00e9"),
    "width": code(0x030a, LINETABLE, width=3),
    "legacy": code(0x030a, LINETABLE, compact=0),
    "long": code(0x030a, LINETABLE, length=2**63),
    "many": code(0x030b, b"\xd8\x00\x01" * 4000),
    "varint": code(0x030b, b"\xe8" + b"\x7f" * 40),
    "far": code(0x030b, (b"\xe8" + b"\x7e" * 10 + b"\x1f") * 40),
    "short": code(0x030b, LOCATIONS)[:-20],
}

os.makedirs(HERE, exist_ok=True)
for name, data in CODES.items():
    with open(os.path.join(HERE, name), "wb") as out:
        out.write(data)
