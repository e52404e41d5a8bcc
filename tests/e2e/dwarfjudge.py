# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of debug information in several files share: a program that is made of two files with inlined functions
and types of both, and llvm-symbolizer, which says what is right at each address of a profile."""
import itertools
import os
import re
import subprocess

import harness as h

SHARED = """#include <time.h>
struct item { volatile unsigned value; unsigned long weight; struct item *next; };
static inline __attribute__((always_inline)) unsigned leaf(struct item *item) {
	for (int i = 0; i < 200; i++)
		item->value = item->value * 1103515245 + 12345;
	return item->value; }
static inline __attribute__((always_inline)) unsigned middle(struct item *item, int times) {
	unsigned sum = 0;
	for (int i = 0; i < times; i++)
		sum += leaf(item) >> 16;
	return sum; }
static inline double used(void) { struct timespec t; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9; }
unsigned one(struct item *item); unsigned two(struct item *item);
"""
FILES = {"one.c": """#include "shared.h"
__attribute__((noinline)) unsigned one(struct item *item) {
	unsigned sum = middle(item, 30);
	return sum + middle(item, 10) + 1; }
""", "two.c": """#include <stdlib.h>
#include "shared.h"
__attribute__((noinline)) unsigned two(struct item *item) {
	return leaf(item) + middle(item, 20) + 1; }
int main(int argc, char **argv) {
	struct item item = {1, 2, 0};
	double end = used() + (argc > 1 ? atof(argv[1]) : 1.0);
	while (used() < end)
		item.weight += one(&item) + two(&item);
	return item.weight == 7; }
"""}
FUNCTIONS = {"leaf", "middle", "one", "two", "main", "used"}


def run(*command, cwd=None):
    h.run(*command, cwd=cwd)


def build(*flags, compiler="gcc", name="twofold"):
    """The program, in a folder of its own, with a build-id that no other has."""
    folder = h.folder()
    for source, text in {**FILES, "shared.h": SHARED}.items():
        with open(os.path.join(folder, source), "w", encoding="ascii") as file:
            file.write(text)
    for source in FILES:
        run(compiler, "-O2", "-g", *flags, "-c", source, cwd=folder)
    run(compiler, *flags, f"-Wl,--build-id=0x{os.urandom(20).hex()}", "-o", name, "one.o", "two.o", cwd=folder)
    return os.path.join(folder, name)


def build_id(path):
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True).stdout
    return re.search(r"Build ID: ([0-9a-f]+)", notes)[1]


def record(program, *options):
    return h.cprof("record", "-F", "1999", "--no-kernel", *options, "--", program, "0.15").wait()


def chains(run_of, name="twofold"):
    """By address of the program: the frames that are there, the innermost first, as (function, file, line)."""
    found = {}
    for sample in run_of.profile()["samples"]:
        frames = [frame for frame in sample["frames"] if frame["mapping"]["path"].endswith(f"/{name}")]
        for address, group in itertools.groupby(frames, lambda frame: frame["address"]):
            chain = tuple((frame["name"], frame["file"], frame["line"]) for frame in group)
            assert found.setdefault(address, chain) == chain, (hex(address), chain, found[address])
    return found


def judged(program, addresses):
    """The same by llvm-symbolizer."""
    asked = "".join(f"{address:#x}\n" for address in addresses)
    said = subprocess.run(["llvm-symbolizer", "--inlines", "--no-demangle", "-e", program], input=asked,
                          capture_output=True, text=True, check=True, cwd=os.path.dirname(program)).stdout
    answers = {}
    for address, text in zip(addresses, said.rstrip("\n").split("\n\n"), strict=True):
        lines = text.split("\n")
        places = [line.rsplit(":", 2)[:2] for line in lines[1::2]]
        answers[address] = tuple((name, "" if file == "??" else file, int(line))
                                 for name, (file, line) in zip(lines[::2], places, strict=True))
    return answers


def own(found):
    """Those of the functions of the program's two files: of others there is no debug information."""
    return {address: chain for address, chain in found.items() if chain[-1][0] in FUNCTIONS}


def assert_same(run_of, program, name="twofold"):
    """Each address in the program's functions is as llvm-symbolizer has it of program, inlines and all."""
    found = own(chains(run_of, name))
    assert len(found) > 5, run_of.lines
    right = judged(program, list(found))
    for address, chain in found.items():
        assert chain == right[address], (hex(address), chain, right[address])
    seen = {frame[0] for chain in found.values() for frame in chain}
    assert {"leaf", "middle", "one", "two", "main"} <= seen, seen
    return found
