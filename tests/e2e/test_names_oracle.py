#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The names of random addresses of programs of many kinds, as `cprof symbolize` writes them, beside llvm-symbolizer's; of Go's,
beside those of `go tool addr2line`: function, file and line, and the chain of inlined functions.

A wrong name is worse than none. So what differs has to have one of the reasons below, which are counted and printed; a name
that differs without one fails. 2,000 addresses of each program, in a long form 20,000 of more programs; ADDRESSES says
how many, and `make names-oracle` asks for 100,000.

Where there is no line (0), llvm-symbolizer still has a file, which it takes from the symbol table or the function: it is not compared.
"""
import collections
import glob
import gzip
import os
import random
import re
import shutil
import subprocess

import dwarfjudge as d
import harness as h
from madeup import Strings
from symbolizing import run

NR = int(os.environ.get("ADDRESSES", "20000" if h.IS_LONG else "2000"))
C = """#include <stdlib.h>
#include <string.h>
static inline int leaf(int x) { return x * x; }
#define TWICE(x) (leaf(x) + \\
	leaf((x) + 1))
static inline int middle(int x) {
	if (x > 1000)
		abort();
	return TWICE(x); }
static __attribute__((noinline)) int cloned(int x, int y) { return y ? middle(x) : (int)strlen("abc"); }
__attribute__((cold, noinline)) static void fails(int x) { if (x > 100) abort(); }
int rarely(int x);
int rarely(int x) { if (__builtin_expect(x == 7, 0)) { fails(x); for (int i = 0; i < x; i++) fails(i * x); abort(); } return x + 1; }
static int fast(int x) { return x + 1; }
static int slow(int x) { return x * 2; }
static int (*pick(void))(int) { return getenv("X") ? slow : fast; }
int chosen(int x) __attribute__((ifunc("pick")));
int alias_of_rarely(int x) __attribute__((alias("rarely")));
int from_c(int x);
int from_c(int x) { return cloned(x, 1) + middle(x + 2) + rarely(x) + chosen(x); }
"""
CXX = """#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>
extern "C" int from_c(int x);
namespace n { template <class T> struct box { T v; box(T x) : v(x) {} T get() const { return v * 2; } virtual ~box() {} };
static inline int tiny(int x) { return x * 3 + 1; }
__attribute__((noinline)) int outer(int x) { box<int> b(x); int s = 0;
	for (int i = 0; i < x; i++)
		s += tiny(b.get()) + i;
	return s; } }
int main(int argc, char **) {
	std::map<std::string, std::vector<int>> m; std::vector<int> v;
	for (int i = 0; i < argc * 10; i++) {
		v.push_back(n::outer(i));
		m[std::to_string(i % 7)].push_back(from_c(i)); }
	std::sort(v.begin(), v.end(), [](int a, int b) { return a % 17 < b % 17; });
	std::function<int(int)> g = [&](int k) { return k + (int)m.size(); };
	printf("%d %zu %d\\n", v[0], m.size(), g(1)); return 0; }
"""
RUST = """use std::collections::{BTreeMap, HashMap};
fn main() { let n = std::env::args().count() as u32; let mut m = HashMap::new(); let mut b = BTreeMap::new();
 for i in 0..n * 50 { m.insert(format!("{i}"), i); b.entry(i % 7).or_insert_with(Vec::new).push(i); }
 let mut v: Vec<_> = m.values().copied().collect(); v.sort(); println!("{:?} {:?}", v, b); }
"""
GO = """package main
import ("fmt"; "os"; "sort"; "strings")
type item struct { name string; n int }
func add(a, b int) int { return a + b }
func main() {
	var items []item
	for i := 0; i < len(os.Args)*10; i++ { items = append(items, item{strings.Repeat("x", i), add(i, 3)}) }
	sort.Slice(items, func(i, j int) bool { return items[i].n < items[j].n })
	fmt.Println(items) }
"""


# Programs ---------------------------------------------------------------------------------------


def source(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    return path


def native(*flags, compiler="gcc", xx="g++"):
    """A program of a C and a C++ file, with a build-id of its own."""
    folder = h.folder()
    for name, text, command in (("a.c", C, compiler), ("b.cc", CXX, xx)):
        source(folder, name, text)
        d.run(command, "-g", *flags, "-c", name, cwd=folder)
    path = os.path.join(folder, "program")
    d.run(xx, *flags, f"-Wl,--build-id=0x{os.urandom(20).hex()}", "-o", path, "a.o", "b.o", cwd=folder)
    return path


def clang(*flags):
    return native(*flags, compiler="clang", xx="clang++")


def copied(path, *command):
    """Another file of the same build, beside the first."""
    out = f"{path}.{command[-1].split('=')[-1].strip('-')}"
    d.run(*command, path, out)
    return out


def with_alternate_file(path):
    folder = h.folder()
    for name in "a", "b":
        shutil.copy(path, os.path.join(folder, name))
    d.run("dwz", "-m", "shared", "a", "b", cwd=folder)
    return os.path.join(folder, "a")


def rust(*flags):
    folder = h.folder()
    path = source(folder, "program.rs", RUST)
    d.run("rustc", "-g", "-C", f"link-arg=-Wl,--build-id=0x{os.urandom(20).hex()}", *flags, "-o", path + ".out", path)
    return path + ".out"


# Answers ----------------------------------------------------------------------------------------


def text_of(path):
    sections = run("readelf", "-SW", path).stdout
    return [tuple(int(text, 16) for text in found) for found in
            re.findall(r" \.(?:text|plt|plt\.sec|init|fini)(?:\.\w+)? +PROGBITS +(\w+) \w+ (\w+)", sections)]


def addresses(path):
    """Random ones of its code; all of them if they are not more."""
    parts = text_of(path)
    total, pick = sum(size for _, size in parts), random.Random(13)
    if total <= NR:
        return [start + i for start, size in parts for i in range(size)]
    found = set()
    while len(found) < NR:
        start, size = pick.choices(parts, [size for _, size in parts])[0]
        found.add(start + pick.randrange(size))
    return sorted(found)


def ours(path, asked):
    """By address: the frames, the innermost first, as (raw name, file, line, shown name)."""
    string = Strings()
    types = [{"type": string("samples"), "unit": string("count")}]
    made = os.path.join(h.folder(), "made.pb")
    mapping = {"id": 1, "memory_start": min(asked) & ~4095, "memory_limit": (max(asked) | 4095) + 1, "filename": string(path),
               "build_id": string(d.build_id(path))}
    segment = next((int(off, 16), int(addr, 16), int(size, 16)) for off, addr, size in re.findall(
        r"LOAD +(0x\w+) (0x\w+) 0x\w+ (0x\w+) 0x\w+ R E", run("readelf", "-lW", path).stdout)
        if int(addr, 16) <= min(asked) < int(addr, 16) + int(size, 16))
    mapping.update(file_offset=segment[0] & ~4095, memory_start=segment[1] & ~4095,
                   memory_limit=((segment[1] + segment[2]) | 4095) + 1)
    with open(made, "wb") as file:
        # every address is the innermost of a sample: 1 is taken off of none
        file.write(gzip.compress(h.contract.encode({
            "sample_type": types, "mapping": [mapping],
            "sample": [{"location_id": [i + 1], "value": [1]} for i in range(len(asked))],
            "location": [{"id": i + 1, "mapping_id": 1, "address": address} for i, address in enumerate(asked)],
            "function": [], "period_type": types[0], "period": 1, "time_nanos": 1, "string_table": string.table()}), 1))
    done = run(h.CPROF, "symbolize", "--symbolize-timeout", "300s", made, "-o", made + ".named.gz")
    assert "not looked up" not in done.stderr, done.stderr
    named = h.contract.load(made + ".named.gz")
    return {sample["frames"][0]["address"]: tuple(
        (frame["system_name"], frame["file"], frame["line"], frame["name"]) for frame in sample["frames"])
            for sample in named["samples"] if sample["frames"]}


def symbols_of(path):
    """By address, the names of functions that begin there, also of those that have no size."""
    found = collections.defaultdict(set)
    for line in (run("nm", path).stdout + run("nm", "-D", path).stdout).splitlines():
        parts = line.split()
        if len(parts) == 3 and parts[1] in "tTwWiVvu":
            found[int(parts[0], 16)].add(parts[2].split("@")[0])
    return found


def comparable(frames):
    """(raw name, file, line), innermost first; "" is what llvm-symbolizer calls ??."""
    return tuple((frame[0] if frame[0] != "??" else "", frame[1] if frame[2] else "", frame[2]) for frame in frames)


def reason(address, our, their, symbols, starts):
    """Why they may differ. None: they may not."""
    our_names, their_names = [frame[0] for frame in our], [frame[0] for frame in their]
    if [frame[1:] for frame in our] != [frame[1:] for frame in their] or our_names[:-1] != their_names[:-1]:
        return None
    has_lines = any(frame[2] for frame in their)
    if our_names[-1].endswith("@plt") and not has_lines:
        return "a stub of the PLT, where llvm-symbolizer has the symbol before"
    if not our_names[-1] and not has_lines:
        return "between two functions, where llvm-symbolizer has the symbol before"
    if not their_names[-1] and not has_lines:
        return "a symbol that has no size"
    start = max((start for start in starts if start <= address), default=0)
    return "another name of the same function" if {our_names[-1], their_names[-1]} <= symbols[start] else None


def compare(kind, path, judged, least=0.9):
    """judged: the file that llvm-symbolizer reads, of the same code. least: the share that must have a name."""
    asked = addresses(path)
    found, right = ours(path, asked), d.judged(judged, asked)
    symbols = symbols_of(judged)
    starts, reasons, wrong, nr_named = sorted(symbols), collections.Counter(), [], 0
    for address in asked:
        our = comparable(found.get(address, [("", "", 0)]))
        their = comparable(right[address])
        nr_named += bool(our[-1][0])
        if our == their:
            continue
        why = reason(address, our, their, symbols, starts)
        if why:
            reasons[why] += 1
        else:
            wrong.append((hex(address), our, their))
    print(f"# {kind}: {len(asked):,} addresses, {nr_named:,} named, {len(wrong)} wrong" +
          "".join(f"; {number:,}: {why}" for why, number in reasons.most_common()), flush=True)
    assert not wrong, (kind, len(wrong), wrong[:3])
    assert nr_named > least * len(asked), (kind, nr_named, len(asked))


# Cases ------------------------------------------------------------------------------------------


def compare_native(kind, *flags, build=native):
    path = build(*flags)
    compare(kind, path, path)
    return path


@h.test
def c_and_cxx():
    """By gcc and clang; .cold parts, clones, an IFUNC, aliases, PLT stubs."""
    compare_native("gcc -O2 -gdwarf-5", "-O2", "-gdwarf-5", "-ffunction-sections")
    compare_native("clang -O2 -gdwarf-4", "-O2", "-gdwarf-4", build=clang)
    if not h.IS_LONG:
        return
    for build, name in (native, "gcc"), (clang, "clang"):
        for version in 4, 5:
            for level in "-O0", "-O1", "-O2", "-O3":
                compare_native(f"{name} {level} -gdwarf-{version}", level, f"-gdwarf-{version}", build=build)
    compare_native("gcc -flto", "-O2", "-flto=auto")
    compare_native("gcc -static", "-O2", "-static")
    compare_native("gcc -no-pie, types in sections", "-O2", "-no-pie", "-fno-pie", "-gdwarf-4", "-fdebug-types-section")


@h.test
def in_other_forms():
    """Compressed, stripped with a debug file beside it, with an alternate file, split: the judge reads the file as it was before."""
    path = native("-O2")
    for method in ("zlib", "zstd") if h.IS_LONG else ("zstd",):
        if method in run("objcopy", "--help").stdout and "without libzstd" not in h.run_cprof("doctor", status=None).stdout:
            compare(method, copied(path, "objcopy", f"--compress-debug-sections={method}"), path)
    stripped = os.path.join(h.folder(), "program")
    d.run("objcopy", "--only-keep-debug", path, stripped + ".debug")
    d.run("strip", "-o", stripped, path)
    d.run("objcopy", f"--add-gnu-debuglink={stripped}.debug", stripped)
    compare("stripped, .gnu_debuglink", stripped, path)
    if shutil.which("dwz"):
        compare("dwz -m", with_alternate_file(path), path)
    split = native("-O2", "-gdwarf-5", "-gsplit-dwarf")
    compare("gcc -gsplit-dwarf", split, split)
    if h.IS_LONG:
        compare("clang -gsplit-dwarf", *[clang("-O2", "-gsplit-dwarf")] * 2)


@h.test
def assembler_as_nasm_writes_it():
    """Its functions have no type, no size and no call frame information; each ends where the next one begins."""
    # How much is named: what is local has no symbol.
    files = {"libisal.so.2": 0.8, **({"libopenh264.so.7": 0.8, "libSvtAv1Enc.so.1": 0} if h.IS_LONG else {})}
    found = {path: least for name, least in files.items() for path in glob.glob(f"/usr/lib/x86_64-linux-gnu/{name}")}
    if not found:
        raise h.Skip("no libisal")
    for path, least in found.items():
        compare(os.path.basename(path), path, path, least)


@h.test
def rust_programs():
    """In both manglings."""
    if not shutil.which("rustc"):
        raise h.Skip("no rustc")
    for mangling in ("legacy", "v0") if h.IS_LONG else ("legacy",):
        flags = ["-C", "symbol-mangling-version=v0"] if mangling == "v0" else []
        path = rust("-O", *flags)
        compare(f"rustc -O, {mangling}", path, path)


def go_judged(go, path, asked):
    """By address: the function that the code is in; file and line of the innermost frame."""
    said = run(go, "tool", "addr2line", path, text="".join(f"{address:#x}\n" for address in asked)).stdout.splitlines()
    places = [place.rsplit(":", 1) for place in said[1::2]]
    return {address: (name, file, max(int(line), 0)) for address, name, (file, line) in
            zip(asked, said[::2], places, strict=True)}  # -1: none


def compare_go(go, *flags):
    """The function that the code is in is addr2line's, and so are file and line of the innermost frame."""
    folder = h.folder()
    source(folder, "main.go", GO)
    env = {**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod"}
    path = os.path.join(folder, "program")
    subprocess.run([go, "build", *flags, "-ldflags", f"-B 0x{os.urandom(20).hex()}", "-o", path, "main.go"], check=True,
                   env=env, cwd=folder)
    asked = addresses(path)
    found, right, wrong = ours(path, asked), go_judged(go, path, asked), []
    named = 0
    for address, (name, file, line) in right.items():
        our = found.get(address)
        if name == "?":
            continue
        named += bool(our and our[-1][0])
        if not our or our[-1][0] != name or comparable(our)[0][1:] != (file if line else "", line):
            wrong.append((hex(address), our, right[address]))
    version = run(go, "version").stdout.split()[2]
    print(f"# {version}: {len(asked):,} addresses, {named:,} named, {len(wrong)} wrong", flush=True)
    assert not wrong, (version, len(wrong), wrong[:3])
    assert named > 0.9 * len(asked), (named, len(asked))


@h.test
def go_programs():
    """With the versions of Go that are here; their own test of names and lines is test_lines.py."""
    if not shutil.which("go"):
        raise h.Skip("no go compiler")
    for go in ["go", *glob.glob("/usr/lib/go-*/bin/go")][:None if h.IS_LONG else 1]:
        compare_go(go)


if __name__ == "__main__":
    h.main()
