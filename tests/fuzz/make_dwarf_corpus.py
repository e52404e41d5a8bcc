#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes tests/fuzz/corpus/dwarf/: small ELF files with DWARF, good_WHAT in the forms of the versions, the others with
one lie each.

Those with "split" in their names have the split unit, or a package of it, in themselves, too. Those with "alt" in their names are their own alternate file (.gnu_debugaltlink, .debug_sup).

In the good ones 0x401010 is in g, at line 7 of /src/b.h, inlined at line 12 of /src/a.c into f, which begins at line 10.
"""
import os
import struct
import sys
import zlib

OUT = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "corpus/dwarf")
EHDR, PHDR, SHDR = "<16sHHIQQQIHHHHHH", "<IIQQQQQQ", "<IIQQQQIIQQ"
TEXT = 0x401000
(ADDR, DATA2, DATA4, STRING, DATA1, STRP, UDATA, REF4, SEC, EXPRLOC, FLAG1, STRX, ADDRX, IMPLICIT, RNGLISTX, LINE_STRP,
 REF_ADDR, INDIRECT) = (1, 5, 6, 8, 0xb, 0xe, 0xf, 0x13, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x21, 0x23, 0x1f, 0x10, 0x16)
REF_ALT, STRP_ALT, REF_SUP, STRP_SUP = 0x1f20, 0x1f21, 0x1c, 0x1d
BUILD_ID = bytes(range(20))
DWO_NAME, GNU_NAME, GNU_ID, GNU_RANGES, GNU_ADDR, GNU_ADDRX, GNU_STRX = 0x76, 0x2130, 0x2131, 0x2132, 0x2133, 0x1f01, 0x1f02
DATA8, DWO_ID = 7, 0x1122334455667788
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
    f_name = lie.get("name_form", name)
    f_name_is = at("f") if f_name == name else struct.pack("<I", lie.get("name", STR_AT["f"]))
    abbrevs += abbrev(3, FUNCTION, 0, [(NAME, name), (LINKAGE, name), (LINE, DATA1)])
    abbrevs += abbrev(4, FUNCTION, 1, [(NAME, f_name), (LINE, IMPLICIT if five else DATA1), (LOW, low), (HIGH, DATA4)] + kind)
    abbrevs += abbrev(5, INLINED, lie.get("deep", 0) > 0, [(ORIGIN, lie.get("origin_form", REF4)), (RANGES, ranges),
                                                           (CALL_FILE, DATA1), (CALL_LINE, DATA1)])
    abbrevs += lie.get("abbrevs", b"") + b"\0"
    body = b"\1" + unit_is
    sibling = begin + len(body) + 2 + 4 + 1 + 1
    body += b"\2" + string("t")[1:] + struct.pack("<I", lie.get("sibling", sibling - 1)) + b"\0"
    g = begin + len(body)
    body += b"\3" + at("g") + at("_Z1gi") + b"\6"
    body += b"\4" + f_name_is + (b"" if five else b"\x0a") + low_is + struct.pack("<I", 0x40) + lie.get("kind_is", b"")
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


def zstd(data):
    """A frame of blocks that are not compressed, 16 bytes each."""
    blocks = [data[i:i + 16] for i in range(0, len(data), 16)]
    heads = [(len(block) << 3 | (i == len(blocks) - 1)).to_bytes(3, "little") for i, block in enumerate(blocks)]
    return b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", len(data)) + b"".join(map(b"".join, zip(heads, blocks)))


def packed(method, data, compressed, says=None):
    """The bytes of a compressed section."""
    return struct.pack("<IIQQ", method, 0, len(data) if says is None else says, 1) + compressed


PACK = {"zlib": lambda data: packed(1, data, zlib.compress(data)), "zstd": lambda data: packed(2, data, zstd(data)),
        "zstd_frames": lambda data: packed(2, data, zstd(data[:7]) + zstd(data[7:])),
        "zdebug": lambda data: b"ZLIB" + struct.pack(">Q", len(data)) + zlib.compress(data)}


def elf(sections, compress=None):
    """sections: {name: bytes}. The code's segment has no bytes in the file. compress: what those of DWARF become."""
    is_flagged = compress and compress != PACK["zdebug"]
    if compress:
        sections = {name if is_flagged else name.replace(".debug", ".zdebug"): compress(data)
                    for name, data in sections.items()}
    names, table = b"\0", [struct.pack(SHDR, *[0] * 10)]
    image, at = b"", 64 + 56
    for name, data in {**sections, ".shstrtab": b""}.items():
        offset = len(names)
        names += name.encode() + b"\0"
        data = names if name == ".shstrtab" else data
        table.append(struct.pack(SHDR, offset, {".shstrtab": 3, ".note.gnu.build-id": 7}.get(name, 1),
                                 0x800 if is_flagged and name != ".shstrtab" else 0, 0, at + len(image), len(data), 0, 0, 1, 0))
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
    sections.update(lie.get("sections", {}))
    for name in lie.get("without", []):
        del sections[".debug_" + name]
    return elf(sections, lie.get("compress"))


def alt(link=b"alt\0" + BUILD_ID):
    return {".gnu_debugaltlink": link, ".note.gnu.build-id": struct.pack("<III4s", 4, 20, 3, b"GNU\0") + BUILD_ID}


def sup(version=5, is_alt=0, path=b"alt\0", size=20):
    return {".debug_sup": struct.pack("<HB", version, is_alt) + path + uleb(size) + BUILD_ID,
            ".note.gnu.build-id": struct.pack("<III4s", 4, 20, 3, b"GNU\0") + BUILD_ID}


def unit_of(version, body, unit_type, dwo_id, **lie):
    """A unit that has its id in the header, since version 5."""
    if version >= 5:
        body = struct.pack("<Q", dwo_id) + body
    return header(lie.get("says", version), body, lie.get("abbrev_off", 0), lie.get("addr_bytes", 8), unit_type)


def skeleton(version, **lie):
    """.debug_abbrev and .debug_info of the linked file."""
    attrs = [(STMT, SEC), (DIR, STRING), (LOW, ADDR), (HIGH, DATA4), (DWO_NAME if version >= 5 else GNU_NAME, STRING),
             (ADDR_BASE if version >= 5 else GNU_ADDR, SEC)]
    body = b"\1" + struct.pack("<I", 0) + string("/src") + struct.pack("<QI", TEXT, 0x80) + string("a.dwo") + \
        struct.pack("<I", lie.get("addr_base", 8))
    if version < 5:
        attrs += [(GNU_ID, DATA8), (GNU_RANGES, SEC)]
        body += struct.pack("<QI", DWO_ID, lie.get("ranges_base", 32))
    return abbrev(1, UNIT, 0, attrs) + b"\0", unit_of(version, body, 4, DWO_ID)


def split_unit(version, **lie):
    """.debug_abbrev.dwo and .debug_info.dwo: g, f, and g inlined into f."""
    five = version >= 5
    strx, addrx = (STRX, ADDRX) if five else (GNU_STRX, GNU_ADDRX)
    abbrevs = abbrev(1, UNIT, 1, [(NAME, strx)] + ([] if five else [(GNU_ID, DATA8)]))
    abbrevs += abbrev(3, FUNCTION, 0, [(NAME, strx), (LINKAGE, strx), (LINE, DATA1)])
    abbrevs += abbrev(4, FUNCTION, 1, [(NAME, strx), (LINE, DATA1), (LOW, addrx), (HIGH, DATA4)])
    abbrevs += abbrev(5, INLINED, 0, [(ORIGIN, REF4), (RANGES, RNGLISTX if five else SEC), (CALL_FILE, DATA1),
                                      (CALL_LINE, DATA1)]) + b"\0"
    body = b"\1\4" + (b"" if five else struct.pack("<Q", lie.get("dwo_id", DWO_ID)))
    g = (20 if five else 11) + len(body)
    body += b"\3\1\2\6" + b"\4" + uleb(lie.get("str", 0)) + b"\x0a" + uleb(lie.get("addr", 0)) + struct.pack("<I", 0x40)
    body += b"\5" + struct.pack("<I", g) + (b"\0" if five else struct.pack("<I", lie.get("range", 0))) + b"\1\x0c" + b"\0\0"
    return abbrevs, unit_of(version, body, lie.get("unit_type", 5), lie.get("dwo_id", DWO_ID),
                            **{key: lie[key] for key in ("says", "addr_bytes") if key in lie})


def index(version, offsets, **lie):
    """.debug_cu_index of one unit, in the second of two slots that its id leads to."""
    columns = lie.get("columns", [1, 3, 6, 8] if version >= 5 else [1, 3, 6])
    ids, rows = [9, lie.get("id", DWO_ID)], [1, lie.get("row", 1)]
    head = struct.pack("<4I", version if version >= 5 else 2, len(columns), lie.get("units", 1), lie.get("slots", 2))
    return (head + struct.pack("<2Q2I", *ids, *rows) + struct.pack(f"<{len(columns)}I", *columns) +
            struct.pack(f"<{len(columns)}I", *offsets[:len(columns)], *[0] * (len(columns) - len(offsets))) +
            struct.pack(f"<{len(columns)}I", *[64] * len(columns)))[:lie.get("cut")]


def split(version=5, package=False, package_lie=None, **lie):
    five = version >= 5
    abbrevs, dies = skeleton(version, **lie)
    split_abbrevs, split_dies = split_unit(version, **lie)
    entries = b"\1\0" + b"\4\x10\x20" + b"\0"
    offsets = struct.pack("<IHH", 28, 5, 0) if five else b""
    sections = {
        ".debug_info": dies, ".debug_abbrev": abbrevs, ".debug_line": lines(version), ".debug_line_str": string("/src"),
        ".debug_addr": bytes(8) + struct.pack("<Q", TEXT), ".debug_ranges": bytes(32) + struct.pack("<4Q", 0x10, 0x20, 0, 0),
        ".debug_info.dwo": split_dies, ".debug_abbrev.dwo": split_abbrevs, ".debug_str.dwo": b"".join(STRS),
        ".debug_str_offsets.dwo": offsets + struct.pack("<6I", *STR_AT.values()),
        ".debug_rnglists.dwo": struct.pack("<IHBBII", 12 + len(entries), 5, 8, 0, 1, 4) + entries,
    }
    if package:
        before = {".debug_info.dwo": struct.pack("<I", 3) + bytes(3), ".debug_abbrev.dwo": bytes(4),
                  ".debug_str_offsets.dwo": bytes(12), ".debug_rnglists.dwo": bytes(20)}
        for name, data in before.items():
            sections[name] = data + sections[name]
        starts = [len(data) for data in before.values()]
        sections[".debug_cu_index"] = index(version, (package_lie or {}).get("offsets", starts), **{
            key: value for key, value in (package_lie or {}).items() if key != "offsets"})
    for name in lie.get("without", []):
        del sections[".debug_" + name]
    return elf(sections)


def split_files():
    for version in 4, 5:
        yield f"good_{version}_split", split(version)
        yield f"good_{version}_split_package", split(version, True)
        for name, lie in {
                "another": {"dwo_id": 7}, "addr_base": {"addr_base": 1 << 31}, "addr": {"addr": 1 << 60}, "str": {"str": 1 << 62},
                "says_4": {"says": 4}, "says_9": {"says": 9}, "address_of_4": {"addr_bytes": 4}, "no_skeleton": {"unit_type": 1},
                "skeleton": {"unit_type": 4}, "ranges_base": {"ranges_base": 0xfffffff0, "range": 0xffffffff},
                "without_abbrev": {"without": ["abbrev.dwo"]}, "without_str": {"without": ["str.dwo"]},
                "without_tables": {"without": ["str_offsets.dwo", "rnglists.dwo", "addr", "ranges"]}}.items():
            yield f"bad_{version}_split_{name}", split(version, **lie)
        for name, lie in {
                "cut": {"cut": 20}, "cut_in_head": {"cut": 9}, "empty": {"cut": 0}, "slots_0": {"slots": 0},
                "slots_3": {"slots": 3}, "slots_many": {"slots": 1 << 31}, "columns_17": {"columns": [1] * 17},
                "no_columns": {"columns": []}, "info_twice": {"columns": [1, 1, 3, 6]}, "row": {"row": 2},
                "row_0": {"row": 0}, "units_many": {"row": 1 << 31, "units": (1 << 32) - 1}, "another": {"id": 8},
                "info": {"offsets": [5, 4, 12, 20]}, "info_0": {"offsets": [0, 4, 12, 20]},
                "offsets": {"offsets": [7, 1 << 31, 1 << 31, 1 << 31]}}.items():
            yield f"bad_{version}_package_{name}", split(version, True, lie)


def alt_files():
    yield "good_4_alt", program(4, origin_form=REF_ALT, name_form=STRP_ALT, sections=alt())
    yield "good_5_alt", program(origin_form=REF_SUP, name_form=STRP_SUP, sections=alt())
    yield "good_5_alt_by_sup", program(origin_form=REF_SUP, name_form=STRP_SUP, sections=sup())
    for name, lie in {"ref_behind_end": {"origin_form": REF_ALT, "origin": 1 << 31},
                      "ref_in_middle": {"origin_form": REF_ALT, "origin": 21},
                      "ref_to_caller": {"origin_form": REF_ALT, "to_self": True},
                      "strp_behind_end": {"origin_form": REF_ALT, "name_form": STRP_ALT, "name": 1 << 31}}.items():
        yield f"bad_5_alt_{name}", program(**lie, sections=alt())
    for name, link in {"empty": b"", "no_nul": b"alt", "no_id": b"alt\0", "no_path": b"\0" + BUILD_ID,
                       "long_path": b"a" * 512 + b"\0" + BUILD_ID, "long_id": b"alt\0" + BUILD_ID * 4,
                       "another": b"alt\0" + BUILD_ID[::-1]}.items():
        yield f"bad_5_altlink_{name}", program(origin_form=REF_ALT, name_form=STRP_ALT, sections=alt(link))
    for name, lie in {"version": {"version": 4}, "is_alt": {"is_alt": 1}, "no_path": {"path": b""}, "size": {"size": 21},
                      "size_huge": {"size": 1 << 63}, "size_0": {"size": 0}}.items():
        yield f"bad_5_sup_{name}", program(origin_form=REF_SUP, name_form=STRP_SUP, sections=sup(**lie))


def files():
    yield from alt_files()
    yield from compressed_files()
    yield from split_files()
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


def compressed_files():
    for name, compress in PACK.items():
        yield f"good_5_{name}", program(compress=compress)
    for method, pack in (1, zlib.compress), (2, zstd):
        for name, compress in {
                "cut": lambda data: packed(method, data, pack(data)[:-5]),
                "more": lambda data: packed(method, data, pack(data) + b"more"),
                "says_less": lambda data: packed(method, data, pack(data), len(data) - 1),
                "says_more": lambda data: packed(method, data, pack(data), len(data) + 1),
                "says_256_MB": lambda data: packed(method, data, pack(data), 256 << 20),
                "says_0": lambda data: packed(method, data, pack(data), 0),
                "says_all": lambda data: packed(method, data, pack(data), (1 << 64) - 1),
                "nothing": lambda data: packed(method, data, b""),
                "head_cut": lambda data: packed(method, data, b"")[:23],
                "another_method": lambda data: packed(3 - method, data, pack(data)),
                "unknown_method": lambda data: packed(method + 2, data, pack(data)),
                "damaged": lambda data: packed(method, data, pack(data)[:-9] + b"\xff\xee" + pack(data)[-7:])}.items():
            yield f"bad_5_packed_{method}_{name}", program(compress=compress)
    # 4-byte blocks of one byte repeated 128 K times, of empty ones, and a window of 2 GB
    begin = b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", 64 << 20)
    repeated = begin + b"\2\0\x10\0" * 511 + b"\3\0\x10\0"
    for name, frame in {"bomb": repeated, "empty_blocks": begin + b"\0\0\0" * 1000,
                        "window": b"\x28\xb5\x2f\xfd\x00\xa8\1\0\0"}.items():
        yield f"bad_5_zstd_{name}", program(sections={".debug_str": packed(2, b"", frame, 64 << 20)},
                                            compress=lambda data: data if data[:4] == b"\2\0\0\0" else PACK["zstd"](data))


def main():
    os.makedirs(OUT, exist_ok=True)
    for name, image in files():
        with open(os.path.join(OUT, name), "wb") as file:
            file.write(image)


main()
