#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes tests/fuzz/corpus/opening: an opener's replies (user/process/opening.h) that are accepted, and some with one
thing wrong."""
import os
import struct

MAPS, PIECES, EXE = range(3)
HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "opening")


def reply(is_last, *maps):
    heads = [struct.pack("<QQQQIIII", start, limit, 0, inode, 8, 1, len(path), zero)
             for start, limit, inode, path, zero in maps]
    return struct.pack("<BIQ", MAPS, len(maps), is_last) + b"".join(heads) + b"".join(path for *_, path, _ in maps)


def pieces(wanted, flags, memory):
    """wanted: the lengths that were asked for, in units of 16 bytes, each a byte."""
    return struct.pack("<BI", PIECES, len(wanted)) + bytes(wanted) + bytes(flags) + memory


def exe(path):
    return struct.pack("<BI", EXE, 64) + path


LIBC = (0x7f0000001000, 0x7f0000200000, 1234, b"/usr/lib/libc.so.6\0", 0)
REPLIES = {
    "one": reply(1, LIBC),
    "two": reply(0, LIBC, (0x7f0000300000, 0x7f0000301000, 0, b"//anon\0", 0)),
    "none": reply(1),
    "last": reply(2, LIBC),
    "empty": reply(1, (5, 5, 0, b"//anon\0", 0)),
    "no_nul": reply(1, (5, 6, 0, b"//anon", 0)),
    "nul": reply(1, (5, 6, 0, b"/a\0b\0", 0)),
    "zero": reply(1, (5, 6, 0, b"/a\0", 1)),
    "longer": reply(1, LIBC) + b"x",
    "shorter": reply(1, LIBC, LIBC)[:-3],
    "pieces": pieces((1, 2), (1, 0), b"x" * 48),
    "pieces_short": pieces((1, 2), (1, 0), b"x" * 47),
    "pieces_flag": pieces((0, 1), (2, 1), b"x" * 16),
    "pieces_none": pieces((), (), b""),
    "exe": exe(b"/usr/bin/true"),
    "exe_nul": exe(b"/usr\0/bin"),
    "exe_long": exe(b"/" * 64),
}

os.makedirs(HERE, exist_ok=True)
for name, payload in REPLIES.items():
    with open(os.path.join(HERE, name), "wb") as out:
        out.write(payload)
