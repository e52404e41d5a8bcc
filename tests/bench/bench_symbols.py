#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Lines and inlined functions of random addresses: cprof's DWARF reader beside its peers, in one run.

    bench_symbols.py [FILE...]      FILE: an ELF file with DWARF; without one, a C++ unit made here, the debug file of
                                    libc, compressed (libc6-dbg), a Rust program, Go's own `go`, and a file of 22,000
                                    units, the size of a kernel's (90 times what cprof is made of), of those that can be had

Prints addresses a CPU second, the start included, the peak of resident memory, file pages included, and how much of it is
anonymous at the most (looked at every 5 ms). Each tool prints functions, lines and inlines of the same 20,000 addresses
(eu-addr2line: of 500), names as they are in the file. blazecli (cargo install blazecli) and go tool addr2line where they are.
"""
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
OURS = os.path.join(HERE, "../../build/bench/dwarflines")
LIBC = "/lib/x86_64-linux-gnu/libc.so.6"
BUILD = os.path.join(HERE, "../../build")
NR, NR_SLOW, COPIES = 20000, 500, 90
TOOLS = (("cprof", [OURS, "FILE"], NR),
         ("llvm-symbolizer", ["llvm-symbolizer", "--inlines", "--no-demangle", "-e", "FILE"], NR),
         ("addr2line", ["addr2line", "-aif", "-e", "FILE"], NR),
         ("eu-addr2line", ["eu-addr2line", "-aif", "-e", "FILE"], NR_SLOW),
         ("blazecli", ["blazecli", "symbolize", "elf", "--path", "FILE", "ADDRESSES"], NR),
         ("go addr2line", ["go", "tool", "addr2line", "FILE"], NR))
LIBRARIES = "-lbpf -ldw -lelf -llzma -lprotobuf-c -lZydis -lisal -lz -liberty -lm".split()

CXX = """#include <algorithm>
#include <deque>
#include <iostream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <unordered_map>
""" + "".join(f"""namespace n{i} {{ struct k {{ int a; std::string s; bool operator<(const k &o) const {{ return a < o.a || s < o.s; }} }};
template <class T> struct w {{ std::map<k, std::vector<T>> m; std::unordered_map<std::string, std::deque<T>> u;
	T sum(int x) {{ T t = 0; for (auto &p : m) for (auto &v : p.second) t += v + x;
		for (auto &p : u) for (auto &v : p.second) t -= v; return t; }}
	void add(int x) {{ m[k{{x, std::to_string(x)}}].push_back(x); u[std::to_string(x * {i})].push_front(x); }} }};
__attribute__((noinline)) long run(int x) {{ w<long> l; w<double> d; std::vector<std::string> v; std::set<std::string> s;
	for (int j = 0; j < x; j++) {{ l.add(j); d.add(j + {i}); v.push_back(std::to_string(j)); }}
	std::sort(v.begin(), v.end(), [](auto &a, auto &b) {{ return a.size() < b.size(); }});
	for (auto &e : v) s.insert(e); std::stringstream ss; ss << s.size() << v[0];
	return l.sum(x) + (long)d.sum(x) + (long)ss.str().size(); }} }}
""" for i in range(12)) + "int main(int c, char **) { long s = std::regex_match(\"aab\", std::regex(\"a+b\"));\n" + \
    "".join(f"s += n{i}::run(c);" for i in range(12)) + " std::cout << s; }\n"

RUST = """use std::collections::{BTreeMap, HashMap};
fn main() { let n = std::env::args().count() as u32; let mut m = HashMap::new(); let mut b = BTreeMap::new();
 for i in 0..n * 50 { m.insert(format!("{i}"), i); b.entry(i % 7).or_insert_with(Vec::new).push(i); }
 let mut v: Vec<_> = m.values().copied().collect(); v.sort(); println!("{:?} {:?}", v, b); }
"""


def made(folder, name, source, command):
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write(source)
    done = shutil.which(command[0]) and not subprocess.run([*command, "-o", path + ".out", path], cwd=folder,
                                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
    return [(name, path + ".out", path + ".out")] if done else []


def go_program(folder):
    """The go command itself."""
    path = os.path.join(folder, "go")
    done = shutil.which("go") and not subprocess.run(["go", "build", "-o", path, "cmd/go"], cwd=folder,
                                                     env={**os.environ, "GOFLAGS": "-buildvcs=false"}).returncode
    return [("go", path, path)] if done else []


def many_units(folder):
    """Copies of one object file, each with functions of its own: no symbol is global."""
    def run(*command):
        subprocess.run(command, check=True, cwd=folder)
    zstd = ["-lzstd"] if os.path.exists("/usr/include/zstd.h") else []
    run("ld", "-r", "--whole-archive", os.path.join(BUILD, "libcprof.a"), "-o", "all.o")
    run("objcopy", "--keep-global-symbol=none_at_all", "all.o", "0.o")
    for i in range(1, COPIES):
        os.link(os.path.join(folder, "0.o"), os.path.join(folder, f"{i}.o"))
    with open(os.path.join(folder, "main.c"), "w") as file:
        file.write("int main(void) { return 0; }")
    run("gcc", "-o", "units", "main.c", *[f"{i}.o" for i in range(COPIES)], *LIBRARIES, *zstd)
    path = os.path.join(folder, "units")
    return [("many units", path, path)]


def debug_file_of_libc():
    notes = subprocess.run(["readelf", "-n", LIBC], capture_output=True, text=True).stdout
    build_id = re.search(r"Build ID: (\w\w)(\w+)", notes)
    path = build_id and f"/usr/lib/debug/.build-id/{build_id[1]}/{build_id[2]}.debug"
    return [("libc6-dbg", path, LIBC)] if path and os.path.exists(path) else []


def addresses(path):
    """Random ones of .text."""
    out = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True).stdout
    found = re.search(r" \.text +\w+ +([0-9a-f]+) +[0-9a-f]+ +([0-9a-f]+)", out)
    start, size = int(found[1], 16), int(found[2], 16)
    pick = random.Random(1)
    return [start + pick.randrange(size) for _ in range(NR)]


def measured(command, addrs, folder):
    """CPU seconds, the peak of memory and of anonymous memory in KiB, the exit status."""
    asked = os.path.join(folder, "addresses")
    with open(asked, "w") as file:
        file.write("".join(f"0x{addr:x}\n" for addr in addrs))
    if command[-1] == "ADDRESSES":
        command = [*command[:-1], *(f"0x{addr:x}" for addr in addrs)]
    with open(asked) as stdin:
        process = subprocess.Popen(command, stdin=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    anonymous_kib = 0
    while True:
        anonymous_kib = max(anonymous_kib, anonymous(process.pid))
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        time.sleep(0.005)
    process.returncode = status
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss, anonymous_kib, status


def anonymous(pid):
    """KiB; 0 of one that has ended."""
    with open(f"/proc/{pid}/status") as file:
        found = re.search(r"RssAnon:\s+(\d+)", file.read())
    return int(found[1]) if found else 0


def main():
    with tempfile.TemporaryDirectory() as folder:
        files = [(os.path.basename(path), path, path) for path in sys.argv[1:]] or [
            *made(folder, "unit.cc", CXX, ["g++", "-std=c++17", "-g", "-O2"]), *debug_file_of_libc(),
            *made(folder, "unit.rs", RUST, ["rustc", "-g", "-O"]), *go_program(folder), *many_units(folder)]
        print(f"{'file':12} {'tool':16} {'addresses/s':>12} {'peak MiB':>9} {'anonymous':>9}")
        for name, path, text_of in files:
            addrs = addresses(text_of)
            for tool, command, nr in TOOLS:
                if tool.startswith("go ") and name != "go":
                    continue
                if not shutil.which(command[0]):
                    print(f"{name:12} {tool:16} {'absent':>12}")
                    continue
                cpu_s, peak_kib, anonymous_kib, status = measured([path if arg == "FILE" else arg for arg in command], addrs[:nr], folder)
                rate = f"{nr / max(cpu_s, 0.001):,.0f}" if not status else "fails"
                print(f"{name:12} {tool:16} {rate:>12} {peak_kib / 1024:9.1f} {anonymous_kib / 1024:9.1f}",
                      flush=True)


main()
