#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes tests/fuzz/corpus/elf/: one small good ELF file, and the same with one lie in each.

The good one has a text section, two functions, a PLT stub with its relocation, and a build-id.
"""
import os
import struct
import sys

OUT = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "corpus/elf")
EHDR, PHDR, SHDR, SYM, RELA = "<16sHHIQQQIHHHHHH", "<IIQQQQQQ", "<IIQQQQIIQQ", "<IBBHQQ", "<QQq"
TEXT, PLT, GOT = 0x1000, 0x1100, 0x2000


def strings(*names):
    table, offsets = b"\0", {}
    for name in names:
        offsets[name] = len(table)
        table += name.encode() + b"\0"
    return table, offsets


def build(**lie):
    """lie: header field -> value, "section.field" -> value, "cut" -> length, "bytes.name" -> bytes."""
    strtab, s = strings("outer", "_ZN3foo3barEv", "unsized", "malloc")
    note = struct.pack("<III", 4, 20, 3) + b"GNU\0" + bytes(range(20))
    body = {
        ".text": b"\x90" * 0x80,
        ".plt.sec": b"\xf3\x0f\x1e\xfa\xff\x25" + struct.pack("<i", GOT - PLT - 10) + b"\x90" * 6,
        ".symtab": struct.pack(SYM, 0, 0, 0, 0, 0, 0)
        + struct.pack(SYM, s["outer"], 0x12, 0, 1, TEXT, 0x40)
        + struct.pack(SYM, s["_ZN3foo3barEv"], 0x12, 0, 1, TEXT + 0x10, 8)
        + struct.pack(SYM, s["unsized"], 0x02, 0, 1, TEXT + 0x60, 0),
        ".strtab": strtab,
        ".dynsym": struct.pack(SYM, 0, 0, 0, 0, 0, 0)
        + struct.pack(SYM, s["malloc"], 0x12, 0, 0, 0, 0),
        ".rela.plt": struct.pack(RELA, GOT, 1 << 32 | 7, 0),
        ".note.gnu.build-id": note,
    }
    for name in list(body):
        body[name] = lie.get("bytes" + name, body[name])
    shstrtab, n = strings(*body, ".shstrtab")
    body[".shstrtab"] = shstrtab
    # name -> type, flags, addr, link, entsize
    kinds = {
        ".text": (1, 6, TEXT, 0, 0), ".plt.sec": (1, 6, PLT, 0, 16), ".symtab": (2, 0, 0, 4, 24),
        ".strtab": (3, 0, 0, 0, 0), ".dynsym": (11, 2, 0, 4, 24), ".rela.plt": (4, 2, 0, 5, 24),
        ".note.gnu.build-id": (7, 2, 0, 0, 0), ".shstrtab": (3, 0, 0, 0, 0),
    }
    fields = ("name", "type", "flags", "addr", "offset", "size", "link", "info", "align", "entsize")
    image, at = b"", 64 + 2 * 56
    headers = [lie.get("null", struct.pack(SHDR, *[0] * 10))]
    for name, data in body.items():
        kind, flags, addr, link, entsize = kinds[name]
        values = [n[name], kind, flags, addr, at + len(image), len(data), link, 0, 1, entsize]
        for i, field in enumerate(fields):
            values[i] = lie.get(name + "." + field, values[i])
        headers.append(struct.pack(SHDR, *values))
        image += data + b"\0" * (-len(data) % 8)
    shoff = at + len(image)
    note_at = lie.get("note_at", at)
    segments = [
        [1, lie.get("p_flags", 5), lie.get("p_offset", 0), lie.get("p_vaddr", 0), 0,
         lie.get("p_filesz", shoff), lie.get("p_memsz", 0x2000), 0x1000],
        [4, 4, note_at, 0, 0, lie.get("note_size", 36), 36, 4],
    ]
    h = {"ident": b"\x7fELF\2\1\1" + bytes(9), "type": 3, "machine": 62, "version": 1, "entry": TEXT,
         "phoff": 64, "shoff": shoff, "flags": 0, "ehsize": 64, "phentsize": 56, "phnum": 2,
         "shentsize": 64, "shnum": len(headers), "shstrndx": len(headers) - 1}
    h.update({k[2:]: v for k, v in lie.items() if k.startswith("e_")})
    out = struct.pack(EHDR, *h.values())
    out += b"".join(struct.pack(PHDR, *p) for p in segments) + image + b"".join(headers)
    return out[: lie.get("cut", len(out))]


HUGE, TOP = 2**64 - 1, 2**63
CASES = {
    "good": {},
    "et_rel": {"e_type": 1},
    "et_core": {"e_type": 4},
    "class32": {"e_ident": b"\x7fELF\1\1\1" + bytes(9)},
    "big_endian": {"e_ident": b"\x7fELF\2\2\1" + bytes(9)},
    "shnum_ffff": {"e_shnum": 0xffff},
    "shnum_in_section_0": {"e_shnum": 0, "null": struct.pack(SHDR, 0, 0, 0, 0, 0, 60000000, 0, 0, 0, 0)},
    "shnum_in_section_0_huge": {"e_shnum": 0, "null": struct.pack(SHDR, 0, 0, 0, 0, 0, HUGE, 0, 0, 0, 0)},
    "shoff_huge": {"e_shoff": HUGE - 8},
    "shoff_odd": {"e_shoff": 65},
    "shoff_into_header": {"e_shoff": 0},
    "shentsize_1": {"e_shentsize": 1},
    "shstrndx_far": {"e_shstrndx": 200},
    "shstrndx_xindex": {"e_shstrndx": 0xffff, "null": struct.pack(SHDR, 0, 0, 0, 0, 0, 0, HUGE >> 32, 0, 0, 0)},
    "shstrndx_text": {"e_shstrndx": 1},
    "phnum_xnum": {"e_phnum": 0xffff, "null": struct.pack(SHDR, 0, 0, 0, 0, 0, 0, 0, HUGE >> 32, 0, 0)},
    "phnum_large": {"e_phnum": 0xfffe},
    "phoff_huge": {"e_phoff": HUGE - 4},
    "phentsize_0": {"e_phentsize": 0},
    "segment_wraps": {"p_vaddr": HUGE - 5, "p_offset": HUGE - 5},
    "segment_file_over_memory": {"p_memsz": 1},
    "segment_top": {"p_vaddr": TOP, "p_memsz": TOP - 1},
    "text_size_huge": {".text.size": HUGE},
    "text_wraps": {".text.addr": HUGE - 0x20},
    "text_offset_huge": {".text.offset": TOP},
    "text_at_top": {".text.addr": HUGE - 0x80},
    "symtab_link_far": {".symtab.link": 200},
    "symtab_link_self": {".symtab.link": 3},
    "symtab_link_0": {".symtab.link": 0},
    "symtab_entsize_0": {".symtab.entsize": 0},
    "symtab_entsize_1": {".symtab.entsize": 1},
    "symtab_size_huge": {".symtab.size": HUGE},
    "symtab_size_odd": {".symtab.size": 61},
    "symtab_size_300m": {".symtab.size": 300 << 20},
    "symtab_nobits": {".symtab.type": 8},
    "symtab_unaligned": {".symtab.offset": 177},
    "strtab_without_nul": {"bytes.strtab": b"\0outer_without_an_end"},
    "strtab_empty": {"bytes.strtab": b""},
    "strtab_compressed": {".strtab.flags": 0x800},
    "symbol_name_far": {"bytes.symtab": struct.pack(SYM, HUGE >> 32, 0x12, 0, 1, TEXT, 4)},
    "symbol_size_huge": {"bytes.symtab": struct.pack(SYM, 1, 0x12, 0, 1, TEXT + 4, HUGE)},
    "symbols_nested": {"bytes.symtab": b"".join(
        struct.pack(SYM, 1, 0x12, 0, 1, TEXT + i, 0x80 - 2 * i) for i in range(60))},
    "symbols_overlap": {"bytes.symtab": b"".join(
        struct.pack(SYM, 1, 0x12, 0, 1, TEXT + 3 * i, 0x20) for i in range(40))},
    "symbols_same": {"bytes.symtab": b"".join(
        struct.pack(SYM, 1 + i % 9, i % 3 << 4 | 2, 0, 1, TEXT, i % 5) for i in range(60))},
    "rela_symbol_far": {"bytes.rela.plt": struct.pack(RELA, GOT, 0xffffffff << 32 | 7, 0)},
    "rela_link_far": {".rela.plt.link": 99},
    "rela_entsize_0": {".rela.plt.entsize": 0},
    "note_namesz": {"bytes.note.gnu.build-id": struct.pack("<III", 0xfffffffd, 20, 3) + bytes(24)},
    "note_descsz": {"bytes.note.gnu.build-id": struct.pack("<III", 4, 0xfffffffd, 3) + b"GNU\0"},
    "note_descsz_0": {"bytes.note.gnu.build-id": struct.pack("<III", 4, 0, 3) + b"GNU\0"},
    "note_descsz_65": {"bytes.note.gnu.build-id": struct.pack("<III", 4, 65, 3) + b"GNU\0" + bytes(68)},
    "note_cut": {"bytes.note.gnu.build-id": struct.pack("<II", 4, 20)},
    "note_segment_far": {".note.gnu.build-id.type": 1, "note_at": HUGE - 3},
    "note_segment_long": {".note.gnu.build-id.type": 1, "note_size": 60000},
    "cut_at_header": {"cut": 64},
    "cut_in_header": {"cut": 63},
    "cut_in_segments": {"cut": 100},
    "cut_in_sections": {"cut": 800},
}

os.makedirs(OUT, exist_ok=True)
for case, lie in CASES.items():
    with open(os.path.join(OUT, case), "wb") as f:
        f.write(build(**lie))
