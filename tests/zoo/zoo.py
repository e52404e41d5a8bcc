# SPDX-License-Identifier: BSD-2-Clause
"""Beside each animal cprof profiles the whole machine, and an innocent neighbour. What is judged of every run:

- it ends after SIGINT, with exit code 0, and its accounts are exact (harness.py);
- no byte of a secret is in its file or in what it says;
- the neighbour's functions have their names, and it has as many samples for a second of its CPU time, and as many
  objects, as in a control run, within 2 % and what chance does, which is 2 % at most in a run of a minute;
- in a run of a minute every program of the animal was sampled, and its functions that can be named are;
- the kernel does not complain.
"""
import collections
import gzip
import math
import re
import shutil
import subprocess
import time

from animals import LONG, SECRET, Place, animals, busy, h  # h: harness
import chance
import heaps

h.judges.MOST_FILES_FOR_PPROF = 0  # which would look for names in the files of the whole machine
TOLERANCE = WIDEST = 0.02
RATE, HZ, BLOCK_BYTES = 4096, 999, 4096
BLOCKS_PER_SECOND = 5000
COMMANDS = {"record": ("-F", HZ), "heap": ("--rate", RATE, "--max-overhead", "100", "--limit", "events=134217728")}
COMPLAINTS = re.compile(r"WARNING:|BUG:|Oops|Call Trace|general protection|hung_task|blocked for more than|"
                        r"cprof\S*\[\d+\]: segfault|traps: cprof")
# Not of cprof: since Linux 6.16, ext4 warns once where a uprobe is put into a page that has to be read from the disk.
EXEMPT = re.compile(r"WARNING:.* ext4_check_map_extents_env\+")

# chance: one standard error; blurred: what more a comparison may be off by
Measured = collections.namedtuple("Measured", "per_second chance blurred to_end of_hostile names nr_files left_out")


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
    """What it has for a second of CPU time, how far that is off by chance, one standard error, and by what was lost."""
    samples = [s for s in profile["samples"] if s["labels"].get("pid") == pid]
    assert samples, "the neighbour has no samples"
    if kind == "heap":
        objects = h.by_function({**profile, "samples": samples}, "alloc_objects").get("neighbour_allocates", 0)
        lost = ended.closing.lost / ended.closing.taken  # of everybody
        if not lost:
            heaps.estimate_is(objects, said["objects"], BLOCK_BYTES, RATE, "the neighbour's objects")
        p = heaps.probability(BLOCK_BYTES, RATE)
        return objects / said["objects"], math.sqrt((1 - p) / p / said["objects"]), lost
    nr = sum(s["values"]["samples"] for s in samples)
    nameless = [s for s in samples if not {"main", "_start"} & set(s["stack"])]
    # what is sampled before its file is known may have no names
    assert sum(s["values"]["samples"] for s in nameless) <= 0.1 * nr, (nr, [s["stack"] for s in nameless][:3], ended.lines[-20:])
    # a stretch on a CPU has as many ticks as there are periods in it, or one more (cputime.py)
    stolen = ended.stolen_seconds * 1e9 / profile["period"]
    return nr / said["cpu_seconds"], math.sqrt((said["switches"] + 1) / 4) / nr, (ended.ticks_missed + stolen) / nr


def without(capabilities):
    """A command prefix."""
    return ("setpriv", "--bounding-set", ",".join(f"-{name}" for name in capabilities), "--") if capabilities else ()


def reads_neighbour(run):
    """Waits until its file is known, from another process of it: what is sampled before that may have no names, however long a
    busy machine, or the animal, makes that."""
    scout = h.Workload("neighbour", 1000, 0)
    scout.says()
    scout.go()
    run.awaits(r"^cprof: unwind table of \S*/neighbour: ")
    scout.process.kill()
    scout.wait()


def measure(kind, seconds, share=0.4, place=None):
    """One run of so many seconds."""
    start = time.monotonic()
    run = h.cprof(kind, "-a", *COMMANDS[kind],
                  run_as=(*h.AHEAD_OF_OTHERS, *without(place.without if place else ()))).attached()
    if kind == "record":
        reads_neighbour(run)
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
    of = of_neighbour(kind, ended, profile, said, neighbour.pid)
    left_out = [line for line in ended.lines if "no names and no unwind info" in line or "could not be opened" in line]
    hostile = collections.Counter()
    names = set()
    for sample in profile["samples"]:
        if sample["labels"].get("comm") == "hostile" and kind == "record":
            hostile[sample["labels"]["pid"]] += sample["values"]["samples"]
            names.update(sample["stack"])
    files = {m["path"] for m in profile["mappings"]}
    return Measured(*of, took, hostile, names, len(files), left_out)


def compare(kind, measured, control, seconds):
    """The deviation from the control run, and how far chance may take it; asserts that it is within 2 % and that."""
    deviation = measured.per_second / control.per_second - 1
    width = chance.SIGMAS * math.hypot(measured.chance, control.chance) + measured.blurred + control.blurred
    if width > WIDEST and seconds >= LONG:
        raise h.Skip(f"{kind}: chance, ticks that did not come and losses may be {width:.2%}: too much to see 2 %")
    assert abs(deviation) <= TOLERANCE + width, \
        f"{kind}: the neighbour has {deviation:+.2%} of the control run, more than 2 % and {width:.2%} by chance"
    return f"neighbour {deviation:+.2%} (by chance up to {width:.2%})"


def assert_met(place, measured, pids):
    """It was seen: all of it, if there was time."""
    assert measured.of_hostile, "the animal was never sampled"
    if not place.is_long:
        return
    assert pids <= measured.of_hostile.keys(), f"never sampled: {pids - measured.of_hostile.keys()}"
    assert place.shows <= measured.names, f"without their names: {place.shows - measured.names}"


def visit(name, seconds, controls):
    """Both commands beside an animal: a line of what was seen. controls: by command, None: nothing to compare with."""
    make, words = animals[name][0], []
    for kind in COMMANDS:
        before, place = kernel_says(), Place(seconds)
        with make(place) as seen:
            measured = measure(kind, seconds, place=place)
            said, pids = seen(), set(busy)
        found = complaints(before)
        assert not found, found[:5]
        if controls and kind == "record":
            assert_met(place, measured, pids)
        compared = f"{compare(kind, measured, controls[kind], seconds)}, " if controls else ""
        met = f"{measured.of_hostile.total():,} samples of it, {measured.nr_files:,} files, " if kind == "record" else ""
        words.append(f"{kind}: {compared}{met}ended in {measured.to_end:.1f} s, {len(measured.left_out)} lines of files left out")
        h.clean_up()
        h.runs.clear()
    return "; ".join([said, *words])
