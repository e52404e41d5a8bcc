#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes tests/fuzz/corpus/gopclntab/: ELF files with the function table of a Go program, good_VERSION with the
formats of the versions, odd_WHAT with what is unusual but harmless, the others with one lie each.

The good ones have main.a at 0x401000, main.(*T).b at 0x401040 and main.c[...] at 0x401100, which ends at 0x401200.
"""
import os
import struct
import sys

OUT = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "corpus/gopclntab")
EHDR, PHDR, SHDR, RELA = "<16sHHIQQQIHHHHHH", "<IIQQQQQQ", "<IIQQQQIIQQ", "<QQq"
TEXT, TABLE, DATA = 0x401000, 0x500000, 0x600020
NAMES, STARTS, END = (b"main.a", b"main.(*T).b", b"main.c[...]"), (0, 0x40, 0x100), 0x200
OLD, MIDDLE, NEW = 0xfffffffa, 0xfffffff0, 0xfffffff1


def pclntab(magic=NEW, text=TEXT, starts=STARTS, end=END, **lie):
    """The section, and where its names and its functions are."""
    is_old = magic == OLD
    texts, at = b"", []
    for name in NAMES:
        at.append(len(texts))
        texts += name + b"\0"
    texts = lie.get("texts", texts)
    at = lie.get("at", at)
    base, header = (TEXT, "<IHBB7Q") if is_old else (0, "<IHBB8Q")
    pair, about = ("<QQ", "<Qi8I") if is_old else ("<II", "<Ii9I")
    nr = len(starts)
    begin = struct.calcsize(pair) * nr + struct.calcsize(pair[:2])
    begin += -begin % 8
    size = struct.calcsize(about)
    functions = b"".join(struct.pack(pair, base + start, lie.get("about", begin + i * size))
                         for i, start in enumerate(starts))
    functions += struct.pack(pair[:2], base + end)
    functions += bytes(begin - len(functions))
    for start, name in zip(starts, at):
        functions += struct.pack(about, base + start, name, *[0] * int(about[3]))
    names_off = struct.calcsize(header)
    names_off = lie.get("names_off", names_off)
    names_limit = lie.get("names_limit", struct.calcsize(header) + len(texts))
    functions_off = struct.calcsize(header) + len(texts)
    functions_off += -functions_off % 8
    words = [lie.get("nr", nr), 1] + ([] if is_old else [text])
    words += [names_off, names_limit, names_limit, names_limit, lie.get("functions_off", functions_off)]
    section = struct.pack(header, magic, lie.get("pad", 0), lie.get("quantum", 1), lie.get("pointer", 8), *words)
    section += texts
    section += bytes(functions_off - len(section)) + functions
    return section[:lie.get("cut", len(section))], TABLE + names_off, TABLE + functions_off


# Lines: main.a has 11 and, from 16 bytes on, 13; main.c[...] has 31 and, from 128 bytes on, main.a (12 of b.go) inlined in
# main.(*T).b (23), inlined itself.
FILES = (b"/src/main.go", b"/src/b.go")
TREE = 0x402000


def varint(value):
    out = b""
    while value > 0x7f:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])


def by_pc(*pairs):
    """A table by pc: (value, bytes of code)."""
    out, before = b"", -1
    for value, length in pairs:
        change = value - before
        out += varint(change << 1 if change >= 0 else (-change << 1) - 1) + varint(length)
        before = value
    return out + b"\0"


def tree(magic, names, **lie):
    """The inlined calls of main.c[...]: 0 is main.(*T).b, called at +1, 1 is main.a, called at +65 from the first."""
    calls = ((names[1], 1, 20), (lie.get("call_name", names[0]), lie.get("caller", 65), 10))
    if magic == NEW:
        return b"".join(struct.pack("<4i", 0, name, caller, start) for name, caller, start in calls)
    return b"".join(struct.pack("<hBB4i", -1, 0, 0, 0, 0, name, caller) for name, caller, _ in calls)


def lines_table(magic=NEW, text=TEXT, **lie):
    """The section with lines, where its names and its functions are, and the inlined calls."""
    is_old = magic == OLD
    texts, at = b"", []
    for name in NAMES:
        at.append(len(texts))
        texts += name + b"\0"
    units = struct.pack("<2I", 0, len(FILES[0]) + 1)
    files = b"".join(file + b"\0" for file in FILES)
    # 0 is none
    tables, where = b"\0", {}
    for key, pairs in {"a_file": [(0, 64)], "a_line": [(11, 16), (13, 48)], "c_file": [(0, 128), (1, 128)],
                       "c_line": [(31, 64), (23, 64), (12, 128)], "c_call": [(-1, 64), (0, 64), (1, 128)]}.items():
        where[key] = len(tables)
        tables += by_pc(*pairs)
    base, header, pair = (TEXT, "<IHBB7Q", "<QQ") if is_old else (0, "<IHBB8Q", "<II")
    begin = struct.calcsize(pair) * 3 + struct.calcsize(pair[:2])
    begin += -begin % 8
    starts, about = b"", b""
    for name, start, key, first in zip(at, STARTS, "a-c", (10, 20, 30)):
        starts += struct.pack(pair, base + start, begin + len(about))
        about += struct.pack(pair[:2] + "iiIIIIII"[:8], base + start, name, 0, 0, 0, where.get(key + "_file", 0),
                             where.get(key + "_line", 0), 3, 0)
        if magic == NEW:
            about += struct.pack("<i", first)
        about += struct.pack("<BBBB3I", 0, 0, 0, 4, 0, 0, where.get(key + "_call", 0))
        has_tree = key == "c" and not lie.get("no_tree")
        if is_old:
            about += bytes(-len(about) % 8) + struct.pack("<4Q", 0, 0, 0, TREE if has_tree else 0)
        else:
            about += struct.pack("<4I", *[0xffffffff] * 3, 16 if has_tree else 0xffffffff)
    starts += struct.pack(pair[:2], base + END)
    starts += bytes(begin - len(starts))
    offs, parts = [struct.calcsize(header)], b""
    for part in (texts, units, files, tables):
        parts += part + bytes(-len(part) % 8)
        offs.append(struct.calcsize(header) + len(parts))
    section = struct.pack(header, magic, 0, 1, 8, 3, 2, *([] if is_old else [text]), *offs) + parts + starts + about
    return section, TABLE + offs[0], TABLE + offs[4], tree(magic, at, **lie)


def lines(magic=NEW, relocated=False, data=TREE - 16, **lie):
    """Lines: the inlined calls are in a segment of their own, 16 bytes behind where functions' data begin."""
    table, names, functions, calls = lines_table(magic, 0 if relocated else TEXT, **lie)
    words = moduledata(names, functions) + [0] * 17
    words[40 if magic == NEW else 38] = data
    sections = {".rodata": (1, TREE, calls), ".gopclntab": (1, TABLE, table)}
    if relocated:
        relas = b"".join(struct.pack(RELA, DATA + 8 * i, 8, word) for i, word in enumerate(words) if word)
        sections[".data"] = (1, DATA, bytes(8 * len(words)))
        sections[".rela.dyn"] = (4, 0x300000, relas)
    elif magic != OLD:
        sections[".noptrdata"] = (1, DATA, struct.pack(f"<{len(words)}Q", *words))
    return elf(sections)


def moduledata(names, functions, text=TEXT, minpc=TEXT, maxpc=TEXT + END, etext=TEXT + END):
    words = [0] * 24
    words[0], words[1], words[16], words[20:24] = TABLE, names, functions, [minpc, maxpc, text, etext]
    return words


def elf(sections, text_bytes=0x1000):
    """sections: {name: (type, address, bytes)}. The code's segment has no bytes in the file; .rodata has a segment."""
    names, table = b"\0", [struct.pack(SHDR, *[0] * 10)]
    segments = [struct.pack(PHDR, 1, 5, 0, TEXT, TEXT, 0, text_bytes, 4096)]
    nr_segments = 2 if ".rodata" in sections else 1
    image, at = b"", 64 + 56 * nr_segments
    for name, (kind, addr, data) in {**sections, ".shstrtab": (3, 0, b"")}.items():
        offset = len(names)
        names += name.encode() + b"\0"
        data = names if name == ".shstrtab" else data
        image += bytes(-(at + len(image)) % 8)
        table.append(struct.pack(SHDR, offset, kind, 2 if addr else 0, addr, at + len(image), len(data), 0, 0, 8, 0))
        if name == ".rodata":
            offset = at + len(image)
            segments.append(struct.pack(PHDR, 1, 4, offset, addr, addr, len(data), len(data), 8))
        image += data
    image += bytes(-(at + len(image)) % 8)
    head = struct.pack(EHDR, b"\x7fELF\2\1\1" + bytes(9), 2, 62, 1, TEXT, 64, at + len(image), 0, 64, 56, nr_segments, 64,
                       len(table), len(table) - 1)
    return head + b"".join(segments) + image + b"".join(table)


def program(where=".gopclntab", words=None, relocated=False, text_bytes=0x1000, **lie):
    table, names, functions = pclntab(**lie)
    sections = {where: (1, TABLE, table)}
    if words is None:
        words = moduledata(names, functions)
    if relocated:
        relas = b"".join(struct.pack(RELA, DATA + 8 * i, 8, word) for i, word in enumerate(words) if word)
        sections[".data"] = (1, DATA, bytes(8 * len(words)))
        sections[".rela.dyn"] = (4, 0x300000, relas)
    elif words:
        sections[".noptrdata"] = (1, DATA, bytes(16) + struct.pack(f"<{len(words)}Q", *words))
    return elf(sections, text_bytes)


def files():
    yield "good_1_16", program(magic=OLD, words=[])
    yield "good_1_18", program(magic=MIDDLE, words=[])
    yield "good_1_20", program(words=[])
    yield "good_1_26", program(text=0)
    yield "good_pie", program(where=".data.rel.ro.gopclntab", text=0, relocated=True)
    for name, options in {"1_16": {"magic": OLD}, "1_18": {"magic": MIDDLE}, "1_20": {}, "pie": {"relocated": True}}.items():
        yield "good_lines_" + name, lines(**options)
    for name, lie in {"no_tree": {"no_tree": True}, "call_name": {"call_name": -1}, "call_loop": {"caller": 129},
                      "no_data": {"data": 0}}.items():
        yield "good_lines_" + name, lines(**lie)
    _, names, functions = pclntab()
    yield "good_in_relro", elf({".data.rel.ro": (1, TABLE - 64, bytes(64) + pclntab(text=0)[0]),
                                ".data": (1, DATA, struct.pack("<24Q", *moduledata(names, functions)))})
    yield "no_moduledata", program(text=0, words=[])
    for name, change in (("text_zero", {"text": 0}), ("etext_low", {"etext": TEXT}), ("minpc_high", {"minpc": TEXT + END}),
                         ("minpc_low", {"minpc": 1})):
        yield "moduledata_" + name, program(text=0, words=moduledata(names, functions, **change))
    yield "moduledata_of_another", program(text=0, words=moduledata(names + 1, functions))
    yield "moduledata_cut", program(text=0, words=moduledata(names, functions)[:23])
    yield "relocations_of_nothing", program(text=0, relocated=True, words=[TABLE] * 40)
    for name, lie in {
            "magic": {"magic": 0xfffffffb}, "pad": {"pad": 1}, "quantum": {"quantum": 4}, "pointer": {"pointer": 4},
            "nr_zero": {"nr": 0}, "nr_many": {"nr": 1 << 40}, "nr_one_more": {"nr": 4}, "nr_of_all_memory": {"nr": 4 << 20},
            "names_behind_end": {"names_off": 1 << 32, "names_limit": 1 << 33}, "names_backward": {"names_limit": 1},
            "functions_behind_end": {"functions_off": 1 << 40}, "functions_at_end": {"functions_off": 0x1000},
            "about_behind_end": {"about": 0xfffffff0}, "name_negative": {"at": [-1, 0, 0]},
            "name_behind_end": {"at": [0, 0, 1000]}, "descending": {"starts": (0x100, 0x40, 0)}, "end_low": {"end": 0x80},
            "text_elsewhere": {"text": 0x800000}, "text_wraps": {"text": (1 << 64) - 0x80},
            "code_too_short": {"text_bytes": 0x1ff}, "cut_in_header": {"cut": 40}, "cut_in_functions": {"cut": 0x70},
            "empty": {"cut": 0}}.items():
        yield "bad_" + name, program(words=[], **lie)
        if "text" not in name:
            yield "bad_old_" + name, program(**{"magic": OLD, "words": [], **lie})
    yield "odd_name_without_end", program(words=[], texts=b"main.a", at=[0, 0, 0])
    yield "odd_one_address", program(words=[], starts=(0, 0, 0))


def main():
    os.makedirs(OUT, exist_ok=True)
    for name, image in files():
        with open(os.path.join(OUT, name), "wb") as file:
            file.write(image)


main()
