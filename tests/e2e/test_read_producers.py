#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What others' profilers write of real programs, through convert, top, merge and diff: gperftools'
CPUPROFILE and HEAPPROFILE, Go's runtime/pprof, perf script."""
import glob
import json
import os
import re
import shutil

import chance
import harness as h

# heavy does exactly twice the work of light. A round is short and each takes another time, so that the ticks
# of no profiler keep step with the rounds.
SOURCE = r"""
#include <stdlib.h>
#include <time.h>
static volatile unsigned long sink;
static double now(void) { struct timespec t; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec / 1e9; }
__attribute__((noinline)) void work(int n) { for (int i = 0; i < n; i++) sink += i; }
__attribute__((noinline)) void heavy(int n) { work(n); work(n); sink++; }
__attribute__((noinline)) void light(int n) { work(n); sink++; }
__attribute__((noinline)) void *keep(size_t n) { return malloc(n); }
int main(void)
{
	double end = now() + 1.5;
	unsigned random = 1;
	for (int i = 0; i < 1000; i++)
		if (!keep(4096))
			return 1;
	while (now() < end) {
		random = random * 1103515245 + 12345;
		heavy(50000 + random / 65536 % 100000);
		light(50000 + random / 65536 % 100000);
	}
	return 0;
}
"""


def run(*command, **options):
    return h.run(*command, **options).stdout


def build(folder, *libraries):
    source, program = os.path.join(folder, "app.c"), os.path.join(folder, "app")
    with open(source, "w", encoding="utf-8") as file:
        file.write(SOURCE)
    run("gcc", "-O0", "-g", "-fno-omit-frame-pointer",
        "-fno-optimize-sibling-calls", "-no-pie", "-o",
        program, source, "-Wl,--no-as-needed", *libraries)
    return program


def pprof_total(path, sample_type):
    """The total that go tool pprof sees, from its -raw values."""
    raw = run(*h.pprof("-raw", "-symbolize=none", path)).splitlines()
    types = raw[next(i for i, line in enumerate(raw) if line.startswith("Samples:")) + 1].split()
    names = [name.split("/")[0] for name in types]
    column, total = names.index(sample_type), 0
    for line in raw[raw.index(" ".join(types)) + 1:]:
        if line.startswith("Locations"):
            break
        head = line.split(":")[0].split()
        if len(head) == len(types) and all(word.lstrip("-").isdigit() for word in head):
            total += int(head[column])
    return total


def through_all(path, sample_type):
    """convert, top, merge and diff agree with pprof on the total; back as the converted file."""
    folder = h.folder()
    converted, merged = (os.path.join(folder, name) for name in ("c.pb.gz", "m.pb.gz"))
    total = pprof_total(path, sample_type) if not path.endswith(".txt") else None
    run(h.CPROF, "convert", path, "-o", converted)
    if total is None:
        total = pprof_total(converted, sample_type)
    assert total > 0
    assert pprof_total(converted, sample_type) == total
    top = json.loads(run(h.CPROF, "top", "--json", "--sample-type", sample_type, path))
    assert top["total"] == total, (top["total"], total)
    run(h.CPROF, "merge", path, converted, "-o", merged)
    assert pprof_total(merged, sample_type) == 2 * total
    diff = json.loads(run(h.CPROF, "diff", "--json", "--sample-type", sample_type, path, merged))
    assert diff["total"]["base"] == total and diff["total"]["head"] == 2 * total, diff["total"]
    return converted


def cum_by_function(path, program, sample_type):
    """Of the program's own functions; addr2line finds the names."""
    rows = json.loads(run(h.CPROF, "top", "--json", "--by", "address", "--all-frames", "--sample-type",
                          sample_type, "-n", "1000", path))["rows"]
    # gperftools follows frame pointers that are none, to addresses in no mapping
    rows = [row for row in rows if os.path.basename(row.get("mapping", "")) == os.path.basename(program)]
    names = run("addr2line", "-f", "-e", program, *(hex(row["address"]) for row in rows)).split("\n")[::2]
    cum = {}
    for row, name in zip(rows, names):
        cum[name] = cum.get(name, 0) + row["cum"]
    return cum


def google_pprof(path, program, *options):
    """What the tool that came with the format makes of it: cum by function."""
    cum = {}
    for line in run("google-pprof", "--text", "--cum", *options, program, path).splitlines():
        columns = line.split()
        if len(columns) == 6 and columns[1].endswith("%"):
            cum[columns[5]] = int(columns[3])
    return cum


@h.test
def gperftools_cpu():
    if not shutil.which("google-pprof"):
        raise h.Skip("gperftools is not installed")
    folder = h.folder()
    program, profile = build(folder, "-lprofiler"), os.path.join(folder, "cpu.prof")
    run(program, env={**os.environ, "CPUPROFILE": profile, "CPUPROFILE_FREQUENCY": "250"})
    expected = google_pprof(profile, program)
    chance.ratio_is(expected["heavy"], expected["light"], 2, "heavy and light")
    for path in profile, through_all(profile, "cpu"):
        cum = cum_by_function(path, program, "samples")
        for name in "main", "heavy", "light", "work":
            assert cum[name] == expected[name], (name, cum, expected)


@h.test
def gperftools_heap():
    if not shutil.which("google-pprof"):
        raise h.Skip("gperftools is not installed")
    folder = h.folder()
    program, prefix = build(folder, "-ltcmalloc"), os.path.join(folder, "heap")
    run(program, env={**os.environ, "HEAPPROFILE": prefix})
    profile = sorted(glob.glob(prefix + ".*.heap"))[-1]
    sample_type = "inuse_space" if has_allocs(profile) else "space"
    expected = google_pprof(profile, program, "--inuse_space", "--show_bytes")
    assert expected["keep"] >= 1000 * 4096, expected
    for path in profile, through_all(profile, sample_type):
        cum = cum_by_function(path, program, sample_type)
        assert cum["keep"] == expected["keep"] and cum["main"] == expected["main"], (cum, expected)


def has_allocs(path):
    with open(path, encoding="utf-8") as file:
        words = file.readline().replace("[", " ").replace("]", " ").split()
    return words[2:4] != words[4:6]


@h.test
def go_runtime():
    producer = os.path.join(h.BUILD, "oracle", "producer")
    folder = h.folder()
    run(producer, cwd=folder)
    for name, sample_type in (("cpu", "cpu"), ("heap", "inuse_space"), ("allocs", "alloc_space"),
                              ("mutex", "delay"), ("goroutine", "goroutine")):
        through_all(os.path.join(folder, name), sample_type)


def calls(path):
    """Pairs of a function and what it was called by, without those of the runtime, whose own frames texts leave out, and
    those of writing profiles, each of which is another."""
    pairs = set()
    for sample in h.contract.load(path)["samples"]:
        if any(name.startswith("runtime/pprof.") for name in sample["stack"]):
            continue
        stack = [name for name in sample["stack"] if not re.match(r"(internal/)?(runtime|sync)\b|runtime/", name)]
        pairs |= set(zip(["", *stack], stack))
    return pairs


@h.test
def go_runtime_as_text():
    """With debug=1 the names stand in comments; the same functions, inlined ones too, as in the binary file."""
    folder = h.folder()
    run(os.path.join(h.BUILD, "oracle", "producer"), cwd=folder)
    for name in ("heap", "mutex", "block", "goroutine"):
        text = os.path.join(folder, f"{name}.pb.gz")
        run(h.CPROF, "convert", os.path.join(folder, f"{name}.txt"), "-o", text)
        assert not [s["stack"] for s in h.contract.load(text)["samples"] if "main.main" in s["stack"] and "" in s["stack"]]
        assert calls(text) == calls(os.path.join(folder, name)), name
    # and cprof's own text
    own, again = os.path.join(folder, "own.txt"), os.path.join(folder, "again.pb.gz")
    run(h.CPROF, "convert", os.path.join(folder, "heap"), "-o", own)
    run(h.CPROF, "convert", own, "-o", again)
    assert calls(again) == calls(os.path.join(folder, "heap")) and calls(again)


@h.test
def perf_script():
    if not shutil.which("perf"):
        raise h.Skip("perf is not installed")
    folder = h.folder()
    program, data = build(folder), os.path.join(folder, "perf.data")
    run("perf", "record", "-q", "-F", "500", "-e", "cpu-clock", "--call-graph", "fp", "-o", data, program)
    text = run("perf", "script", "-i", data)
    script = os.path.join(folder, "script.txt")
    with open(script, "w", encoding="utf-8") as file:
        file.write(text)
    converted = through_all(script, "cpu")
    # every sample that perf saw, and the callers that it named
    nr = sum(1 for line in text.splitlines() if "cpu-clock" in line)
    assert pprof_total(converted, "samples") == nr
    rows = json.loads(run(h.CPROF, "top", "--json", "--cum", "--sample-type", "samples", "-n", "1000", script))["rows"]
    cum = {row["name"]: row["cum"] for row in rows}
    chance.ratio_is(cum["heavy"], cum["light"], 2, "heavy and light")
    folded = os.path.join(folder, "f.folded")
    run(h.CPROF, "convert", script, "-o", folded, "--sample-type", "samples")
    through_all_folded = json.loads(run(h.CPROF, "top", "--json", folded))
    assert through_all_folded["total"] == nr


h.main()
