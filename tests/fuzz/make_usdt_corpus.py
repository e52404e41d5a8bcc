#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes tests/fuzz/corpus/usdt/: a small ELF file with the notes of libcprof-heap.so, and the same with one lie in each."""
import os
import struct

OUT = os.path.join(os.path.dirname(__file__), "corpus/usdt")
EHDR, PHDR, SHDR = "<16sHHIQQQIHHHHHH", "<IIQQQQQQ", "<IIQQQQIIQQ"
BASE, TEXT, SEMAPHORE = 0x100, 0x200, 0x300
ALLOC = (TEXT, BASE, SEMAPHORE, b"otel_memory\0alloc\0" b"8@%rdi 8@%rsi 8@%rdx\0")
FREE = (TEXT + 8, BASE, SEMAPHORE + 2, b"otel_memory\0free\0" b"8@%rdi\0")
MOVED = (TEXT + 16, BASE, SEMAPHORE + 4, b"cprof_heap\0moved\0" b"8@%rdi\0")
GOOD = (ALLOC, FREE, MOVED)


def note(probe, base, semaphore, strings, owner=b"stapsdt\0", kind=3, about=None, named=None):
    payload = struct.pack("<QQQ", probe, base, semaphore) + strings
    head = struct.pack("<III", len(owner) if named is None else named, len(payload) if about is None else about, kind)
    return head + owner + b"\0" * (-len(owner) % 4) + payload + b"\0" * (-len(payload) % 4)


def elf(notes, base=BASE):
    bodies = {"": b"", ".note.stapsdt": notes, ".stapsdt.base": b"\0", ".shstrtab": b""}
    names = b"\0"
    places = {}
    for name in bodies:
        places[name] = names.index(name.encode() + b"\0") if not name else len(names)
        names += name.encode() + b"\0" if name else b""
    bodies[".shstrtab"] = names
    at, image, headers = 64 + 56, b"", b""
    kinds = {"": (0, 0), ".note.stapsdt": (7, 0), ".stapsdt.base": (1, base), ".shstrtab": (3, 0)}
    for name, body in bodies.items():
        kind, addr = kinds[name]
        headers += struct.pack(SHDR, places[name], kind, 0, addr, at + len(image), len(body), 0, 0, 4, 0)
        image += body + b"\0" * (-len(body) % 8)
    image += b"\0" * (0x400 - at - len(image))
    ident = b"\x7fELF\2\1\1" + b"\0" * 9
    total = at + len(image)
    return (struct.pack(EHDR, ident, 3, 62, 1, 0, 64, total, 0, 64, 56, 1, 64, len(bodies), len(bodies) - 1)
            + struct.pack(PHDR, 1, 5, 0, 0, 0, total, total, 4096) + image + headers)


def notes(*probes, **lie):
    return b"".join(note(*probe, **(lie if i == 0 else {})) for i, probe in enumerate(probes))


CASES = {
    "good": elf(notes(*GOOD)),
    "prelinked": elf(notes(*GOOD), base=BASE + 8),
    "twice": elf(notes(*GOOD, *GOOD)),
    "many": elf(notes(*GOOD * 20)),
    "others_too": elf(notes((TEXT, BASE, 0, b"libc\0setjmp\0" b"8@%rdi\0"), *GOOD)),
    "bad_without_free": elf(notes(ALLOC, MOVED)),
    "bad_other_arguments": elf(notes((TEXT, BASE, SEMAPHORE, b"otel_memory\0alloc\0" b"8@%rdi\0"), FREE, MOVED)),
    "bad_no_semaphore": elf(notes((TEXT, BASE, 0, ALLOC[3]), FREE, MOVED)),
    "bad_probe_nowhere": elf(notes((1 << 63, BASE, SEMAPHORE, ALLOC[3]), FREE, MOVED)),
    "bad_semaphore_nowhere": elf(notes((TEXT, BASE, 1 << 62, ALLOC[3]), FREE, MOVED)),
    "bad_base": elf(notes((TEXT, 1 << 63, SEMAPHORE, ALLOC[3]), FREE, MOVED)),
    "bad_string_without_end": elf(notes((TEXT, BASE, SEMAPHORE, ALLOC[3][:-1]), FREE, MOVED)),
    "bad_one_string": elf(notes((TEXT, BASE, SEMAPHORE, b"otel_memory\0"), FREE, MOVED)),
    "bad_no_strings": elf(notes((TEXT, BASE, SEMAPHORE, b""), FREE, MOVED)),
    "bad_type": elf(notes(*GOOD, kind=2)),
    "bad_owner": elf(notes(*GOOD, owner=b"stapsdx\0")),
    "bad_owner_length": elf(notes(*GOOD, named=0xfffffffd)),
    "bad_owner_too_long": elf(notes(*GOOD, named=0xffff)),
    "bad_length": elf(notes(*GOOD, about=0xffffffff)),
    "bad_length_short": elf(notes(*GOOD, about=8)),
    "bad_cut_head": elf(notes(*GOOD)[:-100] + b"\1\0\0\0"),
    "bad_empty": elf(b""),
    "bad_zeros": elf(bytes(200)),
}

os.makedirs(OUT, exist_ok=True)
for name, image in CASES.items():
    with open(os.path.join(OUT, name), "wb") as file:
        file.write(image)
