# SPDX-License-Identifier: BSD-2-Clause
"""Beside each animal cprof profiles the whole machine, and an innocent neighbour. What is judged of every run:

- it ends after SIGINT, with exit code 0, and its accounts are exact (harness.py);
- no byte of a secret is in its file or in what it says;
- the neighbour's functions have their names, and it has as many samples for a second of its CPU time, and as many
  objects, as in a control run, within 2 % and what chance does;
- the kernel does not complain.
"""
import collections
import gzip
import math
import re
import shutil
import subprocess
import time

from animals import SECRET, Place, animals, h  # h: harness
import chance
import heaps

h.judges.MOST_FILES_FOR_PPROF = 0  # which would look for names in the files of the whole machine
TOLERANCE = 0.02
RATE, HZ, BLOCK_BYTES = 4096, 999, 4096
BLOCKS_PER_SECOND = 5000
COMMANDS = {"record": ("-F", HZ), "heap": ("--rate", RATE, "--max-overhead", "100", "--limit", "events=134217728")}
COMPLAINTS = re.compile(r"WARNING:|BUG:|Oops|Call Trace|general protection|hung_task|blocked for more than|"
                        r"cprof\S*\[\d+\]: segfault|traps: cprof")
# Not of cprof: since Linux 6.16, ext4 warns once where a uprobe is put into a page that has to be read from the disk.
EXEMPT = re.compile(r"WARNING:.* ext4_check_map_extents_env\+")

Measured = collections.namedtuple("Measured", "per_second chance to_end of_hostile nr_files left_out")


def kernel_says():
    """None where it may not be read."""
    dmesg = shutil.which("dmesg")
    done = dmesg and subprocess.run([dmesg], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return done.stdout.decode("utf-8", "replace").splitlines() if done and not done.returncode else None


def complaints(before):
    now = kernel_says()
    if before is None or now is None:
        return []
    return complaints_among(now[now.index(before[-1]) + 1 if before and before[-1] in now else 0:])


def complaints_among(lines):
    found, is_exempt = [], False
    for line in lines:
        is_exempt = "---[ end trace" not in line and (is_exempt or bool(EXEMPT.search(line)))
        if COMPLAINTS.search(line) and not is_exempt:
            found.append(line)
    return found


def holds_no_secret(ended):
    with gzip.open(ended.output) as file:
        assert SECRET.encode() not in file.read(), "a secret is in the profile"
    assert not [line for line in ended.lines if SECRET in line], "a secret was printed"


def of_neighbour(kind, ended, profile, said, pid):
    """What it has for a second of CPU time, and how far that is off by chance, one standard error."""
    samples = [s for s in profile["samples"] if s["labels"].get("pid") == pid]
    assert samples, "the neighbour has no samples"
    if kind == "heap":
        objects = h.by_function({**profile, "samples": samples}, "alloc_objects").get("neighbour_allocates", 0)
        lost = ended.closing.lost / ended.closing.taken  # of everybody
        if not lost:
            heaps.estimate_is(objects, said["objects"], BLOCK_BYTES, RATE, "the neighbour's objects")
        p = heaps.probability(BLOCK_BYTES, RATE)
        return objects / said["objects"], math.sqrt((1 - p) / p / said["objects"]) + lost
    nr = sum(s["values"]["samples"] for s in samples)
    nameless = [s for s in samples if not {"main", "_start"} & set(s["stack"])]
    # what is sampled before its file is known may have no names
    assert sum(s["values"]["samples"] for s in nameless) <= 0.1 * nr, (nr, [s["stack"] for s in nameless][:3], ended.lines[-20:])
    # a stretch on a CPU has as many ticks as there are periods in it, or one more (cputime.py)
    stolen = ended.stolen_seconds * 1e9 / profile["period"]
    by_chance = math.sqrt((said["switches"] + 1) / 4) + ended.ticks_missed + stolen
    return nr / said["cpu_seconds"], by_chance / nr


def measure(kind, seconds, share=0.4):
    """One run of so many seconds."""
    start = time.monotonic()
    run = h.cprof(kind, "-a", *COMMANDS[kind], run_as=h.AHEAD_OF_OTHERS).attached()
    neighbour = h.Workload("neighbour", seconds * share, int(seconds * BLOCKS_PER_SECOND))
    neighbour.says()
    neighbour.go()
    said = neighbour.says()
    time.sleep(max(0, start + seconds - time.monotonic()))
    took = time.monotonic()
    run.signal(2)
    ended = run.wait()
    took = time.monotonic() - took
    profile = ended.profile()
    holds_no_secret(ended)
    per_second, by_chance = of_neighbour(kind, ended, profile, said, neighbour.pid)
    left_out = [line for line in ended.lines if "no names and no unwind info" in line or "could not be opened" in line]
    hostile = [s for s in profile["samples"] if s["labels"].get("comm") == "hostile"]
    files = {m["path"] for m in profile["mappings"]}
    return Measured(per_second, by_chance, took, sum(s["values"]["samples"] for s in hostile) if kind == "record" else 0,
                    len(files), left_out)


def compare(kind, measured, control):
    """The deviation from the control run; asserts that it is within 2 % and what chance does."""
    deviation = measured.per_second / control.per_second - 1
    by_chance = chance.SIGMAS * math.hypot(measured.chance, control.chance)
    assert abs(deviation) <= TOLERANCE + by_chance, \
        f"{kind}: the neighbour has {deviation:+.2%} of the control run, more than 2 % and {by_chance:.2%} by chance"
    return deviation


def visit(name, seconds, controls):
    """Both commands beside an animal: a line of what was seen. controls: by command, None: nothing to compare with."""
    make, words = animals[name][0], []
    for kind in COMMANDS:
        before = kernel_says()
        with make(Place(seconds)) as seen:
            measured = measure(kind, seconds)
            said = seen()
        found = complaints(before)
        assert not found, found[:5]
        assert not controls or kind == "heap" or measured.of_hostile, "the animal was never sampled"
        compared = f"neighbour {compare(kind, measured, controls[kind]):+.2%}, " if controls else ""
        met = f"{measured.of_hostile:,} samples of it, {measured.nr_files:,} files, " if kind == "record" else ""
        words.append(f"{kind}: {compared}{met}ended in {measured.to_end:.1f} s, {len(measured.left_out)} lines of files left out")
        h.clean_up()
        h.runs.clear()
    return "; ".join([said, *words])
