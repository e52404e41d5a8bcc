#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes tests/fuzz/corpus/ehframe: seeds for fuzz_ehframe.

Good sections come from small C and assembly files, compiled here; malformed ones are made by hand
below, each after one thing that a reader of call frame information has to survive. The first byte
of a seed is fuzz_ehframe.c's: 1 .debug_frame, 2 track rbx, 4 .eh_frame_hdr too, 0xf0 code is everywhere.
"""
import os
import struct
import subprocess
import sys
import tempfile

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "ehframe")

C_SOURCE = """
#include <alloca.h>
int leaf(int x) { return x * 3; }
void use(void *);
void other(long, long, long, long, long, long, long, long, long);
int alloca_frame(int n) { char *p = alloca(n); use(p); return p[0]; }
int realigned(int n) { _Alignas(64) char b[256]; use(b); use(alloca(n)); return b[n]; }
long pushes(long a, long b, long c, long d, long e, long f)
{
	for (long i = 0; i < a; i++) { use((void *)(a + b)); use((void *)(c + d)); use((void *)(e + f)); }
	return a + b + c + d + e + f;
}
void args(long a) { other(a, 1, 2, 3, 4, 5, 6, 7, 8); use(&a); }
int early(int x) { if (x < 0) return -1; use(&x); if (x > 9) { use(0); return 2; } return x; }
"""

ASM_SOURCE = """
	.text
restorer:
	.cfi_startproc
	.cfi_signal_frame
	.cfi_escape 0x0f, 4, 0x77, 0xa0, 1, 6
	.cfi_escape 0x10, 7, 3, 0x77, 0xa0, 1
	.cfi_escape 0x10, 16, 3, 0x77, 0xa8, 1
	.cfi_escape 0x10, 6, 3, 0x77, 0xf8, 0
	.cfi_escape 0x10, 3, 3, 0x77, 0x80, 1
	mov $15, %rax
	syscall
	.cfi_endproc
plt:
	.cfi_startproc
	.cfi_escape 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22
	.skip 64
	.cfi_endproc
root:
	.cfi_startproc
	.cfi_undefined rip
	call pc_in_rdi
	hlt
	.cfi_endproc
pc_in_rdi:
	.cfi_startproc
	pop %rdi
	.cfi_adjust_cfa_offset -8
	.cfi_register rip, rdi
	jmp *%rdi
	.cfi_endproc
by_rbx:
	.cfi_startproc
	push %rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbx, 0
	mov %rsp, %rbx
	.cfi_def_cfa_register rbx
	and $-64, %rsp
	call root
	mov %rbx, %rsp
	.cfi_def_cfa_register rsp
	pop %rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore rbx
	ret
	.cfi_endproc
deref:
	.cfi_startproc
	.cfi_escape 0x0f, 5, 0x77, 40, 6, 0x23, 8
	.cfi_escape 0x2e, 16
	.cfi_remember_state
	nop
	.cfi_escape 0x0f, 10, 0x77, 8, 0x79, 0, 0x38, 0x1e, 0x22, 6, 0x23, 8
	nop
	.cfi_restore_state
	ret
	.cfi_endproc
"""


def compiled(source, suffix, section, *flags):
    """The bytes of a section of the shared library that source makes."""
    with tempfile.TemporaryDirectory() as folder:
        name, library, dump = (os.path.join(folder, n) for n in ("a" + suffix, "a.so", "dump"))
        with open(name, "w") as file:
            file.write(source)
        subprocess.run(["gcc", "-shared", "-fPIC", "-nostdlib", "-w", *flags, "-o", library, name],
                       check=True)
        subprocess.run(["objcopy", "--dump-section", section + "=" + dump, library], check=True)
        with open(dump, "rb") as file:
            return file.read()


def entry(body, length=None):
    return struct.pack("<I", len(body) if length is None else length) + body


USUAL = bytes([0x0C, 7, 8, 0x90, 1])


def cie(augmentation=b"zR", data=b"\x04", instructions=USUAL, version=1, number=0, ra=16):
    body = struct.pack("<IB", number, version) + augmentation + b"\0" + bytes([1, 0x78, ra])
    if augmentation.startswith(b"z"):
        body += bytes([len(data)]) + data
    return entry(body + instructions)


def fde(back, start=0x1000, size=0x100, instructions=b"", length=None):
    """back: from the FDE's pointer field to its CIE, whose offset must be 0 in what follows it."""
    return entry(struct.pack("<IQQB", back & 0xFFFFFFFF, start, size, 0) + instructions, length)


def one(of_fde, **of_cie):
    head = cie(**of_cie)
    return head + fde(len(head) + 4, instructions=of_fde)


def malformed():
    head = cie()
    back = len(head) + 4
    wide = struct.pack("<IQ", 0xFFFFFFFF, len(head) - 4) + head[4:]
    yield "empty", b""
    yield "zeros", bytes(64)
    yield "one_byte", b"\x7f"
    yield "length_over_end", struct.pack("<I", 0x1000) + b"\0" * 8
    yield "length_huge", struct.pack("<I", 0xFFFFFFF0) + b"\0" * 8
    yield "length_64_bit", wide + fde(len(wide) + 4)
    yield "length_64_bit_huge", struct.pack("<IQ", 0xFFFFFFFF, 2**64 - 8) + b"\0" * 16
    yield "length_64_bit_cut", struct.pack("<I", 0xFFFFFFFF) + b"\0" * 4
    yield "length_1", entry(b"\0") * 8
    yield "terminators", bytes(4) + head + bytes(8) + fde(back + 8) + bytes(4)
    yield "cie_no_nul", entry(struct.pack("<IB", 0, 1) + b"zRRRRRRR")
    yield "cie_version_9", one(b"", version=9)
    yield "cie_cut_after_augmentation", entry(struct.pack("<IB", 0, 1) + b"zR\0")
    yield "cie_data_over_end", entry(struct.pack("<IB", 0, 1) + b"zR\0" + bytes([1, 0x78, 16, 200]))
    yield "cie_unknown_letter", one(b"", augmentation=b"zXR")
    yield "cie_aligned_personality", one(b"", augmentation=b"zPR", data=b"\x50" + b"\0" * 15 + b"\x04")
    yield "cie_eh", entry(struct.pack("<IB", 0, 1) + b"eh\0" + bytes(8) + bytes([1, 0x78, 16]))
    yield "cie_advances", one(b"", instructions=b"\x41" + USUAL)
    yield "cie_restores", one(b"", instructions=USUAL + b"\xc6")
    yield "cie_restores_state", one(b"", instructions=b"\x0b")
    yield "cie_no_instructions", one(b"\x41\x0e\x10", instructions=b"")
    yield "cie_column_0", one(b"\x90\x01", ra=0)
    yield "cie_column_6", one(b"\x86\x02", ra=6)
    yield "code_align_huge", entry(struct.pack("<IB", 0, 1) + b"\0" + b"\xff" * 9 + b"\x01\x78\x10"
                                   + USUAL) + entry(struct.pack("<IQQ", 34, 0x1000, 0x100) + b"\x7f\x41")
    yield "fde_of_itself", fde(4)
    yield "fde_forward", fde(0xFFFFFFE0) + head
    yield "fde_pointer_outside", head + fde(0x10000)
    yield "fde_pointer_into_cie", head + fde(back - 3)
    yield "fde_cut", head + fde(back)[:14]
    yield "fde_data_over_end", head + entry(struct.pack("<IQQB", back, 0x1000, 64, 0x7F))
    yield "fde_empty", head + fde(back, size=0)
    yield "fde_wraps", head + fde(back, start=2**64 - 16, size=64)
    yield "fde_at_top", head + fde(back, start=2**64 - 64, size=63, instructions=b"\x41\x0e\x10")
    yield "fde_2_gb", head + fde(back, start=0x1FFF, size=0x90000000, instructions=b"\x41\x0e\x10")
    yield "fde_far_apart", head + fde(back) + fde(back + 25, start=2**62, instructions=b"\x0e\x10")
    yield "fde_double", head + fde(back) + fde(back + 25, instructions=b"\x0e\x10")
    yield "fde_overlap", head + fde(back) + fde(back + 25, start=0x1040, size=0x10)
    yield "pages", one(b"\x0e\x10\x03\xff\x0f\x0e\x18\x41\x0e\x20\x41\x0e\x28") \
        + fde(back + 38, start=0x1200, size=0x9000, instructions=b"\x04\0\x20\0\0\x0e\x30")
    yield "runs", one(bytes(b for i in range(2, 30) for b in (0x41 + i % 2, 0x0E, 8 * i)))
    yield "runs_down", one(bytes(b for i in range(30, 1, -1) for b in (0x41 + i // 8 % 2, 0x0E, 8 * i)))
    yield "remember_17", one(b"\x0a" * 17 + b"\x41" + b"\x0b" * 17)
    yield "restore_unremembered", one(b"\x41\x0b")
    yield "set_loc_back", one(b"\x48\x01" + struct.pack("<Q", 0x1002))
    yield "advance_over_end", one(b"\x0e\x10\x04\xff\xff\xff\xff\x0e\x18")
    yield "expression_over_end", one(b"\x0f\x40\x77\x08")
    yield "expression_empty", one(b"\x0f\x00\x10\x06\x00\x16\x06\x00")
    yield "expression_deep", one(b"\x0f\x10" + b"\x77\x08" * 8)
    yield "expression_underflow", one(b"\x0f\x03\x22\x1e\x06")
    yield "expression_constants", one(b"\x0f\x12\x77\x00\x08\xff\x1c\x09\xff\x22\x0a\xff\xff\x22\x0b\0\x80\x22\x0c\0\0")
    yield "leb_endless", one(b"\x0e" + b"\x80" * 40)
    yield "leb_overflow", one(b"\x0e" + b"\xff" * 12 + b"\x01")
    yield "offset_int_min", one(b"\x0c\x07\x80\x80\x80\x80\x08\x86\x80\x80\x80\x80\x01\x11\x06\x80\x80\x80\x80\x01")
    yield "register_huge", one(b"\x0c\x87\x80\x80\x80\x10\x08\x09\x06\xff\xff\x03")
    yield "bx_cfa", one(b"\x42\x0e\x10\x83\x02\x43\x0d\x03\x48\x0d\x07\x41\x0e\x08\xc3")
    yield "unknown_instruction", one(b"\x41\x0e\x10\x41\x3f\x0e\x18")


def main():
    os.makedirs(OUT, exist_ok=True)
    seeds = {}
    frame = "-fasynchronous-unwind-tables"
    no_eh = ("-fno-asynchronous-unwind-tables", "-g", "-gz=none")
    seeds["good_c_O2"] = b"\0" + compiled(C_SOURCE, ".c", ".eh_frame", "-O2", frame)
    seeds["good_c_O0"] = b"\2" + compiled(C_SOURCE, ".c", ".eh_frame", "-O0", frame)
    seeds["good_c_fp"] = b"\0" + compiled(C_SOURCE, ".c", ".eh_frame", "-O2",
                                          "-fno-omit-frame-pointer", frame)
    seeds["good_asm"] = b"\0" + compiled(ASM_SOURCE, ".s", ".eh_frame")
    seeds["good_debug_frame"] = b"\1" + compiled(C_SOURCE, ".c", ".debug_frame", "-O2", *no_eh)
    seeds["good_debug_frame_dwarf5"] = b"\1" + compiled(C_SOURCE, ".c", ".debug_frame", "-O1",
                                                        "-gdwarf-5", *no_eh)
    seeds["good_header"] = b"\4" + compiled(C_SOURCE, ".c", ".eh_frame_hdr", "-O2", frame)
    for name, section in malformed():
        seeds["bad_" + name] = b"\0" + section
    for name in ("fde_2_gb", "fde_at_top", "fde_far_apart", "bx_cfa"):
        seeds["bad_everywhere_" + name] = b"\xf2" + seeds["bad_" + name][1:]
    for name, data in seeds.items():
        with open(os.path.join(OUT, name), "wb") as file:
            file.write(data)
    print(len(seeds), "seeds in", OUT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
