#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes tests/fuzz/corpus/messages: what a parser, an opener and a fetcher send in answer to a question (user/sandbox/message.h), as it
should be, and with one thing wrong in a header or in how long a message is."""
import os
import struct

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "messages")
PARSER, OPENER, FETCHER = range(3)
FILE, TABLE, NAMES, SITES, VARIABLES, CRC, SLOTS, LOOK, CODE, METHODS, PERF_MAP, JITDUMP, COMPANION, FUNCTION, SPLITS = range(1, 16)
OPEN_FILE, MAPS, MEMORY, READ, EXE, BENEATH, OPEN_PERF_MAP = range(1, 8)
KEY, SERIAL = 7, 3


def answer(kind, payload=b"", nr=0, status=0, key=KEY, serial=SERIAL, more=0):
    return struct.pack("<IiIIQQ", kind, status, key, nr, serial, len(payload) + more) + payload


def sent(process, kind, nr, *answers):
    return struct.pack("<BII", process, kind, nr) + b"".join(answers)


FETCHED = struct.pack("<QQ128s", 0, 1234, b"")
SENT = {
    "crc": sent(PARSER, CRC, 0, answer(CRC, bytes(8), nr=1)),
    "crc_twice": sent(PARSER, CRC, 0, answer(CRC, bytes(8), nr=1), answer(CRC, bytes(8), nr=1)),
    "crc_short": sent(PARSER, CRC, 0, answer(CRC, bytes(8), nr=1))[:-1],
    "crc_header": sent(PARSER, CRC, 0, answer(CRC, nr=1)[:-9]),
    "variables": sent(PARSER, VARIABLES, 0, answer(VARIABLES, bytes(96), nr=12)),
    "companion": sent(PARSER, COMPANION, 0, answer(COMPANION)),
    "companion_stale": sent(PARSER, COMPANION, 0, answer(COMPANION, status=-116)),
    "companion_payload": sent(PARSER, COMPANION, 0, answer(COMPANION, b"x")),
    "table": sent(PARSER, TABLE, 0, answer(TABLE, bytes(100))),
    "table_large": sent(PARSER, TABLE, 0, answer(TABLE, more=1 << 40)),
    "names": sent(PARSER, NAMES, 2, answer(NAMES, bytes(64), nr=2)),
    "names_more": sent(PARSER, NAMES, 2, answer(NAMES, bytes(64), nr=3)),
    "slots_wrap": sent(PARSER, SLOTS, 0, answer(SLOTS, nr=0xffffffff, more=1 << 40)),
    "code": sent(PARSER, CODE, 0, answer(CODE, bytes(40), nr=1)),
    "function": sent(PARSER, FUNCTION, 0, answer(FUNCTION, bytes(40), nr=1)),
    "methods": sent(PARSER, METHODS, 1, answer(METHODS, bytes(40), nr=1)),
    "other_kind": sent(PARSER, CRC, 0, answer(TABLE, bytes(8), nr=1)),
    "other_key": sent(PARSER, CRC, 0, answer(CRC, bytes(8), nr=1, key=8)),
    "other_serial": sent(PARSER, CRC, 0, answer(CRC, bytes(8), nr=1, serial=2)),
    "status": sent(PARSER, CRC, 0, answer(CRC, status=1)),
    "no_kind": sent(PARSER, 99, 0, answer(99)),
    "opened": sent(OPENER, OPEN_FILE, 0, answer(OPEN_FILE, nr=5)),
    "opened_ways": sent(OPENER, OPEN_FILE, 0, answer(OPEN_FILE, nr=8, status=-13)),
    "maps": sent(OPENER, MAPS, 0, answer(MAPS, bytes(65), nr=1)),
    "maps_wrap": sent(OPENER, MAPS, 0, answer(MAPS, nr=0x4924925, more=20)),
    "maps_large": sent(OPENER, MAPS, 0, answer(MAPS, nr=1, more=2 << 20)),
    "memory": sent(OPENER, MEMORY, 0, answer(MEMORY)),
    "read": sent(OPENER, READ, 2, answer(READ, b"\1\0" + bytes(16), nr=2)),
    "read_other": sent(OPENER, READ, 2, answer(READ, b"\1\0" + bytes(16), nr=3)),
    "exe": sent(OPENER, EXE, 0, answer(EXE, b"/usr/bin/true")),
    "exe_none": sent(OPENER, EXE, 0, answer(EXE)),
    "fetched": sent(FETCHER, 1, 0, answer(1, FETCHED)),
    "fetched_result": sent(FETCHER, 1, 0, answer(1, b"\3" + FETCHED[1:])),
    "fetched_more": sent(FETCHER, 1, 0, answer(1, FETCHED + b"x")),
    "fetched_why": sent(FETCHER, 1, 0, answer(1, FETCHED[:16] + b"x" * 128)),
    "fetched_not": sent(FETCHER, 1, 0, answer(1, status=-5)),
}

if __name__ == "__main__":
    os.makedirs(HERE, exist_ok=True)
    for name, data in SENT.items():
        with open(os.path.join(HERE, name), "wb") as out:
            out.write(data)
