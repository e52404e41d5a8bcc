#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes tests/fuzz/corpus/dwarf/: small ELF files with DWARF, good_WHAT in the forms of the versions, the others with
one lie each.

In the good ones 0x401010 is in g, at line 7 of /src/b.h, inlined at line 12 of /src/a.c into f, which begins at line 10.
"""
import os
import struct
import sys

OUT = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "corpus/dwarf")
EHDR, PHDR, SHDR = "<16sHHIQQQIHHHHHH", "<IIQQQQQQ", "<IIQQQQIIQQ"
TEXT = 0x401000
(ADDR, DATA2, DATA4, STRING, DATA1, STRP, UDATA, REF4, SEC, EXPRLOC, FLAG1, STRX, ADDRX, IMPLICIT, RNGLISTX, LINE_STRP,
 REF_ADDR, INDIRECT) = (1, 5, 6, 8, 0xb, 0xe, 0xf, 0x13, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x21, 0x23, 0x1f, 0x10, 0x16)
UNIT, FUNCTION, INLINED, TYPE = 0x11, 0x2e, 0x1d, 0x13
(SIBLING, NAME, STMT, LOW, HIGH, DIR, ORIGIN, LINE, SPEC, RANGES, CALL_FILE, CALL_LINE, LINKAGE, STR_BASE, ADDR_BASE,
 RNG_BASE) = (1, 3, 0x10, 0x11, 0x12, 0x1b, 0x31, 0x3b, 0x47, 0x55, 0x58, 0x59, 0x6e, 0x72, 0x73, 0x74)


def uleb(n):
    out = b""
    while True:
        out += bytes([n & 127 | (128 if n >> 7 else 0)])
        n >>= 7
        if not n:
            return out


def sleb(n):
    return bytes([n & 127 | 128, n >> 7 & 127])


def abbrev(code, tag, children, attrs):
    out = uleb(code) + uleb(tag) + bytes([children])
    for name, form in attrs:
        out += uleb(name) + uleb(form) + (sleb(10) if form == IMPLICIT else b"")
    return out + b"\0\0"


def string(text):
    return text.encode() + b"\0"


STRS = [string(s) for s in ("f", "g", "_Z1gi", "/src", "a.c", "b.h")]
STR_AT = {s[:-1].decode(): sum(map(len, STRS[:i])) for i, s in enumerate(STRS)}


def header(version, body, abbrev_off=0, addr_bytes=8, unit_type=1):
    """The body begins behind the header: 11 bytes of it, 12 since version 5."""
    rest = struct.pack("<HBBI", version, unit_type, addr_bytes, abbrev_off) if version >= 5 else \
        struct.pack("<HIB", version, abbrev_off, addr_bytes)
    return struct.pack("<I", len(rest + body)) + rest + body


def info(version, **lie):
    """.debug_abbrev and .debug_info: a unit, a type, g, f, and g inlined into f."""
    five = version >= 5
    name, at = (STRX, lambda s: uleb(list(STR_AT).index(s))) if five else (STRP, lambda s: struct.pack("<I", STR_AT[s]))
    begin = 12 if five else 11
    low, low_is = (ADDRX, b"\0") if five else (ADDR, struct.pack("<Q", TEXT))
    unit = [(STMT, SEC), (DIR, name), (LOW, low), (HIGH, DATA4)] + \
        ([(STR_BASE, SEC), (ADDR_BASE, SEC), (RNG_BASE, SEC)] if five else [])
    unit_is = struct.pack("<I", lie.get("stmt", 0)) + at("/src") + low_is + struct.pack("<I", lie.get("length", 0x80)) + \
        (struct.pack("<III", lie.get("str_base", 8), lie.get("addr_base", 8), lie.get("rng_base", 12)) if five else b"")
    ranges, ranges_is = (RNGLISTX, uleb(lie.get("range", 0))) if five else (SEC, struct.pack("<I", lie.get("range", 0)))
    kind = lie.get("kind", [])
    abbrevs = abbrev(1, lie.get("unit_tag", UNIT), 1, unit)
    abbrevs += abbrev(2, TYPE, 1, [(NAME, STRING), (SIBLING, REF4)])
    abbrevs += abbrev(3, FUNCTION, 0, [(NAME, name), (LINKAGE, name), (LINE, DATA1)])
    abbrevs += abbrev(4, FUNCTION, 1, [(NAME, name), (LINE, IMPLICIT if five else DATA1), (LOW, low), (HIGH, DATA4)] + kind)
    abbrevs += abbrev(5, INLINED, lie.get("deep", 0) > 0, [(ORIGIN, lie.get("origin_form", REF4)), (RANGES, ranges),
                                                           (CALL_FILE, DATA1), (CALL_LINE, DATA1)])
    abbrevs += lie.get("abbrevs", b"") + b"\0"
    body = b"\1" + unit_is
    sibling = begin + len(body) + 2 + 4 + 1 + 1
    body += b"\2" + string("t")[1:] + struct.pack("<I", lie.get("sibling", sibling - 1)) + b"\0"
    g = begin + len(body)
    body += b"\3" + at("g") + at("_Z1gi") + b"\6"
    body += b"\4" + at("f") + (b"" if five else b"\x0a") + low_is + struct.pack("<I", 0x40) + lie.get("kind_is", b"")
    origin = struct.pack("<I", lie.get("origin", g if lie.get("origin_form") != REF_ADDR else g))
    if lie.get("to_self"):
        origin = struct.pack("<I", begin + len(body))
    body += (b"\5" + origin + ranges_is + bytes([lie.get("call_file", 1), 12])) * max(1, lie.get("deep", 0))
    body += lie.get("tail", b"\0" * (2 + lie.get("deep", 0)))
    unit = header(lie.get("says", version), body, lie.get("abbrev_off", 0), lie.get("addr_bytes", 8),
                  lie.get("unit_type", 1))
    return abbrevs[:lie.get("cut_abbrev", len(abbrevs))], (unit * lie.get("units", 1))[:lie.get("cut_info")]


def lines(version, **lie):
    five = version >= 5
    if five:
        names = bytes([1, 1, LINE_STRP]) + b"\1" + struct.pack("<I", 0)
        names += bytes([2, 1, STRING, 2, UDATA]) + uleb(lie.get("nr_files", 3))
        names += string("a.c") + b"\0" + string("a.c") + b"\0" + string("b.h") + uleb(lie.get("dir", 0))
    else:
        names = b"\0" + string("a.c") + b"\0\0\0" + string("b.h") + uleb(lie.get("dir", 0)) + b"\0\0\0"
    sizes = bytes([1] + ([1] if version >= 4 else []) + [1, 0xfb, lie.get("range_of_lines", 14), lie.get("opcodes", 13)])
    sizes += bytes([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1])
    program = b"\0\x09\2" + struct.pack("<Q", lie.get("start", TEXT))
    program += b"\3" + sleb(9) + b"\1"                                      # line 10
    program += b"\2\x10" + b"\4" + uleb(lie.get("file", 2)) + b"\3" + b"\x7d" + b"\1"  # +0x10, b.h, line 7
    program += lie.get("more", b"")
    program += b"\2\x10" + b"\4\1" + b"\3" + sleb(6) + b"\1" + b"\2\x60" + lie.get("end", b"\0\1\1")
    head = struct.pack("<I", lie.get("head", len(sizes + names))) + sizes + names
    rest = struct.pack("<H", lie.get("line_version", version)) + (b"\x08\0" if five else b"") + head + program
    return (struct.pack("<I", lie.get("line_length", len(rest))) + rest)[:lie.get("cut_line")]


def elf(sections):
    """sections: {name: bytes}. The code's segment has no bytes in the file."""
    names, table = b"\0", [struct.pack(SHDR, *[0] * 10)]
    image, at = b"", 64 + 56
    for name, data in {**sections, ".shstrtab": b""}.items():
        offset = len(names)
        names += name.encode() + b"\0"
        data = names if name == ".shstrtab" else data
        table.append(struct.pack(SHDR, offset, 3 if name == ".shstrtab" else 1, 0, 0, at + len(image), len(data), 0, 0, 1, 0))
        image += data
    image += bytes(-(at + len(image)) % 8)
    head = struct.pack(EHDR, b"\x7fELF\2\1\1" + bytes(9), 2, 62, 1, TEXT, 64, at + len(image), 0, 64, 56, 1, 64,
                       len(table), len(table) - 1)
    return head + struct.pack(PHDR, 1, 5, 0, TEXT, TEXT, 0, 0x1000, 4096) + image + b"".join(table)


def program(version=5, **lie):
    abbrevs, dies = info(version, **lie)
    entries = b"\1\0" + b"\4\x10\x20" + b"\0"                              # base: address 0; +0x10 to +0x20
    sections = {
        ".debug_info": dies, ".debug_abbrev": abbrevs, ".debug_line": lines(version, **lie), ".debug_str": b"".join(STRS),
        ".debug_line_str": string("/src"), ".debug_addr": struct.pack("<IHBBQ", 12, 5, 8, 0, TEXT),
        ".debug_str_offsets": struct.pack("<IHH6I", 28, 5, 0, *STR_AT.values()),
        ".debug_rnglists": struct.pack("<IHBBII", 12 + len(entries), 5, 8, 0, 1, 4) + lie.get("rnglist", entries),
        ".debug_ranges": lie.get("ranges", struct.pack("<4Q", 0x10, 0x20, 0, 0)),
    }
    for name in lie.get("without", []):
        del sections[".debug_" + name]
    return elf(sections)


def files():
    for version in 2, 3, 4, 5:
        yield f"good_{version}", program(version)
    yield "good_5_ref_addr", program(origin_form=REF_ADDR)
    yield "good_4_ref_addr", program(4, origin_form=REF_ADDR)
    yield "good_5_no_children_of_type_skipped", program(sibling=0)
    yield "good_5_twice", program(units=2)
    for version in 4, 5:
        for name, lie in {
                "version_0": {"says": 0}, "version_6": {"says": 6}, "address_of_1": {"addr_bytes": 1},
                "address_of_4": {"addr_bytes": 4}, "type_unit": {"unit_type": 2}, "unit_type": {"unit_type": 0x80},
                "abbrev_behind_end": {"abbrev_off": 1 << 31}, "abbrev_cut": {"cut_abbrev": 9}, "info_cut": {"cut_info": 30},
                "info_cut_in_length": {"cut_info": 3}, "stmt_behind_end": {"stmt": 1 << 31}, "stmt_inside": {"stmt": 5},
                "length_zero": {"length": 0}, "length_all": {"length": 0xffffffff}, "sibling_backward": {"sibling": 12},
                "sibling_behind_end": {"sibling": 1 << 30}, "origin_behind_end": {"origin": 1 << 30},
                "origin_in_header": {"origin": 2}, "origin_in_middle": {"origin": 20}, "origin_is_self": {"to_self": True},
                "range_behind_end": {"range": 1 << 30}, "call_file": {"call_file": 255}, "deep": {"deep": 300},
                "no_end": {"tail": b""}, "tail": {"tail": b"\xff" * 64}, "without_line": {"without": ["line"]},
                "without_str": {"without": ["str", "line_str"]}, "without_abbrev": {"without": ["abbrev"]},
                "without_tables": {"without": ["addr", "str_offsets", "rnglists", "ranges"]},
                "form_unknown": {"kind": [(NAME, 0x7f)]}, "form_indirect": {"kind": [(NAME, INDIRECT)], "kind_is": b"\x16"},
                "block_too_long": {"kind": [(2, EXPRLOC)], "kind_is": b"\xff\xff\xff\xff\x7f"},
                "many_attributes": {"abbrevs": abbrev(6, TYPE, 0, [(NAME, FLAG1)] * 5000)},
                "code_again": {"abbrevs": abbrev(1, TYPE, 0, [(NAME, DATA1)])},
                "code_huge": {"abbrevs": abbrev((1 << 64) - 1, TYPE, 0, [(NAME, DATA1)])},
                "lines_of_version_9": {"line_version": 9}, "line_range_0": {"range_of_lines": 0}, "opcodes_0": {"opcodes": 0},
                "opcodes_255": {"opcodes": 255}, "line_cut": {"cut_line": 40}, "line_length": {"line_length": 1 << 20},
                "line_head": {"head": 1 << 30}, "file_huge": {"file": 1 << 40}, "dir_huge": {"dir": 1 << 40},
                "start_0": {"start": 0}, "start_last": {"start": (1 << 64) - 16}, "no_end_of_sequence": {"end": b""},
                "extended_empty": {"more": b"\0\0" * 9}, "extended_too_long": {"more": b"\0\xff\xff\x7f\2"},
                "set_address_of_20": {"more": b"\0\x15\2" + bytes(20)}, "to_and_fro": {
                    "more": (b"\0\x09\2" + struct.pack("<Q", TEXT) + b"\1\2\x40\1") * 200},
                "define_file": {"more": b"\0\x06\3" + string("c.h") + b"\0"}, "wraps": {
                    "more": b"\2" + b"\xff" * 9 + b"\1\1"}}.items():
            yield f"bad_{version}_{name}", program(version, **lie)
    for name, entries in {"kind": b"\x09", "no_end": b"\4\1\2", "index": b"\3\x7f\1\0", "backward": b"\1\0\4\x20\x10\0",
                          "start_end": b"\6" + struct.pack("<QQ", TEXT, TEXT - 1) + b"\0",
                          "all": b"\7" + struct.pack("<Q", 2) + b"\xff" * 9 + b"\1\0",
                          "many": b"\1\0" + b"\4\x10\x20" * 3000 + b"\0"}.items():
        yield f"bad_5_rnglist_{name}", program(rnglist=entries)
    for name, pairs in {"no_end": (1, 2), "all": (0, (1 << 64) - 2, 0, 0), "base": ((1 << 64) - 1, 8, 0x10, 0x20, 0, 0),
                        "backward": (0x20, 0x10, 0, 0)}.items():
        yield f"bad_4_ranges_{name}", program(4, ranges=struct.pack(f"<{len(pairs)}Q", *pairs))
    for name in "str_base", "addr_base", "rng_base":
        yield f"bad_5_{name}", program(**{name: 1 << 31})
    yield "bad_5_nr_files", program(nr_files=1 << 40)
    for name, size in (("zdebug", 1 << 60), ("zdebug_ratio", 1 << 24)):
        yield f"bad_{name}", elf({".zdebug_info": b"ZLIB" + struct.pack(">Q", size) + b"x\x9c" + bytes(20),
                                  ".debug_abbrev": info(5)[0]})


def main():
    os.makedirs(OUT, exist_ok=True)
    for name, image in files():
        with open(os.path.join(OUT, name), "wb") as file:
            file.write(image)


main()
