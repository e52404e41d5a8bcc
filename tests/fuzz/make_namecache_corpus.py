#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes tests/fuzz/corpus/namecache: files of the cache of names (user/symbolize/namefile.h) that are right, and some with one
thing wrong. Their checksums are 0: fuzz_namecache does not look at them."""
import os
import struct

from make_reply_corpus import names_reply

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "namecache")
KEY = b"a key"
NAME = (2, 0, b"_Z1fv", b"f()")
INLINED = (2, 0, b"main", b"", (b"in", 0, b"in.h", 3, 1), (0, 0, b"main.c", 7, 5))


def part(*names, nr=None, len_bytes=None, zero=0, addresses=None):
    reply = names_reply(*names)
    addresses = range(0x1000, 0x1000 + len(names)) if addresses is None else addresses
    return struct.pack("<IIQ", len(names) if nr is None else nr, zero, len(reply) if len_bytes is None else len_bytes) + \
        b"".join(struct.pack("<Q", address) for address in addresses) + reply


def cache(*parts, magic=b"cprof-n1", key=KEY, key_bytes=None, zero=0):
    return struct.pack("<8sQII", magic, 0, len(key) if key_bytes is None else key_bytes, zero) + key + b"".join(parts)


FILES = {
    "good": cache(part(NAME, (1, 0x1000, b"", b""), (0, 0, b"", b""))),
    "good_empty": cache(),
    "good_lines": cache(part(INLINED)),
    "good_two_parts": cache(part(NAME), part(INLINED, NAME)),
    "good_many": cache(part(*[(2, 0, b"f%d" % i, b"") for i in range(512)])),
    "good_same_address": cache(part(NAME, NAME, addresses=[7, 7])),
    "bad_magic": cache(part(NAME), magic=b"cprof-n9"),
    "bad_header_short": cache()[:20],
    "bad_key_long": cache(part(NAME), key_bytes=1 << 31),
    "bad_key_short": cache(part(NAME), key_bytes=2),
    "bad_header_zero": cache(part(NAME), zero=1),
    "bad_part_none": cache(part(nr=0)),
    "bad_part_many": cache(part(NAME, nr=513)),
    "bad_part_wrap": cache(part(NAME, nr=0xffffffff)),
    "bad_part_zero": cache(part(NAME, zero=1)),
    "bad_part_addresses": cache(part(NAME, addresses=[])),
    "bad_part_long": cache(part(NAME, len_bytes=1 << 63)),
    "bad_part_longer": cache(part(NAME, len_bytes=len(names_reply(NAME)) + 1)),
    "bad_part_shorter": cache(part(NAME, len_bytes=3)),
    "bad_part_cut": cache(part(NAME))[:-3],
    "bad_second_part": cache(part(NAME), part(INLINED)[:10]),
    "bad_frame": cache(part((2, 0, b"main", b"", (b"main", 0, b"", 1, 0)))),
    "bad_kind": cache(part((3, 0, b"", b""))),
    "bad_text": cache(part((2, 0, b"ma\0n", b""))),
}

os.makedirs(HERE, exist_ok=True)
for name, content in FILES.items():
    with open(os.path.join(HERE, name), "wb") as out:
        out.write(content)
