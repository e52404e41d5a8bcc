#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The names of random addresses of programs of many kinds, as `cprof symbolize` writes them, beside llvm-symbolizer's; of Go's,
beside those of its own runtime: function, file and line, and the chain of inlined functions. The names as they are shown are c++filt's.

A wrong name is worse than none. So what differs has to have a reason that other tools give (namejudge.py: readelf's symbols and FDEs,
objdump's stubs); the reasons are counted and printed, and a name that differs without one fails. 2,000 addresses of each program, in a
long form 20,000 of more programs; ADDRESSES says how many, and `make names-oracle` asks for 100,000.

Where there is no line (0), llvm-symbolizer still has a file, which it takes from the symbol table or the function: it is not compared.
"""
import atexit
import collections
import glob
import gzip
import os
import random
import re
import shutil
import subprocess
import sys

import dwarfjudge as d
import harness as h
import namejudge as judge
from madeup import Strings
from symbolizing import run

sys.path.append(os.path.join(h.ROOT, "tests", "bench"))
import grades  # noqa: E402

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
# With "judge" it says what its runtime knows of each address of standard input: the frames, the innermost first, as function, file and
# line. What CallersFrames is given is a return address, so one is added; at the last address of a function that is the next one.
GO = """package main
import ("bufio"; "fmt"; "os"; "runtime"; "sort"; "strings"; _ "unsafe")
type number interface { ~int | ~int64 }
type item struct { name string; n int }
type shape interface { area() int }
type base struct { side int }
type square struct { base }
func (b base) area() int { return b.side * b.side }
func add(a, b int) int { return a + b }
func twice(a int) int { return add(a, a) + len(os.Args) }
func most[T number](all []T) (found T) { for _, one := range all { if one > found { found = one } }; return }
//go:linkname expand runtime/pprof.runtime_expandFinalInlineFrame
func expand(stack []uintptr) []uintptr
func judge(lowest uintptr) {
	var bias uintptr
	maps, _ := os.ReadFile("/proc/self/maps")
	for _, line := range strings.Split(string(maps), "\\n") {
		if strings.HasSuffix(line, os.Args[0]) { fmt.Sscanf(line, "%x-", &bias); break } }
	bias -= lowest
	in, out := bufio.NewScanner(os.Stdin), bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for in.Scan() {
		var at uintptr
		fmt.Sscanf(in.Text(), "%x", &at)
		at += bias
		function, next := runtime.FuncForPC(at), runtime.FuncForPC(at + 1)
		if function == nil { fmt.Fprintln(out, "none"); continue }
		if next == nil || next.Entry() == at + 1 { fmt.Fprintln(out, "last"); continue }
		frames := runtime.CallersFrames(expand([]uintptr{at + 1}))
		for more := true; more; {
			var frame runtime.Frame
			frame, more = frames.Next()
			fmt.Fprintf(out, "%s\\t%s\\t%d\\n", frame.Function, frame.File, frame.Line) }
		fmt.Fprintln(out, "end") } }
func main() {
	if len(os.Args) > 2 { var lowest uintptr; fmt.Sscanf(os.Args[2], "%x", &lowest); judge(lowest); return }
	var items []item
	for i := 0; i < len(os.Args)*10; i++ { items = append(items, item{strings.Repeat("x", i), twice(i)}) }
	sort.Slice(items, func(i, j int) bool { return items[i].n < items[j].n })
	var any shape = &square{base{len(items)}}
	fmt.Println(items, most([]int{1, 2}), most([]int64{3, 4}), any.area()) }
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


def comparable(frames):
    """(raw name, file, line), innermost first; "" is what llvm-symbolizer calls ??."""
    return tuple((frame[0] if frame[0] != "??" else "", frame[1] if frame[2] else "", frame[2]) for frame in frames)


class Table:
    """What is found of each case: a row of it, and their sum at the end."""

    total = collections.Counter()
    reasons = collections.Counter()

    def __init__(self, kind):
        self.kind, self.nr, self.nr_named, self.reasons, self.wrong = kind, 0, 0, collections.Counter(), []

    def differs(self, address, *what):
        self.wrong.append((hex(address), *what))

    def finish(self, least):
        differ = sum(self.reasons.values())
        if not Table.total:
            atexit.register(Table.print_sum)
            print(f"# {'case':<44} {'addresses':>9} {'named':>8} {'the same':>9} {'differ':>7} {'wrong':>6}")
        print(f"# {self.kind:<44} {self.nr:>9,} {self.nr_named:>8,} {self.nr - differ - len(self.wrong):>9,} {differ:>7,} "
              f"{len(self.wrong):>6,}", flush=True)
        Table.total.update(addresses=self.nr, named=self.nr_named, differ=differ, wrong=len(self.wrong))
        Table.reasons.update(self.reasons)
        assert not self.wrong, (self.kind, len(self.wrong), self.wrong[:3])
        assert self.nr_named > least * self.nr, (self.kind, self.nr_named, self.nr)

    @staticmethod
    def print_sum():
        print(f"# {Table.total['addresses']:,} addresses, {Table.total['named']:,} named, {Table.total['differ']:,} differ, "
              f"{Table.total['wrong']:,} wrong")
        for why, number in Table.reasons.most_common():
            print(f"# {number:>9,}  {why}")


def compare(kind, path, judged, least=0.9):
    """judged: the file that llvm-symbolizer and binutils read, of the same code. least: the share that must have a name."""
    asked = addresses(path)
    found, right = ours(path, asked), d.judged(judged, asked)
    code, table = judge.Code(judged), Table(kind)
    display = judge.shown({frame[0] for frames in found.values() for frame in frames})
    table.nr = len(asked)
    for address in asked:
        frames = found.get(address, [("", "", 0, "")])
        our, their = comparable(frames), comparable(right[address])
        table.nr_named += bool(our[-1][0])
        badly_shown = [frame for frame in frames if frame[0] and frame[3] != display[frame[0]]]
        is_lost = not our[-1][0] and (code.names(address) or code.stub(address))
        if badly_shown or is_lost or (frames[-1][3] and not frames[-1][0] and not judge.is_beginning(code, address, frames[-1][3])):
            table.differs(address, frames, right[address], [display[frame[0]] for frame in badly_shown] or is_lost or code.fde(address))
        elif our == their:
            continue
        elif [f[1:] for f in our] == [f[1:] for f in their] and [f[0] for f in our[:-1]] == [f[0] for f in their[:-1]] and (
                why := judge.reason(code, address, our[-1][0], their[-1][0])):
            table.reasons[why] += 1
        else:
            table.differs(address, our, their)
    table.finish(least)


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
def stripped_without_a_debug_file():
    """A symbol of .dynsym, a stub's name, or where the function begins, by its FDE: a program of ours, and libraries as Debian has them."""
    stripped = os.path.join(h.folder(), "program")
    d.run("strip", "-o", stripped, native("-O2", "-rdynamic"))
    compare("stripped, gcc -rdynamic", stripped, stripped, 0)
    libraries = ["libstdc++.so.6", *(["libcrypto.so.3", "libglib-2.0.so.0", "libgmp.so.10", "libm.so.6"] if h.IS_LONG else [])]
    for path in (f"/usr/lib/x86_64-linux-gnu/{name}" for name in libraries):
        if os.path.exists(path) and not os.path.exists(f"/usr/lib/debug/.build-id/{d.build_id(path)[:2]}/{d.build_id(path)[2:]}.debug"):
            compare(os.path.basename(path), path, path, 0)


@h.test
def the_judge_itself():
    """It has no reason for a name in a gap, another stub's, one that is lost, and the name of the function before."""
    path = native("-O2")
    code = judge.Code(path)
    (start, _, stub), (_, _, other) = [found for found in code.stubs if code.section(found[0])[0] == ".plt"][:2]
    assert judge.reason(code, start, stub, "_init") and not judge.reason(code, start, other, "_init")
    assert not judge.reason(code, start, "_init", "") and not judge.reason(code, start, "", "_init")
    before = next(symbol for start in code.starts for symbol in code.symbols[start]
                  if symbol.size and code.section(start + symbol.size) and not code.names(start + symbol.size))
    gap = before.start + before.size
    assert judge.reason(code, gap, "", before.name) and not judge.reason(code, gap, before.name, "")
    main, = code.named("main")
    assert not judge.reason(code, main.start, "", "main") and not judge.reason(code, main.start, "_init", "main")
    assert judge.reason(code, main.start, "main", "_init"), "llvm-symbolizer has a name that ends before"
    rarely, = code.named("rarely")
    assert judge.reason(code, rarely.start, "rarely", "alias_of_rarely")
    assert judge.is_beginning(code, main.start + 3, f"program+{main.start:#x}")
    assert not judge.is_beginning(code, main.start + 3, f"program+{main.start + 3:#x}")
    for file in (path, "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"):  # what make bench-complete judges by
        if os.path.exists(file):
            starts = grades.beginnings(file)
            assert starts and set(starts) <= {start for start, _ in judge.fdes_of(file)}, file
    assert grades.is_beginning(path, main.start + 3, main.start) and not grades.is_beginning(path, main.start + 3, main.start + 3)
    assert judge.shown(["_ZN1n5outerEi.cold", "f.part.0", "_Znwm@plt"]) == {
        "_ZN1n5outerEi.cold": "n::outer(int)", "f.part.0": "f", "_Znwm@plt": "operator new(unsigned long)@plt"}


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


def go_built(go, *flags, strip=False):
    folder = h.folder()
    for name, text in ("main.go", GO), ("empty.s", ""), ("go.mod", "module program\ngo 1.18\n"):  # empty.s: a function has no body
        source(folder, name, text)
    path = os.path.join(folder, "program")
    linker = f"-ldflags=-checklinkname=0 -B 0x{os.urandom(20).hex()}" + " -s -w" * ("-s" in flags)
    subprocess.run([go, "build", *(flag for flag in flags if flag != "-s"), linker, "-o", path, "."], check=True, cwd=folder,
                   env={**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod"})
    if strip:
        d.run("strip", path)
    return path


def lowest(path):
    """The address in the file of what is mapped first."""
    return min(int(address, 16) for address in re.findall(r"LOAD +0x\w+ (0x\w+)", run("readelf", "-lW", path).stdout)) & ~4095


def go_judged(path, asked):
    """By address: the frames by Go's runtime, None at the last address of a function; () where it knows no function."""
    said = run(path, "judge", f"{lowest(path):x}", text="".join(f"{address:x}\n" for address in asked)).stdout
    answers, frames = [], []
    for line in said.splitlines():
        if line in ("none", "last"):
            answers.append(() if line == "none" else None)
        elif line == "end":
            answers.append(tuple(frames))
            frames = []
        else:
            name, file, number = line.split("\t")
            frames.append((name, file if int(number) else "", int(number)))
    return dict(zip(asked, answers, strict=True))


def addr2line_judged(go, path, asked):
    """By address: the function that the code is in; file and line of the innermost frame."""
    said = run(go, "tool", "addr2line", path, text="".join(f"{address:#x}\n" for address in asked)).stdout.splitlines()
    places = [place.rsplit(":", 1) for place in said[1::2]]
    return {address: (name, file if int(line) > 0 else "", max(int(line), 0)) for address, name, (file, line) in
            zip(asked, said[::2], places, strict=True)}  # -1: none


GO_WRAPPERS = re.compile(r"reflect\.callMethod|reflect\.callReflect|runtime\.deferreturn|.*\.(defer|go)wrap\d+|.*-fm")


def printed(frames):
    """As Go's runtime prints names: without the types between brackets."""
    return tuple((re.sub(r"\[.*\]", "[...]", name), file, line) for name, file, line in frames)


def without_wrappers(frames, nr):
    """Go's runtime leaves out the callers that it calls wrappers: methods that the compiler made for embedded types, which are in no
    source file, what it makes of deferred calls, and functions of its own (cmd/internal/objabi/funcid.go, cmd/compile)."""
    if len(frames) == nr:
        return frames
    return tuple(frame for frame in frames if frame[1] != "<autogenerated>" and not GO_WRAPPERS.fullmatch(frame[0]))


def go_reason(our, runtime, addr2line):
    """Why the frames of an address may differ from those of Go's runtime (None: it cannot be asked for the last address of a function),
    "" if they do not. None: they may not."""
    if (our[-1][0], *our[0][1:]) != addr2line:
        return None
    if runtime is None:
        return "at the last address of a function, as by addr2line"
    if printed(our) == runtime:
        return ""
    if not runtime[-1][0] and printed(our)[:-1] == runtime[:-1] and our[-1][1:] == runtime[-1][1:]:
        return "the first name of Go's table, which its runtime takes for none"
    if without_wrappers(printed(our), len(runtime)) == runtime:
        return "a wrapper, which Go's runtime leaves out"
    return None


def compare_go(kind, go, *flags, strip=False):
    """Each frame is the runtime's; the function that the code is in is addr2line's, types between brackets and all."""
    path = go_built(go, *flags, strip=strip)
    asked = addresses(path)
    found, right, innermost, table = ours(path, asked), go_judged(path, asked), addr2line_judged(go, path, asked), Table(kind)
    symbols = judge.Code(path)
    table.nr = len(asked)
    assert sum(frames == () for frames in right.values()) < 0.01 * len(asked), "Go's runtime does not know its code"
    for address in asked:
        frames = found.get(address, [("", "", 0, "")])
        our = comparable(frames)
        table.nr_named += bool(our[-1][0])
        if any(frame[0] != frame[3] for frame in frames if frame[0]):
            table.differs(address, frames)
        elif right[address] == ():  # no code of Go's
            if our[-1][0] and our[-1][0] not in symbols.names(address):
                table.differs(address, our, symbols.names(address))
        elif (why := go_reason(our, right[address], innermost[address])) is None:
            table.differs(address, our, right[address], innermost[address])
        elif why:
            table.reasons[why] += 1
    table.finish(0.9)


@h.test
def go_programs():
    """With the versions of Go that are here, stripped or not; their own test of names and lines is test_lines.py."""
    if not shutil.which("go"):
        raise h.Skip("no go compiler")
    for go in ["go", *glob.glob("/usr/lib/go-*/bin/go")][:None if h.IS_LONG else 1]:
        version = run(go, "version").stdout.split()[2]
        compare_go(version, go)
        compare_go(f"{version} -ldflags='-s -w'", go, "-s")
        if h.IS_LONG:
            compare_go(f"{version}, strip", go, strip=True)
            compare_go(f"{version} -buildmode=pie -trimpath", go, "-buildmode=pie", "-trimpath")
            compare_go(f"{version} -gcflags=-l=4", go, "-gcflags=all=-l=4")


if __name__ == "__main__":
    h.main()
