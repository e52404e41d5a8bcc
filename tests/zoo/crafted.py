# SPDX-License-Identifier: BSD-2-Clause
"""Programs and shared objects whose code runs and whose descriptions lie: mutations of real ones, from a fixed seed.

Each has a page of code, at CODE in the file, whose function burns CPU time, so that a profiler samples it and reads the
file. That page is never changed, nor is what a program needs to be started, in half of them.
"""
import os
import random
import struct
import subprocess

SEED = 12
CODE = 0x1000
PAGE = 4096

LIBRARY = """
	.globl {name}, malloc, free
	.type {name}, @function
{name}:	.cfi_startproc
1:	dec %rdi
	jnz 1b
	ret
	.cfi_endproc
	.size {name}, . - {name}
	.type malloc, @function
malloc:	.cfi_startproc
	push %rbx
	.cfi_def_cfa_offset 16
	pop %rbx
	ret
	.cfi_endproc
	.size malloc, . - malloc
	.type free, @function
free:	push %rbx
	pop %rbx
	ret
	.size free, . - free
	.section .note.GNU-stack,"",@progbits
"""
PROGRAM = """
	.globl _start
	.type _start, @function
_start:	.cfi_startproc
	mov $4000000, %rdi
1:	dec %rdi
	jnz 1b
	xor %edi, %edi
	mov $60, %eax
	syscall
	.cfi_endproc
	.size _start, . - _start
	.section .note.GNU-stack,"",@progbits
"""
WORDS = (0, 1, 0x7f, 0xff, 0x1000, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 1 << 40, (1 << 63) - 1, 1 << 63,
         (1 << 64) - 1)


def library(path, name="crafted"):
    """A shared object whose first code, at CODE, is this function."""
    subprocess.run(["gcc", "-shared", "-nostdlib", "-g", "-Wl,-z,max-page-size=4096", "-x", "assembler", "-", "-o", path],
                   input=LIBRARY.format(name=name), text=True, check=True)
    with open(path, "rb") as file:
        file.seek(CODE)
        assert file.read(3) == b"\x48\xff\xcf", "the code is elsewhere"
    return path


def program(path):
    subprocess.run(["gcc", "-static", "-nostdlib", "-g", "-Wl,-z,max-page-size=4096", "-x", "assembler", "-", "-o", path],
                   input=PROGRAM, text=True, check=True)
    return path


def mutated(content, rand, kept):
    """A copy with one to 16 changes outside of the ranges that are kept. Bits, words that are edges, runs of bytes."""
    copy = bytearray(content)
    for _ in range(rand.choice((1, 1, 2, 4, 16))):
        at = rand.randrange(len(copy) // 8) * 8
        if rand.random() < 0.5:  # the headers are a small part, and the most important one
            at = rand.choice((rand.randrange(0, 64, 8), rand.randrange(64, 1024, 8), len(copy) // 8 * 8 - 8 * rand.randrange(1, 200)))
        if any(start <= at < end for start, end in kept) or not 0 <= at <= len(copy) - 8:
            continue
        how = rand.randrange(4)
        if how == 0:
            copy[at + rand.randrange(8)] ^= 1 << rand.randrange(8)
        elif how == 1:
            struct.pack_into("<Q", copy, at, rand.choice(WORDS))
        elif how == 2:
            struct.pack_into("<I", copy, at + 4 * rand.randrange(2), rand.choice(WORDS) & 0xffffffff)
        else:
            copy[at:at + 8] = rand.randbytes(8)
    return bytes(copy)


def make(folder, nr, base, stem, kept):
    """nr mutations of the file base in a folder."""
    rand = random.Random(f"{SEED} {stem}")
    with open(base, "rb") as file:
        content = file.read()
    for i in range(nr):
        path = os.path.join(folder, f"{stem}{i}")
        with open(path, "wb") as file:
            file.write(mutated(content, rand, [(CODE, CODE + PAGE), *(kept if i % 2 else [])]))
        os.chmod(path, 0o755)


def make_libraries(folder, nr):
    base = library(os.path.join(folder, ".base.so"))
    make(folder, nr, base, "lib", [])
    os.unlink(base)


def make_programs(folder, nr):
    """The kernel reads the ELF header and the program headers."""
    base = program(os.path.join(folder, ".base"))
    make(folder, nr, base, "program", [(0, 64 + 56 * 8)])
    os.unlink(base)
