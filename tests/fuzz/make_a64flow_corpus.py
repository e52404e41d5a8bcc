#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the corpus of fuzz_a64flow: functions of arm64, each behind the byte that fuzz_a64flow.c explains. Needs its binutils."""
import os
import subprocess
import tempfile

BODIES = {
    "frame": "f: stp x29,x30,[sp,#-32]!\nmov x29,sp\nstr x19,[sp,#16]\ncbz x0,1f\nbl f\n1: ldr x19,[sp,#16]\n"
             "ldp x29,x30,[sp],#32\nret\nnop\nsub sp,sp,#16\nadd sp,sp,#16\nret\n",
    "jump_table": "stp x29,x30,[sp,#-16]!\nadr x1,1f\nbr x1\n1: ldp x29,x30,[sp],#16\nret\nb 1b\n",
    "clone": "mov x8,#220\nsvc #0\ncbz x0,1f\nret\n1: ldp x1,x0,[sp],#16\nblr x1\nmov x8,#93\nsvc #0\nnop\nmov x8,#139\nsvc #0\n",
    "large_frame": "mov x12,#0x5010\nmovk x12,#1,lsl #16\nsub sp,sp,x12\nstr x30,[sp,#8]\nbl .\nldr x30,[sp,#8]\nadd sp,sp,x12\nret\n",
    "plt": "stp x16,x30,[sp,#-16]!\nadrp x16,.\nldr x17,[x16,#8]\nadd x16,x16,#8\nbr x17\nnop\nadrp x16,.\nldr x17,[x16,#16]\n"
           "add x16,x16,#16\nbr x17\n",
    "named": "sub sp,sp,#16\nstp x29,x30,[sp]\nmov x29,sp\nsub sp,sp,x0\nblr x1\nmov sp,x29\nldp x29,x30,[sp]\nadd sp,sp,#16\n"
             "autiasp\nb .+4096\n",
}
# code follows; a function begins at 0 for certain
HEADS = {"plt": b"\1", "named": b"\2\0"}


def code(source):
    with tempfile.TemporaryDirectory() as folder:
        names = [os.path.join(folder, name) for name in ("a.s", "a.o", "a.bin")]
        with open(names[0], "w", encoding="ascii") as file:
            file.write(".arch armv8.3-a\n" + source)
        subprocess.run(["aarch64-linux-gnu-as", "-o", names[1], names[0]], check=True)
        subprocess.run(["aarch64-linux-gnu-objcopy", "-O", "binary", "-j", ".text", *names[1:]], check=True)
        with open(names[2], "rb") as file:
            return file.read()


def main():
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "a64flow")
    os.makedirs(folder, exist_ok=True)
    for name, body in BODIES.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(HEADS.get(name, b"\0") + code(body))


main()
