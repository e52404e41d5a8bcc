#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""How many stacks of Debian's arm64 programs are whole, and how many are right, in an emulated machine.

    tests/vm/truth.py [--kernel KERNEL] [SUITE...]      all of them if none is named
        --only NAME     this program alone (may be given several times)

For each program of each suite: cprof records it at work, with what each walk began from (--captures); elfutils' libdwfl walks
again, from the same registers and the same memory (tests/unwind/dwfl_compare.c). Return addresses in trixie's programs are
signed. A stack is right if it is the same frame for frame, as far as both have the memory for it. 99.5 % must be whole and 99 %
right.

The programs are those of Debian's archive, unpacked below build/arm64/truth; cprof is build/arm64's. The last line is "N passed,
N failed, N skipped"; exit code 1 if anything failed.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
import unwindloads as loads  # noqa: E402 (its folder is known only now)

BUILD = os.path.join(ROOT, "build", "arm64")
SYSROOT = os.path.join(BUILD, "root")
# The suite, and how its programs are compiled.
SUITES = {"bookworm": [], "trixie": ["-mbranch-protection=standard"]}
PACKAGES = "python3 perl bash git gcc sqlite3 openssl xz-utils gzip gawk coreutils libstdc++6 libdw1 libelf1".split()
WHOLE, RIGHT = 0.995, 0.99
CC = ["aarch64-linux-gnu-gcc", f"--sysroot={SYSROOT}", "-std=gnu11", "-D_GNU_SOURCE"]
CXX = ["aarch64-linux-gnu-g++", f"--sysroot={SYSROOT}", "-std=gnu++17", "-D_GNU_SOURCE"]
WORKLOADS = os.path.join(ROOT, "tests", "e2e", "workloads", "unwind")

# Name: samples a second, and the command, run in /work.
CASES = {
    "python3": (499, "python3 work.py"),
    "perl": (499, "perl work.pl"),
    "bash": (499, "bash work.sh"),
    "git": (499, "bash -c 'git init -q repo && cd repo && cp ../files/* . && git -c core.autocrlf=false add .'"),
    "cc1": (199, "gcc -O2 -c big.c -o /tmp/big.o"),
    "sqlite3": (199, f"sqlite3 :memory: '{' '.join(loads.SQL.split())}'"),
    "openssl": (499, "openssl speed -seconds 1 -bytes 4096 sha256 rsa2048"),
    "xz": (199, "bash -c 'xz -2 -k -c big.txt > /dev/null'"),
    "gzip": (499, "bash -c 'gzip -9 -c big.txt > /dev/null'"),
    "gawk": (499, "gawk '{ for (i = 1; i <= NF; i++) n[$i] += length($i) } END { print length(n) }' big.txt"),
    "sort": (499, "sort -k2 big.txt -o /dev/null"),
    "recurse": (499, "./recurse 1 400"),
    "signals": (499, "./signals 1"),
    "throws": (499, "./throws 1"),
    "clones": (499, "./clones 1"),
}


def run(command, **more):
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, **more)


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def judge():
    """dwfl_compare for arm64: it shares nothing with cprof but headers, what a machine's registers are, and malloc's wrapper."""
    target = os.path.join(BUILD, "vm", "dwfl_compare")
    run([*CC, "-O2", f"-I{ROOT}/user", f"-I{ROOT}/bpf", "-o", target, os.path.join(ROOT, "tests", "unwind", "dwfl_compare.c"),
         os.path.join(BUILD, "libcprof.a"), "-ldw", "-lelf"])
    return target


def compile_workloads(folder, flags):
    for name in ("recurse.c", "signals.c", "throws.cc", "clones.c"):
        source = os.path.join(WORKLOADS, name)
        with open(source, encoding="utf-8") as file:
            own = re.match(r"^/\* CFLAGS: (.*) \*/", file.readline())[1].split()
        compiler = CXX if name.endswith(".cc") else CC
        run([*compiler, *flags, f"-I{WORKLOADS}", *own, "-o", os.path.join(folder, name.split(".")[0]), source, "-pthread"])


def make_work(folder, flags, names):
    """What the programs work on."""
    shutil.rmtree(folder, ignore_errors=True)
    write(f"{folder}/work.py", loads.PYTHON)
    write(f"{folder}/work.pl", loads.PERL)
    write(f"{folder}/work.sh", loads.BASH)
    write(f"{folder}/big.c", "".join(
        f"int f{i}(int *a, int n) {{ int s = {i}; for (int i = 0; i < n; i++) for (int j = 0; j < i; j++) "
        f"s += a[i] * a[j] ^ (s >> {i % 7 + 1}); return s ? s : n; }}\n" for i in range(60)))
    lines = [" ".join(str(i * j * 7919 % 10007) for j in range(1, 40)) for i in range(12000)]
    write(f"{folder}/big.txt", "\n".join(lines) + "\n")
    for i in range(40):
        write(f"{folder}/files/file{i}", "\n".join(lines[200 * i:200 * i + 200]))
    compile_workloads(folder, flags)
    write(f"{folder}/cases", "".join(f"{name} {hz} {command}\n" for name, (hz, command) in CASES.items() if name in names))


def boot(suite, kernel, names):
    """The folder with what the machine left."""
    truth = os.path.join(BUILD, "truth", suite)
    run([os.path.join(ROOT, "scripts", "foreign.sh"), "arm64", truth, suite, *PACKAGES])
    make_work(os.path.join(truth, "work"), SUITES[suite], names)
    shutil.copy(judge(), os.path.join(truth, "work"))
    image, out = os.path.join(BUILD, "truth", "initramfs"), os.path.join(BUILD, "vm", f"truth-{suite}")
    run([os.path.join(ROOT, "tests", "vm", "mkinitramfs.py"), "--root", SYSROOT, image, f"{ROOT}/tests/vm/init.sh:/init:755",
         f"{ROOT}/tests/vm/truth.sh:/root/guest.sh", f"{BUILD}/cprof", f"{truth}:/truth"])
    shutil.rmtree(out, ignore_errors=True)
    run([os.path.join(ROOT, "tests", "vm", "run.sh"), "--boot", kernel, image, out],
        env={**os.environ, "ARCH": "arm64", "BUILD": os.path.join("build", "arm64"), "VM_MEMORY": "3072", "VM_TIMEOUT": "1800"})
    os.remove(image)
    return out


def shares(folder, name):
    """(stacks, the part that is whole, the part that is right, what differs) of a program."""
    with open(f"{folder}/{name}.out", encoding="utf-8") as file:
        found = json.load(file)
    kinds = [(kind["nr"], kind["what"], kind["example"]) for kind in found["kinds"]]
    cut = sum(nr for nr, what, _ in kinds if what.startswith("shorter") and "cprof: BEYOND_COPY;" in what)
    with open(f"{folder}/{name}.err", encoding="utf-8", errors="replace") as file:
        whole = re.search(r"^cprof: complete stacks: ([\d,]+) of ([\d,]+) \(", file.read(), re.M)
    nr = max(found["stacks"], 1)
    part = int(whole[1].replace(",", "")) / max(int(whole[2].replace(",", "")), 1) if whole else 0.0
    differ = [kind for kind in sorted(kinds, reverse=True) if not kind[1].startswith("beyond") and "BEYOND_COPY" not in kind[1]]
    return found["stacks"], part, (found["equal"] + found["beyond"] + cut) / nr, differ


def judged(suite, folder, name):
    """Says a line; whether it is good."""
    try:
        stacks, whole, right, differ = shares(folder, name)
    except (OSError, ValueError) as error:
        print(f"FAIL truth {suite} {name}: {error}")
        return False
    good = stacks >= 50 and whole >= WHOLE and right >= RIGHT
    print(f"{'ok' if good else 'FAIL'} truth {suite} {name}: {stacks} stacks, {100 * whole:.2f} % whole, {100 * right:.2f} % right")
    for nr, what, example in differ[:4]:
        print(f"     {nr} x {what}: {example}")
    return good


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--kernel", default="6.12")
    parser.add_argument("--only", action="append")
    parser.add_argument("suites", nargs="*")
    given = parser.parse_args()
    names = given.only or list(CASES)
    results = []
    for suite in given.suites or SUITES:
        folder = boot(suite, given.kernel, names)
        results += [judged(suite, folder, name) for name in names]
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed, 0 skipped")
    sys.exit(not all(results))


main()
