#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""More files, mappings and processes than there is room for."""
import os
import re
import shutil

import harness as h


def crowd(nr):
    """A process that has so many files mapped, each of which could be a library."""
    folder = h.folder()
    for i in range(nr):
        with open(os.path.join(folder, f"lib{i}.so"), "wb") as file:
            file.write(b"\x7fELF" + bytes(100))
    target = h.Workload("mapper", "files", folder)
    assert target.says() == {"mapped": nr}
    target.sleeps()
    return target


def of(profile, pid):
    """How many samples a process has, and how many of them are in hot's functions, by name and from the root."""
    samples = [s for s in profile["samples"] if s["labels"].get("pid") == pid]
    whole = [s for s in samples if {"hot_a", "hot_b"} & set(s["stack"]) and "main" in s["stack"]]
    return sum(s["values"]["samples"] for s in samples), sum(s["values"]["samples"] for s in whole)


@h.test
def more_files_than_descriptors():
    """A program that starts when all descriptors are in use has names and whole stacks."""
    crowd(600)
    run = h.cprof("record", "-a", "-F", "499", run_as=("prlimit", "--nofile=512:512")).attached()
    target = h.Workload("hot", 60)
    target.uses(0.5)
    done = run.stop()
    nr, whole = of(done.profile(), target.pid)
    assert nr and whole > 0.8 * nr, (nr, whole, done.lines)
    assert not [line for line in done.lines if "could not be opened" in line], done.lines


@h.test
def a_file_that_cannot_be_opened_says_so():
    """Its stacks end for a reason of their own, not for a lack of unwind information, and the closing lines count it."""
    path = os.path.join(h.folder(), "large")
    shutil.copy(h.workload("hot"), path)
    os.truncate(path, 5 << 30)
    target = h.Workload(path, 60)
    run = h.cprof("record", "-F", "499", "-p", target.pid).attached()
    target.uses(0.3)
    done = run.stop()
    ends = [s["stack"][-1] for s in done.profile()["samples"]]
    assert "[truncated: cannot open large (File too large)]" in ends, set(ends)
    assert not any("no unwind info for large" in end for end in ends), set(ends)
    said = "\n".join(done.lines)
    assert re.search(r"^cprof: stacks cannot open large \(File too large\): [\d,]+ of", said, re.M), said
    assert re.search(r"^cprof: [\d,]+ code addresses have no names, their files could not be opened "
                     r"\(large: File too large\)$", said, re.M), said


h.main()
