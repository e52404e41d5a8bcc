#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes tests/fuzz/corpus/walk/: scenes for tests/bpf/fuzz_walk.c, one a rule and some of many.

A scene is struct scene there, then the words of a slab: pages, extended, rows (bpf/unwind_abi.h).
"""
import os
import struct

STACK = 0x7FFC00000000
CODE = 0x555555554000
SLAB_WORDS = 256 * 1024
WIDE = 1 << 19
BASE_FP = 1 << 18

FIXED = [(kind, 0, 0, 0, 0, 0, 0, 0) for kind in range(4)]
# kind, cfa_reg, how, extra_slot, cfa_off, fp_off, ra_off, deref_off
KINDS = [
    (4, 7, 0x10, 0, 24, 0, -8, 0),  # FRAME
    (5, 7, 0x11, 0, 8, -16, -8, 8),  # DEREF
    (6, 7, 0x11, 0, 0, -16, 12, 0),  # INDEXED
    (7, 0, 0x10, 0, 11, 0, -8, 0),  # PLT
    (8, 0, 0, 0, 40, 48, 32, 56),  # SIGNAL
    (4, 3, 0x10, 3, 16, 0, -8, 0),  # by rbx, which is saved
    (4, 12, 0x54, 2, 16, 12, 3, 0),  # rbp in r12
]
WIDES = FIXED + KINDS

# Of each page of code.
ROWS = [[2 << 9], [BASE_FP | 2 << 9 | 1 << 4], [WIDE | 1], [WIDE | 0], [WIDE | 3]]
ROWS += [[WIDE | len(FIXED) + i] for i in range(len(KINDS))]
ROWS += [[pc << 20 | (pc // 37 % 50) << 9 for pc in range(0, 4096, 37)]]


def ip_in(page):
    return CODE + 4096 * page + 0x100


def registers(ip, sp, bp):
    # r15 r14 r13 r12 bp bx, then r11 to di, orig_ax, ip cs flags sp ss
    return struct.pack("<21Q", *[sp] * 4, bp, sp + 64, *[sp] * 9, 0, ip, 0x33, 0, sp, 0)


def slab(first_word):
    """The words, and where in them the extended rules begin."""
    extended_at = (2 * len(ROWS) + 3) // 4 * 4
    rows_at = extended_at + 4 * len(WIDES)
    pages, rows = [], []
    for page in ROWS:
        pages += [first_word + rows_at + len(rows), len(page)]
        rows += page
    words = struct.pack(f"<{len(pages)}I", *pages).ljust(4 * extended_at, b"\0")
    words += b"".join(struct.pack("<BBBBiihh", *wide) for wide in WIDES)
    return words + struct.pack(f"<{len(rows)}I", *rows), extended_at


def scene(ip, sp, bp, stack, flags=0, table=0, nr_vmas=2, first_word=0):
    words, extended_at = slab(first_word)
    vmas = [
        (CODE, CODE + 4096 * len(ROWS), CODE, table, flags),
        (CODE + 0x100000, CODE + 0x200000, 0, 0xFFFFFFFE, 0),
        (CODE + 0x300000, CODE + 0x400000, 0, 0xFFFFFFFF, 0),
        (0, 0, 0, 0, 0),
    ]
    data = registers(ip, sp, bp) + struct.pack("<II", 0, nr_vmas)
    data += b"".join(struct.pack("<QQQII", *vma) for vma in vmas)
    data += struct.pack("<QIIII", 0, len(ROWS), 0, extended_at, len(WIDES)).ljust(4 * 24, b"\0")
    return data + struct.pack("<512Q", *stack, *[0] * (512 - len(stack))) + words


def main():
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "walk")
    chain, loop = [], []
    for page in [0, 5, 8, 10, 3, 0, 4, 0, 11, 6, 7, 9, 0, 12, 12, 2]:
        chain += [STACK + 8 * len(chain) + 64, ip_in(page)]
    for i in range(256):
        loop += [STACK + 16 * i + 16, ip_in(1)]
    seeds = {
        "frames": scene(ip_in(0), STACK, STACK + 64, chain),
        "second_slab": scene(ip_in(12), STACK, STACK + 64, chain, first_word=SLAB_WORDS),
        "frame_pointers": scene(ip_in(1), STACK, STACK, loop),
        "no_table": scene(CODE + 0x100100, STACK, STACK, loop),
        "unbuilt": scene(CODE + 0x300100, STACK, STACK, loop, nr_vmas=3),
        "far_table": scene(ip_in(0), STACK, STACK, loop, table=8191),
        "signal_loop": scene(ip_in(9), STACK, STACK, [0, 0, 0, 0, ip_in(9), STACK]),
    }
    for i in range(len(ROWS)):
        seeds[f"rule_{i}"] = scene(ip_in(i), STACK + 8 * i, STACK + 128, chain, flags=i & 1)
    os.makedirs(folder, exist_ok=True)
    for name, data in seeds.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)


if __name__ == "__main__":
    main()
