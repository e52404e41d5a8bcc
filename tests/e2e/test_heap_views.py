#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cprof heap: every view, format and snapshot of one run says the same."""
import glob
import math
import os
import re
import time

import harness as h
import heaps

ALLOC = ("alloc_objects", "alloc_space")
INUSE = ("inuse_objects", "inuse_space")


def allocs(*options, **more):
    """A run over the allocs workload, half of whose blocks are in use at its end."""
    return heaps.measure(h.Workload("allocs", "20"), *options, **more)


def churn(seconds, *options):
    """Busy for this long; 0: until it is released."""
    target = h.Workload("churn", str(seconds), "2")
    return heaps.watch(target, *options), target


def totals(profile):
    return {kind: h.total(profile, kind) for kind in profile["types"]}


def totals_by_pprof(path):
    """What pprof makes of a file, as the sums of its types, and how many samples it sees."""
    env = {"HOME": os.path.dirname(path), **os.environ, "PPROF_TMPDIR": os.path.dirname(path)}
    raw = h.run(*h.pprof("-symbolize=none", "-raw", path), env=env).stdout
    types = re.search(r"^Samples:\n(.+)$", raw, re.M)[1].split()
    rows = [list(map(int, row.split())) for row in re.findall(r"^ *([\d -]+): [\d ]*$", raw, re.M)]
    sums = [sum(column) for column in zip(*rows)]
    return dict(zip((kind.split("/")[0] for kind in types), sums)), len(rows)


@h.test
def in_use():
    """Alloc values are 0, stacks that hold nothing are left out, and what is left is exact."""
    ended, expected = allocs("--rate", "1", "--inuse")
    profile = ended.profile()
    assert profile["types"] == [*ALLOC, *INUSE] and profile["duration_ns"] == 0
    assert totals(profile)["alloc_objects"] == 0 == totals(profile)["alloc_space"]
    heaps.exact(profile, expected, heaps.LIVE)
    assert all(sample["values"]["inuse_objects"] for sample in profile["samples"])
    assert ended.closing.gone > 0


@h.test
def allocated():
    ended, expected = allocs("--rate", "1", "--alloc")
    profile = ended.profile()
    assert profile["types"] == list(ALLOC) and profile["default_type"] == "alloc_space"
    heaps.exact(profile, expected, heaps.ALLOCATED)


@h.test
def all_views_at_once():
    """--views is what each view says by itself."""
    ended, _ = allocs("--rate", "4096", "--views")
    whole = totals(ended.profile())
    alloc = totals(ended.extra_profile(".alloc.pb.gz"))
    inuse = totals(ended.extra_profile(".inuse.pb.gz"))
    assert all(alloc[kind] == whole[kind] for kind in ALLOC), (alloc, whole)
    assert all(inuse[kind] == whole[kind] for kind in INUSE), (inuse, whole)
    assert len(ended.extra) == 2, ended.extra


@h.test
def nothing_is_left_in_use():
    """Everything that was sampled is freed: in-use values are 0."""
    run, target = churn(0.1, "--rate", "4096", "--views")
    ended = run.wait()
    profile = ended.profile()
    held = h.by_function(profile, "inuse_space").get("churn", 0)
    assert held == 0 < h.by_function(profile, "alloc_space")["churn"], held
    assert target.wait() == 0


@h.test
def only_in_use_and_nothing_is():
    """All that this workload has allocated is freed, and the C library keeps nothing for it."""
    target = h.Workload("hoard", "1000")
    run = heaps.watch(target, "--rate", "1", "--inuse")
    target.says()  # full
    target.go()
    target.says()  # done
    ended = run.stop()
    assert ended.code == 3 and ended.closing.taken > 0, (ended.code, vars(ended.closing))
    assert not ended.files and "still in use" in ended.lines[-1], ended.lines


@h.test
def one_delta():
    """--delta ends the run by itself, with one plain file."""
    start = time.monotonic_ns()
    run, target = churn(0, "--rate", "4096", "--delta", "300ms")
    profile = run.wait().profile()
    took = time.monotonic_ns() - start
    assert profile["types"] == list(ALLOC)
    assert 3 * 10**8 <= profile["duration_ns"] <= took, (profile["duration_ns"], took)
    target.process.kill()


def add_up(rate):
    run, target = churn(0, "--rate", rate, "--alloc", "--delta", "200ms", "-d", "1h")
    run.writes_files(4)
    target.go()
    ended = run.wait()
    whole = h.judge(ended.output.removesuffix(".pb.gz") + ".alloc.pb.gz")
    deltas = {path: h.judge(path) for path in ended.extra if ".delta." in path}
    assert len(deltas) >= 4, sorted(deltas)
    seen = sum(ended.extra[path] for path in deltas)
    assert seen == ended.closing.written, (seen, vars(ended.closing))
    lost = {kind: totals(whole)[kind] - sum(totals(delta)[kind] for delta in deltas.values())
            for kind in ALLOC}
    # each value of each file is rounded once, toward zero
    slack = 0 if rate == "1" else sum(len(delta["samples"]) for delta in deltas.values())
    assert all(abs(value) <= slack for value in lost.values()), (lost, slack)
    starts = sorted(delta["time_ns"] for delta in deltas.values())
    assert len(set(starts)) == len(starts) and starts[0] == whole["time_ns"]
    assert target.wait() == 0


@h.test
def deltas_add_up():
    """They are never negative (the contract says so of each), and their sum is the whole."""
    add_up("4096")


@h.test
def deltas_add_up_exactly():
    add_up("1")


@h.test
def a_delta_with_nothing_in_it_has_no_file():
    target = h.Workload("allocs", "5")
    run = heaps.watch(target, "--rate", "1", "--delta", "300ms", "-d", "1h")
    target.says()
    target.says()
    before = len(os.listdir(run.folder))
    time.sleep(2)  # six more of them, all but the first empty
    ended = run.stop()
    assert ended.code == 0 and 1 <= len(ended.files) <= before + 1, (before, ended.files)
    assert sum(ended.files.values()) == ended.closing.written


def compare_formats(rate, *options):
    ended, _ = allocs("--rate", rate, "--format", "proto,legacy,text", *options)
    proto = totals(ended.profile())
    for suffix in (".heap", ".txt"):
        path = ended.output.removesuffix(".pb.gz") + suffix
        found, lines = totals_by_pprof(path)
        # pprof scales and rounds each line by itself: less than 1 a line
        slack = 0 if rate == "1" else lines
        for kind, value in found.items():
            assert 0 <= proto[kind] - value <= slack, (path, kind, value, proto[kind], lines)
        assert len(found) == 4 and found["alloc_space"] > 0, found
    return ended


@h.test
def legacy_totals_are_those_of_proto():
    compare_formats("4096")


@h.test
def legacy_totals_at_rate_1():
    ended = compare_formats("1")
    with open(ended.output.removesuffix(".pb.gz") + ".heap", encoding="utf-8") as file:
        text = file.read()
    head, _, rest = text.partition("\n\n")
    memory, _, maps = rest.partition("\n\nMAPPED_LIBRARIES:\n")
    live, bytes_live, taken, bytes_taken = map(int, re.match(
        r"heap profile: (\d+): (\d+) \[(\d+): (\d+)\] @ heap/2\n", head).groups())
    rows = [list(map(int, row)) for row in re.findall(r"^(\d+): (\d+) \[(\d+): (\d+)\] @( 0x[0-9a-f]+)+$"
                                                      .replace("(\\d+)", "([0-9]+)")
                                                      .replace("( 0x", "(?: 0x"), head, re.M)]
    assert [live, bytes_live, taken, bytes_taken] == [sum(column) for column in zip(*rows)]
    assert re.search(r"^# VmRSS = \d+ kB$", memory, re.M), memory
    assert re.search(r"^[0-9a-f]+-[0-9a-f]+ r-xp [0-9a-f]+ 00:00 0 /.*/allocs$", maps, re.M), maps


@h.test
def pprof_symbolizes_the_legacy_file():
    """Addresses are those of the process, its mappings beside them, so pprof finds the functions."""
    ended, _ = allocs("--rate", "1", "--format", "legacy", "-o", os.path.join(h.folder(), "p.heap"))
    path, = ended.files
    env = {"HOME": h.folder(), **os.environ}
    env.pop("PPROF_BINARY_PATH", None)
    top = h.run(*h.pprof("-top", "-cum", "-sample_index=alloc_space", path), env=env).stdout
    assert re.search(r" site_b$", top, re.M), top


@h.test
def text_is_sorted_and_has_names():
    ended, expected = allocs("--rate", "1", "--format", "text", "-o", os.path.join(h.folder(), "p.txt"))
    path, = ended.files
    with open(path, encoding="utf-8") as file:
        text = file.read()
    in_use = [int(row) for row in re.findall(r"^\d+: (\d+) \[", text, re.M)]
    assert in_use == sorted(in_use, reverse=True) and in_use[0] > 0
    first = text.split("\n@", 1)[0].split("\n# memory")[0].split("[", 2)[2].split("\n1", 1)[0]
    largest = max(expected, key=lambda site: expected[site]["live_bytes"])
    assert f"\t{largest}\t" in first, (largest, first[:600])


@h.test
def several_processes_and_a_format_for_one():
    """-o FILE: one proto file for both, a text for each."""
    targets = [h.Workload("allocs", "5") for _ in range(2)]
    for target in targets:
        target.says()
    run = h.cprof("heap", "--rate", "1", "--format", "proto,text", "-p",
                  ",".join(str(target.pid) for target in targets)).attached()
    for target in targets:
        target.go()
        target.says()
        target.says()
    ended = run.stop()
    proto = totals(ended.profile())
    stem = ended.output.removesuffix(".pb.gz")
    found = [totals_by_pprof(f"{stem}.{target.pid}.txt")[0] for target in targets]
    assert sum(row["alloc_space"] for row in found) == proto["alloc_space"], (found, proto)


@h.test
def a_folder_has_them_all():
    folder = h.folder()
    target = h.Workload("allocs", "5")
    ended, _ = heaps.measure(target, "--rate", "1", "--views", "--format", "proto,legacy", "-o", folder)
    assert ended.code == 0
    names = {os.path.basename(path) for path in glob.glob(folder + "/*")}
    stem = f"cprof.heap.allocs.{target.pid}"
    assert names == {stem + view + suffix for view in ("", ".alloc", ".inuse")
                     for suffix in (".pb.gz", ".heap")}, names


def by_leaf_of_pprof(path):
    """{function: its own objects} as `go tool pprof -top` has them."""
    env = {"HOME": os.path.dirname(path), **os.environ, "PPROF_TMPDIR": os.path.dirname(path)}
    top = h.run(*h.pprof("-top", "-sample_index=alloc_objects", "-nodefraction=0", path), env=env).stdout
    rows = re.findall(r"^ *(\d+) +\S+ +\S+ +\d+ +\S+ +(.+)$", top, re.M)
    return {name: int(flat) for flat, name in rows if int(flat)}


HIDDEN = "malloc", "operator new", "::allocate("


def hidden(names):
    return [name for name in names if any(word in name for word in HIDDEN)]


def new_and_delete(*options):
    """What a C++ program allocates, in every format that has names: its profile, its files, the truth."""
    folder = h.folder()
    target = h.Workload("newdelete")
    target.says()
    run = h.cprof("heap", "--rate", "1", "--alloc", *options, "--format", "proto,text,folded", "-p", target.pid,
                  output=os.path.join(folder, "p.pb.gz")).attached()
    target.go()
    expected = target.says()
    target.says()
    ended = run.stop()
    files = {}
    for suffix in ".txt", ".folded":
        with open(os.path.join(folder, "p" + suffix), encoding="utf-8") as file:
            files[suffix] = file.read()
    return ended.profile(), ended.output, files, expected


def leaves_of(files):
    """Of the text: the name in the first line behind each of numbers. Of the folded stacks: the last one."""
    text = set(re.findall(r"@[ 0-9a-fx]*\n#\t\w*\t(.*)\t", files[".txt"]))
    return text, {line.rsplit(" ", 1)[0].split(";")[-1] for line in files[".folded"].splitlines()}


@h.test
def allocators_do_not_hide_who_allocates():
    """malloc, operator new and std::allocator are in no file: readers show what they are given."""
    profile, path, files, expected = new_and_delete()
    assert not hidden(name for sample in profile["samples"] for name in sample["stack"][:1])
    flat = by_leaf_of_pprof(path)
    for site, numbers in expected.items():
        assert flat[site] == numbers["objects"], (site, flat)
    assert not hidden(flat), flat
    for leaves in leaves_of(files):
        assert set(expected) <= leaves and not hidden(leaves), leaves


@h.test
def all_frames_if_asked_for():
    """Then drop_frames names them: pprof heeds it, others have all of them."""
    profile, path, files, expected = new_and_delete("--all-frames")
    assert any("operator new(unsigned long)" in sample["stack"] for sample in profile["samples"])
    flat = by_leaf_of_pprof(path)
    for site, numbers in expected.items():
        assert flat[site] == numbers["objects"], (site, flat)
    assert not hidden(flat), flat
    for leaves in leaves_of(files):
        assert "malloc" in leaves and not set(expected) & leaves, leaves
    top = h.run_cprof("top", "--all-frames", path)
    assert "malloc" in top.stdout


def lines_of(text):
    """(size, stack): (in use, allocated), each once."""
    found = {}
    for live, live_bytes, taken, taken_bytes, stack in re.findall(
            r"^(\d+): (\d+) \[(\d+): (\d+)\] @((?: 0x[0-9a-f]+)*)$", text, re.M):
        key = int(taken_bytes) / int(taken), stack
        assert key not in found, f"two lines of {key}"
        found[key] = int(live), int(taken)
    return found


@h.test
def a_stack_and_size_is_one_line():
    """Of a launched command the first walks are finished in user space, each by itself."""
    folder = h.folder()
    run = h.cprof("heap", "--rate", "512", "--format", "proto,legacy,text", "--", h.workload("allocs"), "20", "now",
                  output=os.path.join(folder, "p.pb.gz")).wait()
    proto = totals(run.profile())
    for suffix in ".heap", ".txt":
        path = os.path.join(folder, "p" + suffix)
        with open(path, encoding="utf-8") as file:
            lines = lines_of(file.read())
        found, nr = totals_by_pprof(path)
        assert nr == len(lines), (nr, len(lines))
        for kind, value in found.items():  # pprof truncates once a line
            assert 0 <= proto[kind] - value <= nr, (suffix, kind, value, proto[kind], nr)


@h.test
def errors_are_given():
    """--errors: the variance of each site is what the formula says, 0 where nothing is left out."""
    rate = 16384
    ended, expected = allocs("--rate", rate, "--errors")
    profile = ended.profile()
    assert profile["types"][4:] == ["alloc_space_variance", "inuse_space_variance"]
    for site, size in (("site_a", 1024), ("site_b", 16384)):
        found = h.by_function(profile, "alloc_space_variance")[site]
        # itself an estimate: each sample adds (1-p)/p^2 to the variance of the number of blocks
        heaps.estimate_is(found, expected[site]["objects"], size, rate, site,
                          size**2 / math.expm1(size / rate))
    assert any("standard error" in line for line in ended.lines)
    ended, _ = allocs("--rate", "1", "--errors")
    assert totals(ended.profile())["alloc_space_variance"] == 0


h.main()
