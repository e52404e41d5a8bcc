#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes tests/fuzz/corpus/reply: replies of each kind (user/sandbox/message.h) that are accepted, and some with one
thing wrong."""
import os
import struct

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "reply")
FILE, TABLE, NAMES, SITES, LOOK, CODE, METHODS, JITSYMS, SLOTS, FUNCTION, SPLITS, CRC, VARIABLES = range(13)
EXTENDED = 1 << 19


def file_reply(build_id, *segments, alt=b"../.dwz/a", alt_id=b"0123", loop=(0x1000, 0x2000), kind=1):
    runtime = struct.pack("<HHI", 0x030b, kind, 0) + struct.pack("<QQ", 0x5000, 0x6000) + bytes([11, 3] + [0] * 30) + struct.pack("<8Q", *loop, *[0] * 6)
    return b"".join([struct.pack("<136s256s256s512s136sQQ", build_id, b"/lib64/ld-linux-x86-64.so.2", b"a.debug", alt, alt_id, 7, 0), runtime,
                     *(struct.pack("<5Q", *segment) for segment in segments)])


def rule(kind, cfa_reg=0, how=0, cfa_off=0, fp_off=0, ra_off=0):
    return struct.pack("<4Biihh", kind, cfa_reg, how, 0, cfa_off, fp_off, ra_off, 0)


FIXED = [rule(0), rule(1), rule(2), rule(3)]


def table_reply(pages, rows, extended=(), start=0x401000, tracks_extra=0, e_machine=62):
    rules = [*FIXED, *extended]
    head = struct.pack("<Q6I2Q", start, len(pages) - 1, len(rows), len(rules), tracks_extra, 0, 0, e_machine, len(rows))
    return head + struct.pack(f"<{len(pages)}I", *pages) + struct.pack(f"<{len(rows)}I", *rows) + b"".join(rules)


def row(pc, packed):
    return pc << 20 | packed


def names_reply(*names, texts=None, nr_frames=None, nr_split=1, flags=0):
    """names: kind, start, raw, display, frames; a frame: raw, display, file, line, start line. Texts are interned."""
    known = []

    def text(one):
        if isinstance(one, int):
            return one
        if one and one not in known:
            known.append(one)
        return known.index(one) + 1 if one else 0
    heads, frames = b"", []
    for kind, start, raw, display, *chain in names:
        heads += struct.pack("<Q4I", start, kind, text(raw), text(display), len(chain))
        frames += [struct.pack("<5I", *map(text, frame[:3]), *frame[3:]) for frame in chain]
    known = known if texts is None else texts
    return b"".join([struct.pack("<4I", len(frames) if nr_frames is None else nr_frames, len(known), nr_split, flags), heads, *frames,
                     *(struct.pack("<I", len(one)) for one in known), *known])


def splits_reply(unit_of, *units):
    """units: dwo_id, name, folder."""
    return b"".join([struct.pack(f"<2I{len(unit_of)}I", len(units), 0, *unit_of),
                     *(struct.pack("<QII", dwo_id, len(name), len(folder)) for dwo_id, name, folder in units),
                     *(name + folder for _, name, folder in units)])


def sites_reply(*sites):
    return b"".join([struct.pack("<QQ", 0, 0), *(struct.pack("<QQIIII48s", site[0], 0, *site[1:]) for site in sites)])


def look_reply(*heaps, missing=b"", is_changed=0, unloads_at=0x7f0000001000):
    """heaps: start, limit, reserved, generation, table or None."""
    heads = [struct.pack("<6Q", *heap[:4], heap[4] is not None, len(heap[4] or b"")) for heap in heaps]
    return b"".join([struct.pack("<64s7Q", missing, 2, 1, 300, 0, is_changed, unloads_at, 0), *heads, *(heap[4] or b"" for heap in heaps)])


def code_reply(start, limit, *rows):
    return b"".join([struct.pack("<QQ", start, limit), *(struct.pack("<II", offset, 0) + one for offset, one in rows)])


def methods_reply(*methods):
    """Each has its range, and the names of its frames; each frame's file is the name backwards."""
    heads = [struct.pack("<QQII", start, limit, len(names), 0) for start, limit, *names in methods]
    texts = [name for _, _, *names in methods for name in names]
    frames = [struct.pack("<IIII", len(name), len(name), 12, 10) for name in texts]
    return b"".join(heads) + b"".join(frames) + b"".join(name + name[::-1] for name in texts)


def jitsyms_reply(*pieces):
    pieces = [(*piece, b"", 0)[:6] for piece in pieces]
    heads = [struct.pack("<QQQ4I", start, limit, since, len(name), len(file), line, 0)
             for start, limit, since, name, file, line in pieces]
    return b"".join(heads) + b"".join(name + file for _, _, _, name, file, _ in pieces)


def slots_reply(*slots):
    heads = [struct.pack("<QQII", at, initial, len(name), 0) for at, initial, name in slots]
    return b"".join(heads) + b"".join(name for _, _, name in slots)


def function_reply(name, file, *lines):
    return struct.pack("<4I", len(name), len(file), 7, 0) + b"".join(struct.pack("<II", *line) for line in lines) + name + file


SP8 = 1 << 9
HEAP = 0x7f0000008000
TABLE_OF_HEAP = table_reply([0, 2], [row(0, EXTENDED), row(0x10, SP8)], start=HEAP)
REPLIES = {
    "file": (FILE, 2, file_reply(b"0123456789abcdef", (0x400000, 0x1000, 0, 0x1000, 0), (0x401000, 0x2000, 0x1000, 0x1800, 1))),
    "file_empty": (FILE, 0, file_reply(b"")),
    "file_no_alt": (FILE, 0, file_reply(b"00", alt=b"", alt_id=b"")),
    "file_alt": (FILE, 0, file_reply(b"00", alt=b"a" * 512)),
    "file_alt_id": (FILE, 0, file_reply(b"00", alt_id=b"../x")),
    "file_alt_no_id": (FILE, 0, file_reply(b"00", alt_id=b"")),
    "file_id": (FILE, 0, file_reply(b"XYZ")),
    "file_wraps": (FILE, 1, file_reply(b"00", (2**64 - 1, 0x1000, 0, 0x1000, 1))),
    "table": (TABLE, 0, table_reply([0, 3, 4], [row(0, EXTENDED), row(0x10, SP8), row(0x14, 2 * SP8 | 3), row(0, SP8)])),
    "table_arm64": (TABLE, 0, table_reply([0, 2], [row(0, EXTENDED), row(0x10, EXTENDED)], e_machine=183)),
    "table_machine": (TABLE, 0, table_reply([0, 2], [row(0, EXTENDED), row(0x10, EXTENDED)], e_machine=40)),
    "table_rules": (TABLE, 0, table_reply([0, 2], [row(0, EXTENDED | 4), row(8, EXTENDED | 5)],
                                          [rule(4, 3, 0x11, 16, -16, -8), rule(6, 7, 0x14, 8, 6, 13)], tracks_extra=1)),
    "table_rule": (TABLE, 0, table_reply([0, 1], [row(0, EXTENDED | 9)])),
    "table_pages": (TABLE, 0, table_reply([0, 0, 1], [row(0, EXTENDED)])),
    "table_register": (TABLE, 0, table_reply([0, 1], [row(0, EXTENDED | 4)], [rule(4, 16)])),
    "names": (NAMES, 3, names_reply((2, 0, b"_Z3foov", b"foo()"), (1, 0x401000, b"", b""), (0, 0, b"", b""))),
    "names_cut": (NAMES, 1, names_reply((2, 0, b"main", b""), flags=1)),
    "names_unread": (NAMES, 1, names_reply((2, 0, b"main", b""), flags=2)),
    "names_flags": (NAMES, 1, names_reply((2, 0, b"main", b""), flags=4)),
    "names_same": (NAMES, 1, names_reply((2, 0, b"main", b""))),
    "names_lines": (NAMES, 3, names_reply(
        (2, 0, b"_Z3foov", b"foo()", (b"_Z3barv", b"bar()", b"/src/bar.h", 7, 5), (b"baz", 0, b"", 0, 0), (0, 0, b"/src/foo.c", 12, 10)),
        (2, 0, b"_Z3foov", b"foo()", (0, 0, b"/src/foo.c", 13, 10)), (1, 0x401000, b"", b"", (0, 0, b"/src/foo.c", 1, 0)))),
    "names_no_outermost": (NAMES, 1, names_reply((2, 0, b"main", b"", (b"main", 0, b"", 1, 0)))),
    "names_outer_inside": (NAMES, 1, names_reply((2, 0, b"main", b"", (0, 0, b"", 1, 0), (0, 0, b"", 1, 0)))),
    "names_outer_display": (NAMES, 1, names_reply((2, 0, b"main", b"", (0, 1, b"", 1, 0)))),
    "names_text_number": (NAMES, 1, names_reply((2, 0, 2, 0), texts=[b"main"])),
    "names_file_number": (NAMES, 1, names_reply((2, 0, b"main", b"", (0, 0, 9, 1, 0)))),
    "names_text_empty": (NAMES, 1, names_reply((2, 0, 1, 0), texts=[b""])),
    "names_text_long": (NAMES, 1, names_reply((2, 0, 1, 0), texts=[b"x" * 65537])),
    "names_frames_more": (NAMES, 1, names_reply((2, 0, b"main", b"", (0, 0, b"", 1, 0)), nr_frames=2)),
    "names_frames_many": (NAMES, 1, names_reply((2, 0, b"main", b"", *[(b"f", 0, b"", 1, 0)] * 64, (0, 0, b"", 1, 0)))),
    "names_frames_wrap": (NAMES, 1, names_reply((2, 0, b"main", b""), nr_frames=0xffffffff)),
    "names_start_and_name": (NAMES, 1, names_reply((1, 0x401000, b"main", b""))),
    "names_none_and_start": (NAMES, 1, names_reply((0, 0x401000, b"", b""))),
    "names_kind": (NAMES, 1, names_reply((3, 0, b"", b""))),
    "names_nul": (NAMES, 1, names_reply((2, 0, b"ma\0n", b""))),
    "names_split": (NAMES, 1, names_reply((2, 0, b"main", b""), nr_split=513)),
    "splits": (SPLITS, 4, splits_reply([1, 1, 0, 2], (7, b"a.dwo", b"/src"), (8, b"/o/b.dwo", b""))),
    "splits_none": (SPLITS, 1, splits_reply([0])),
    "splits_unit": (SPLITS, 2, splits_reply([2, 1], (7, b"a.dwo", b"/src"))),
    "splits_units": (SPLITS, 1, splits_reply([1], (7, b"a.dwo", b"/src"), (8, b"b.dwo", b"/src"))),
    "splits_long": (SPLITS, 1, splits_reply([1], (7, b"a" * 1024, b"/src"))),
    "splits_nul": (SPLITS, 1, splits_reply([1], (7, b"a\0b", b"/src"))),
    "splits_more": (SPLITS, 1, splits_reply([1], (7, b"a.dwo", b"/src")) + b"x"),
    "sites": (SITES, 2, sites_reply((0x1234, 0, 1, 4, 0, b"malloc"), (0x2000, 6, 0, 0, 0, b"_ZdlPv"))),
    "sites_none": (SITES, 0, sites_reply()),
    "sites_shape": (SITES, 1, sites_reply((0x1234, 10, 0, 0, 0, b"malloc"))),
    "sites_name": (SITES, 1, sites_reply((0x1234, 0, 0, 0, 0, b"x" * 48))),
    "look": (LOOK, 2, look_reply((HEAP, HEAP + 0x1000, HEAP + 0x4000, 1 << 32 | 1, TABLE_OF_HEAP),
                                 (HEAP + 0x4000, HEAP + 0x5000, HEAP + 0x5000, 1 << 32 | 2, None), is_changed=1)),
    "look_unloads": (LOOK, 0, look_reply(unloads_at=1 << 47)),
    "look_missing": (LOOK, 0, look_reply(missing=b"CodeCache::_heaps")),
    "look_order": (LOOK, 2, look_reply((HEAP, HEAP, HEAP + 0x1000, 0, None), (HEAP, HEAP, HEAP, 0, None))),
    "look_short": (LOOK, 1, look_reply((HEAP, HEAP + 0x1000, HEAP + 0x1000, 1, TABLE_OF_HEAP))[:-1]),
    "code": (CODE, 2, code_reply(HEAP, HEAP + 20, (0, rule(4, 7, 0x10, 8, 0, -8)), (7, rule(10)))),
    "code_order": (CODE, 2, code_reply(HEAP, HEAP + 20, (0, rule(0)), (0, rule(1)))),
    "code_rule": (CODE, 1, code_reply(HEAP, HEAP + 20, (0, rule(12)))),
    "methods": (METHODS, 2, methods_reply((HEAP, HEAP + 64, b"a.b.Some.inlined", b"a.b.Some.method"), (HEAP + 64, HEAP + 65, b"a stub"))),
    "methods_interpreted": (METHODS, 2, methods_reply((1 << 61, (1 << 61) + 1, b"a.B.c"), ((1 << 62) - 1, 1 << 62, b"a.B.d"))),
    "methods_interpreted_no": (METHODS, 1, methods_reply((1 << 62, (1 << 62) + 1, b"a.B.c"))),
    "methods_none": (METHODS, 0, methods_reply()),
    "methods_nul": (METHODS, 1, methods_reply((HEAP, HEAP + 64, b"a\0b"))),
    "jitsyms": (JITSYMS, 2, jitsyms_reply((HEAP, HEAP + 64, 5, b"LazyCompile:*f"), (HEAP + 64, HEAP + 65, 0, b"g"))),
    "jitsyms_lines": (JITSYMS, 2, jitsyms_reply((HEAP, HEAP + 64, 5, b"f", b"a.js", 7), (HEAP + 64, HEAP + 65, 0, b"g"))),
    "jitsyms_no_file": (JITSYMS, 1, jitsyms_reply((HEAP, HEAP + 64, 5, b"f", b"", 7))),
    "jitsyms_none": (JITSYMS, 0, jitsyms_reply()),
    "jitsyms_range": (JITSYMS, 1, jitsyms_reply((HEAP, HEAP, 5, b"f"))),
    "slots": (SLOTS, 2, slots_reply((0x2000, 0, b"bcmp"), (0x2008, 0x1036, b"memcmp"))),
    "slots_none": (SLOTS, 0, slots_reply()),
    "slots_name": (SLOTS, 1, slots_reply((0x2000, 0, b"x" * 256))),
    "file_runtime": (FILE, 0, file_reply(b"", kind=999)),
    "file_loop": (FILE, 0, file_reply(b"", loop=(2, 1))),
    "function": (FUNCTION, 2, function_reply(b"json.decoder.decode", b"/usr/lib/python3.11/json/decoder.py", (4, 7), (20, 8))),
    "function_no_file": (FUNCTION, 0, function_reply(b"f", b"")),
    "function_nameless": (FUNCTION, 0, function_reply(b"", b"a.py")),
    "function_order": (FUNCTION, 2, function_reply(b"f", b"a.py", (20, 7), (4, 8))),
    "function_nul": (FUNCTION, 0, function_reply(b"f\0g", b"a.py")),
    "crc": (CRC, 1, struct.pack("<Q", 0xdeadbeef)),
    "crc_large": (CRC, 1, struct.pack("<Q", 1 << 32)),
    "variables": (VARIABLES, 12, struct.pack("<12Q", *range(0, 12 << 12, 1 << 12))),
    "variables_more": (VARIABLES, 13, bytes(8 * 13)),
    "names_short": (NAMES, 2, names_reply((2, 0, b"main", b""))),
}

if __name__ == "__main__":
    os.makedirs(HERE, exist_ok=True)
    for name, (kind, nr, payload) in REPLIES.items():
        with open(os.path.join(HERE, name), "wb") as out:
            out.write(struct.pack("<BI", kind, nr) + payload)
