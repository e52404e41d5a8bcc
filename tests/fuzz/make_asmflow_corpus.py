#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes the corpus of fuzz_asmflow.c: functions as people write them, and some as nobody should. Needs binutils."""
import os
import subprocess
import tempfile

BODIES = {
    "saves": "push %rbx\npush %rbp\nsub $0x18,%rsp\n1: dec %ebp\njnz 1b\nadd $0x18,%rsp\npop %rbp\npop %rbx\nret\n",
    "aligned": "push %r12\nmov %rsp,%rax\nsub $0x60,%rsp\nand $-32,%rsp\nmov %rax,0x48(%rsp)\nvpxor %ymm0,%ymm0,%ymm0\n"
               "mov 0x48(%rsp),%rsp\npop %r12\nret\n",
    "table": "sub $0x28,%rsp\nadd %r11,%rax\njmp *%rax\n.balign 16\nmovd %xmm0,(%rdi)\nadd $0x28,%rsp\nret\n"
             "movq %xmm0,(%rdi)\nadd $0x28,%rsp\nret\n",
    "calls": "push %rbx\ncall 1f\npop %rbx\nret\n.byte 0x90\n1: lea 1(%rdi),%rax\nret\n",
    "unbalanced": "push %rbx\nret\n",
    "clone": "pop %rdi\ncall *%r9\nhlt\n",
    "coroutine": "mov (%rdi),%rsp\npop %rbx\nret\n",
    "endless": "push %rbx\n1: dec %rdi\njnz 1b\njmp 1b\n",
    "two_ways": "push %rbx\njz 1f\npop %rbx\n1: ret\n",
    "no_code": ".byte 0x06,0x07,0x0e,0x16,0x17\n",
    "into_the_middle": "jmp 1f+1\n1: mov $0x90c3c3c3,%eax\nret\n",
    "backwards": "1: ret\npush %rax\njmp 1b\n",
    "beyond": "jmp .+0x10000\npush %rax\njnz .+0x100\nret\n",
    "many_tables": "".join(f"sub ${8 * i},%rsp\njmp *%rax\n" for i in range(1, 9)) + "add $16,%rsp\nret\n",
    "nops": ".fill 64,1,0x90\nret\n",
    "zeros": ".fill 64\nret\n",
    "clone_of_musl": "xor %eax,%eax\nmov $56,%al\nsyscall\ntest %eax,%eax\njnz 1f\nxor %ebp,%ebp\npop %rdi\ncall *%r9\nhlt\n1: ret\n",
    "restorer": "nop\nmov $15,%rax\nsyscall\nnop\nret\n",
    "noreturn": "push %rbx\ncall 2f\n1: push %rcx\nlea 2f(%rip),%rax\npop %rcx\njmp *%rax\n2: push %rdx\n3: jmp 3b\n",
    "large_frame": "sub $0x7fffffff,%rsp\nsub $0x7fffffff,%rsp\nadd $0x7fffffff,%rsp\nret\n",
}


def code(source):
    with tempfile.TemporaryDirectory() as folder:
        names = [os.path.join(folder, name) for name in ("a.s", "a.o", "a.elf", "a.bin")]
        with open(names[0], "w", encoding="ascii") as file:
            file.write(".text\n" + source)
        subprocess.run(["as", "-o", names[1], names[0]], check=True)
        subprocess.run(["ld", "-Ttext", "0x10000", "-e", "0", "-o", names[2], names[1]], check=True)
        subprocess.run(["objcopy", "-O", "binary", "-j", ".text", names[2], names[3]], check=True)
        with open(names[3], "rb") as file:
            return file.read()


def main():
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "asmflow")
    os.makedirs(folder, exist_ok=True)
    files = {name: b"\0" + code(body) for name, body in BODIES.items()}
    files |= {f"{name}_goes_on": b"\1" + files[name][1:] for name in ("saves", "beyond")}
    files["one_byte_goes_on"] = b"\1o"
    # functions begin at 0 and 6 for certain, and 1 and 15 bytes farther on others are called
    files["noreturn_named"] = b"\x04\0\6" + files["noreturn"][1:]
    files["noreturn_called"] = b"\x14\0\6\1\x0f" + files["noreturn"][1:]
    files["clone_called"] = b"\x09\0" + files["clone_of_musl"][1:]
    for name, data in files.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)


main()
