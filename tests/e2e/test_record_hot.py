#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cprof record: are the functions, threads and frames those that used the CPU?"""
import contextlib
import os
import re
import shutil
import subprocess

import chance
import cputime
import harness as h


@h.test
def hot_a_is_twice_hot_b():
    run = h.cprof("record", "-F", "3999", "--", h.workload("hot"), "3" if h.IS_LONG else "1.5").wait()
    profile = run.profile()
    flat = h.by_leaf(profile, "samples")
    chance.ratio_is(flat["hot_a"], flat["hot_b"], 2, "hot_a : hot_b")
    assert (flat["hot_a"] + flat["hot_b"]) / h.total(profile, "samples") > 0.9, flat
    cumulative = h.by_function(profile, "samples")
    chance.ratio_is(cumulative["hot_a"], cumulative["hot_b"], 2, "hot_a : hot_b, cumulative")


@h.test
def stacks_reach_main():
    profile = h.cprof("record", "-F", "1999", "--", h.workload("hot"), "0.5").wait().profile()
    hot = [s for s in profile["samples"] if s["stack"][0] in ("hot_a", "hot_b")]
    # callers in their order; what is under main is libc's
    whole = sum(s["values"]["samples"] for s in hot if s["stack"][1:3] == ["hot", "main"])
    assert whole / sum(s["values"]["samples"] for s in hot) > 0.98, [s["stack"] for s in hot][:5]
    assert profile["mappings"][0]["path"].endswith("/hot"), profile["mappings"][0]


def is_of_plt(name, text):
    """An entry, or the code before the first, which calls the dynamic linker once for each function and has no name; the code of
    the program itself begins at text."""
    unnamed = re.fullmatch(r"hot\+0x(\w+)", name)
    return name.endswith("@plt") or (unnamed and int(unnamed[1], 16) < text)


@h.test
def stripped_functions_are_one_row_each():
    """A function without a symbol is called by where it begins, wherever in it a tick came."""
    stripped = os.path.join(h.folder(), "hot")
    subprocess.run(["strip", "-o", stripped, h.workload("hot")], check=True)
    known = subprocess.run(["nm", h.workload("hot")], check=True, capture_output=True, text=True).stdout
    functions = {int(address, 16): name for address, name in re.findall(r"^(\w+) [tT] (\w+)$", known, re.M)}
    names = {f"hot+{address:#x}": name for address, name in functions.items()}
    text = next(address for address, name in functions.items() if name == "_start")
    profile = h.cprof("record", "-F", "3999", "--", stripped, "0.5").wait().profile()
    flat = {names.get(name, name): value for name, value in h.by_leaf(profile, "samples").items()}
    chance.ratio_is(flat["hot_a"], flat["hot_b"], 2, "hot_a : hot_b")
    own = [frame for sample in profile["samples"] for frame in sample["frames"]
           if frame["mapping"]["path"].endswith("/hot") and not is_of_plt(frame["name"], text)]
    called = {names.get(frame["name"]) for frame in own}
    assert {"hot_a", "hot_b", "hot", "main"} <= called and None not in called, {frame["name"] for frame in own}
    # each location has the address that it had, not the function's: there are four loops in it
    ticks = {frame["address"] for frame in own if names[frame["name"]] == "hot_a"}
    assert len(ticks) > 1, ticks


DEBUG_FILES = "/usr/lib/debug/.build-id"


def debug_file_of(build_id):
    return os.path.join(DEBUG_FILES, build_id[:2], build_id[2:] + ".debug")


@h.test
def debug_files_name_what_is_stripped():
    """The system's debug file with the build-id of a file has its symbols; one of another build-id is not believed."""
    build_id = os.urandom(20).hex()
    folder = h.folder()
    source, stripped, debug = (os.path.join(folder, name) for name in ("hot.c", "hot", "hot.debug"))
    shutil.copy(os.path.join(h.ROOT, "tests/e2e/workloads/hot.c"), source)
    subprocess.run(["gcc", "-O0", "-g", "-D_GNU_SOURCE",
                    "-I", os.path.join(h.ROOT, "tests/e2e/workloads"), f"-Wl,--build-id=0x{build_id}",
                    "-o", stripped, source], check=True)
    subprocess.run(["objcopy", "--only-keep-debug", stripped, debug], check=True)
    subprocess.run(["strip", stripped], check=True)
    place = debug_file_of(build_id)
    for is_its_own in (True, False):
        os.makedirs(os.path.dirname(place), exist_ok=True)
        try:
            shutil.copy(debug if is_its_own else h.workload("hot"), place)
            run = h.cprof("record", "-F", "1999", "--", stripped, "0.4").wait()
        finally:
            os.unlink(place)
            with contextlib.suppress(OSError):
                os.rmdir(os.path.dirname(place))
        frames = [frame for sample in run.profile()["samples"] for frame in sample["frames"]
                  if frame["mapping"]["path"].endswith("/hot")]
        names = {frame["name"] for frame in frames}
        assert names, run.lines
        if is_its_own:
            assert {"hot_a", "hot_b", "main"} <= names and not [n for n in names if "+0x" in n], names
            assert {frame["mapping"]["build_id"] for frame in frames} == {build_id}, frames[0]
        else:
            assert not {"hot_a", "hot_b", "main"} & names, names


@h.test
def two_threads_with_labels():
    run = h.cprof("record", "-t", "-F", "999", "--", *cputime.command("threads", 2)).wait()
    profile, said = run.profile(), run.says()
    for name, mine, other in (("worker_a", "spin_a", "spin_b"), ("worker_b", "spin_b", "spin_a")):
        samples = [s for s in profile["samples"] if mine in s["stack"]]
        ticks = sum(s["values"]["samples"] for s in samples if s["labels"]["thread"] == name)
        cputime.is_charged(run, ticks, profile["period"], said[name], f"CPU of {name} in {mine}")
        assert {s["labels"]["tid"] for s in samples} == {said[name]["tid"]}, samples
        assert not [s for s in profile["samples"]
                    if s["labels"]["thread"] == name and other in s["stack"]], name
        assert {s["labels"]["comm"] for s in samples} == {"threads"}, samples
    assert len(h.labels(profile, "pid")) == 1


@h.test
def threads_are_one_without_the_option():
    profile = h.cprof("record", "-F", "1999", "--", h.workload("threads"), "0.25").wait().profile()
    assert h.labels(profile, "tid") == {None} and h.labels(profile, "thread") == {None}
    assert h.share(profile, "samples", "spin_a", "spin_b") > 0.9


@h.test
def kernel_stacks_or_none():
    """dd between two special files lives in the kernel: it clears 2 GB of memory."""
    command = ("dd", "if=/dev/zero", "of=/dev/null", "bs=4M", "count=500", "status=none")
    for option, expected in (("--kernel", True), ("--no-kernel", False)):
        profile = h.cprof("record", option, "-F", "999", "--", *command).wait().profile()
        kernel = [s for s in profile["samples"]
                  if any("kernel" in f["mapping"]["path"] for f in s["frames"])]
        assert bool(kernel) == expected, (option, len(kernel), len(profile["samples"]))


@h.test
def closing_line_without_verbose():
    run = h.cprof("record", "-F", "999", "--", h.workload("exiter"), "0.2", verbose=False).wait()
    run.profile()
    # What was written, the accounts, what to type next; words on stacks only if one is cut short, and on ticks that a virtual machine
    # missed.
    lines = [line for line in run.lines
             if not line.startswith(("cprof: truncated stacks", "cprof: complete stacks")) and " were missed, and times " not in line]
    assert len(lines) == 3, run.lines


h.main()
