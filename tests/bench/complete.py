#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""How many user stacks are whole, on stock binaries under a real load, and why the others are not.

    tests/bench/complete.py [PROGRAM...]      all of them if none is named; needs root and build/cprof
        --seconds N   of profiling each (10)          --show     where stacks end, whole ones and others
        --perf        perf record beside it           --keep     leave the profiles in the work folder
        --node PATH   another node, measured as well (may be given several times)
        --debug-dir DIR   also serve the debug files below DIR (may be given several times)

Whole is strict: the walk came to a frame whose return address is undefined, or to _start, clone or
goexit. cprof's own closing lines (record -v) are the judge; beside them the profile's frames are
counted: how deep the stacks are, and how many of them have frames that were found by a frame pointer
in code which does not promise one ("guessed": code made at run time). Such a stack can be whole and yet
lack a frame: of a function that was interrupted before it had set up its own.

A JVM's compiled code uses rbp for other things, unless an option keeps it: both are measured. Without
frame pointers its frames are found by what the VM says of its code (user/runtime/hotspot.h).

A second table says how well frames of user space are named (grades.py): as recorded, without the debug files that are installed
here, and after `cprof symbolize --debuginfod` with those of a debuginfod on the loopback interface. That serves /usr/lib/debug,
libc6-dbg as apt-get has it, and the folders of --debug-dir. A third one has the targets.
"""
import argparse
import collections
import contextlib
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CPROF = os.path.join(ROOT, "build", "cprof")
HZ = 199
TARGET = 99.5
sys.path.insert(0, os.path.dirname(HERE))

import contract  # noqa: E402
import grades  # noqa: E402
from debugserver import DebugServer, hide_installed  # noqa: E402
from programs import PROGRAMS, Bench, Missing, need, node  # noqa: E402


# Measuring ---------------------------------------------------------------------------------------

def target_of(what, seconds):
    """The end of cprof's and perf's command line."""
    if isinstance(what[0], int):
        return ["-p", ",".join(map(str, what))], ["sleep", str(seconds)]
    return ["--", *what], []


class Result:
    def __init__(self):
        self.nr = self.nr_whole = self.nr_frames = self.nr_guessed = 0
        self.reasons = {}
        self.named = {}  # "as recorded", "with debug files": grades.Counts
        self.last = collections.defaultdict(collections.Counter)  # reason: {last frames: samples}


def count_stacks(result, profile):
    """What cprof's closing lines do not say: guessed frames, and where the broken stacks end."""
    for sample in profile["samples"]:
        nr, stack = sample["values"]["samples"], sample["stack"]
        result.nr_guessed += nr * any(name.endswith("[guessed]") for name in stack)
        if stack[-1].startswith("[truncated: "):
            files = [os.path.basename((f["mapping"] or {}).get("path") or "")
                     for f in sample["frames"]]
            names = [f"{n} ({f})" for n, f in zip(stack, files)]
            result.last[stack[-1][len("[truncated: "):-1]][" < ".join(names[-6:-1])] += nr
        else:
            result.last["whole"][stack[-1]] += nr


def measure(bench, what, server):
    profile = bench.path("cprof.pb.gz")
    which, _ = target_of(what, bench.seconds)
    limit = ["-d", f"{bench.seconds}s"] if isinstance(what[0], int) else []
    run = subprocess.run([CPROF, "record", "-v", "-F", str(HZ), "-o", profile, *limit, *which],
                         cwd=bench.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE, text=True)
    bench.write("cprof.log", run.stderr)
    result = Result()
    for line in run.stderr.splitlines():
        found = re.match(r"cprof: (complete|truncated) stacks(?:, (.*))?: ([\d,]+) of ([\d,]+) \(", line)
        if found:
            nr, result.nr = (int(n.replace(",", "")) for n in found.groups()[2:])
            if found[1] == "complete":
                result.nr_whole = nr
            else:
                result.reasons[found[2]] = nr
        found = re.match(r"cprof: user frames: ([\d,]+)", line)
        if found:
            result.nr_frames = int(found[1].replace(",", ""))
    if not result.nr:
        raise RuntimeError(f"cprof: exit {run.returncode}\n{run.stderr[-800:]}")
    recorded = contract.load(profile)
    count_stacks(result, recorded)
    result.named["as recorded"] = grades.count(recorded)
    served = {mapping["build_id"] for mapping in recorded["mappings"] if server and server.has(mapping["build_id"])}
    if served:
        named = bench.path("named.pb.gz")
        bench.run(CPROF, "symbolize", f"--debuginfod={server.url}", "--debuginfod-timeout", "60s", "--symbolize-timeout", "60s",
                  "-o", named, profile)
        result.named["with debug files"] = grades.count(contract.load(named), served)
    return result


# perf --------------------------------------------------------------------------------------------

ROOTS = {"_start", "clone", "__clone", "clone3", "__clone3", "runtime.goexit.abi0", "runtime.mstart",
         "runtime.goexit"}


def entry_offset(path, known={}):
    """The file offset of an executable's entry point: _start, whatever symbols are left."""
    if path not in known:
        known[path] = None
        with contextlib.suppress(OSError, struct.error), open(path, "rb") as f:
            head = f.read(64)
            entry, at = struct.unpack_from("<QQ", head, 24)
            size, nr = struct.unpack_from("<HH", head, 54)
            for i in range(nr if head[:4] == b"\x7fELF" else 0):
                f.seek(at + i * size)
                kind, _, offset, address, _, length = struct.unpack("<IIQQQQ", f.read(40))
                if kind == 1 and address <= entry < address + length:
                    known[path] = entry - address + offset
    return known[path]


def is_root(pid, ip, name, maps):
    if name.split("+")[0] in ROOTS:
        return True
    for start, length, offset, path in maps.get(pid, ()):
        if start <= ip < start + length:
            entry = entry_offset(path)
            return entry is not None and 0 <= ip - start + offset - entry < 64
    return False


def perf(bench, what, mode):
    """The share of perf's user stacks whose last frame is an outermost function, as cprof judges."""
    program = need("perf", "linux-perf")
    which, wait = target_of(what, bench.seconds)
    data = bench.path(f"perf.{mode}")
    subprocess.run([program, "record", "-q", "-F", str(HZ), "-e", "cpu-clock", "--call-graph", mode,
                    "-o", data, *(["-p", which[1], "--", *wait] if wait else which)],
                   cwd=bench.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    script = subprocess.run([program, "script", "-i", data, "--show-mmap-events", "--max-stack",
                             "1024", "-F", "pid,event,ip,sym"], cwd=bench.folder, text=True,
                            errors="replace", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    maps, nr, nr_whole, pid, last = collections.defaultdict(list), 0, 0, 0, None
    for line in [*script.stdout.splitlines(), ""]:
        mmap = re.search(r"PERF_RECORD_MMAP2? (\d+)/\d+: \[(0x\w+)\((0x\w+)\) @ (\w+) .*: \S+ (.*)$",
                         line)
        frame = re.match(r"\s+([0-9a-f]+) (.*)", line)
        if mmap:
            maps[int(mmap[1])].append((int(mmap[2], 16), int(mmap[3], 16), int(mmap[4], 0), mmap[5]))
        elif frame:
            last = (int(frame[1], 16), frame[2])
        elif line.strip():
            pid = int(line.split()[0])
        elif last:
            if last[0] < 1 << 63:
                nr += 1
                nr_whole += is_root(pid, *last, maps)
            last = None
    size = os.path.getsize(data) / 1e6
    return f"{100 * nr_whole / nr:.2f} % of {nr:,} ({size:.1f} MB)" if nr else "no samples"


# The table ---------------------------------------------------------------------------------------

def print_result(name, result, options, beside):
    share = 100 * result.nr_whole / result.nr
    print(f"{name:<22} {result.nr:>7,} {share:>8.2f} {result.nr_frames / result.nr:>7.1f} "
          f"{100 * result.nr_guessed / result.nr:>8.1f}  {'' if share >= TARGET else 'below'}")
    for root, nr in result.last["whole"].most_common(8 if options.show else 0):
        print(f"{'':<22} {nr:>7,} {'':>8}  ends in {root}")
    for reason, nr in sorted(result.reasons.items(), key=lambda item: -item[1]):
        print(f"{'':<22} {nr:>7,} {100 * nr / result.nr:>8.2f}  {reason}")
        for frames, count in result.last[reason].most_common(8 if options.show else 0):
            print(f"{'':<32} {count:>5,}  {frames}")
    for mode, text in beside.items():
        print(f"{'':<22} perf {mode}: {text}")
    sys.stdout.flush()


def bench_one(name, program, options, named, server):
    folder = tempfile.mkdtemp(prefix=f"complete-{name.replace('/', '_')}-")
    bench = Bench(folder, options.seconds)
    try:
        what = program(bench)
        time.sleep(0.5)
        result = measure(bench, what, server)
        beside = {mode: perf(bench, what, mode) for mode in (["fp", "dwarf"] if options.perf else [])}
    finally:
        bench.end()
        if options.keep:
            print(f"# {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    print_result(name, result, options, beside)
    named[name] = result.named
    return 100 * result.nr_whole / result.nr >= TARGET


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=", ".join(PROGRAMS))
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--debug-dir", action="append", default=[], metavar="DIR")
    parser.add_argument("--node", action="append", default=[], metavar="PATH")
    for flag in "--show", "--perf", "--keep":
        parser.add_argument(flag, action="store_true")
    options = parser.parse_args()
    programs = {name: PROGRAMS[name] for name in options.programs or PROGRAMS}
    for path in options.node if "node" in programs else ():
        programs[path] = lambda bench, path=path: node(bench, path)

    if os.geteuid():
        sys.exit("SKIP: profiling needs root")
    hide_installed([sys.executable, *sys.argv])
    with DebugServer.running(options.debug_dir) as server:
        bench_all(programs, options, server)


def bench_all(programs, options, server):
    print(f"{'program':<22} {'stacks':>7} {'whole %':>8} {'frames':>7} {'guessed %':>9}")
    nr_good = nr_below = nr_missing = 0
    named = {}  # program: Result.named
    for name, program in programs.items():
        try:
            good = bench_one(name, program, options, named, server)
            nr_good, nr_below = nr_good + good, nr_below + (not good)
        except (Missing, RuntimeError) as why:
            print(f"{name:<22} SKIP: {why}")
            nr_missing += 1
    print(f"{nr_good} programs with {TARGET} % or more, {nr_below} below, {nr_missing} not measured")
    print(f"{grades.table(named)} targets of names missed")


main()
