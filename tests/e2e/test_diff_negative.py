#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A difference as a file has negative values, which not every reader takes: cprof diff -o and cprof lint say so,
and --drop-negative writes none."""
import json
import os

import harness as h
from contract import load

BASE = {"main;same": 5, "main;less": 9, "main;gone": 4}
HEAD = {"main;same": 5, "main;less": 2, "main;more": 8, "main;new": 1}


def folded(folder, name, stacks):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="ascii") as file:
        file.writelines(f"{stack} {value}\n" for stack, value in stacks.items())
    return path


def both():
    folder = h.folder()
    return (folded(folder, "base.folded", BASE), folded(folder, "head.folded", HEAD),
            os.path.join(folder, "change.pb.gz"))


def leaves(path):
    rows = json.loads(h.run_cprof("top", "--json", "-n", "0", path).stdout)["rows"]
    return {row["name"]: row["flat"] for row in rows if row["flat"]}


@h.test
def diff_says_so():
    base, head, change = both()
    said = h.run_cprof("diff", base, head, "-o", change).stderr
    assert "2 samples have negative values" in said and "Pyroscope" in said and "--drop-negative" in said, said
    assert leaves(change) == {"less": -7, "gone": -4, "more": 8, "new": 1}
    assert not h.run_cprof("diff", head, head, "-o", change).stderr


@h.test
def lint_says_so():
    base, head, change = both()
    h.run_cprof("diff", base, head, "-o", change)
    said = h.run_cprof("lint", change, status=1).stdout
    assert "negative-value" in said and "totals are wrong" in said, said


@h.test
def drop_negative():
    base, head, change = both()
    said = h.run_cprof("diff", base, head, "-o", change, "--drop-negative").stderr
    assert "2 samples" in said and "dropped" in said, said
    assert leaves(change) == {"more": 8, "new": 1}, leaves(change)
    assert "negative-value" not in h.run_cprof("lint", change, status=1).stdout
    h.run_cprof("convert", change, "-o", change + ".speedscope.json")


@h.test
def drop_negative_of_two_runs():
    """Two runs of one command have other pids: equal stacks are subtracted for all that."""
    folder = h.folder()
    paths = [os.path.join(folder, name) for name in ("base.pb.gz", "head.pb.gz")]
    for path in paths:
        h.cprof("heap", "--rate", "1", "-o", path, "--", h.workload("allocs"), output=path).wait()
    change = os.path.join(folder, "change.pb.gz")
    h.run_cprof("diff", *paths, "-o", change, "--drop-negative")
    whole = sum(s["values"]["alloc_space"] for s in load(paths[1])["samples"])
    profile = load(change)
    assert all(value >= 0 for s in profile["samples"] for value in s["values"].values())
    # what the two have in common, nearly all, is gone
    assert sum(s["values"]["alloc_space"] for s in profile["samples"]) * 10 < whole


@h.test
def wrong_usage():
    base, head, change = both()
    assert "-o" in h.run_cprof("diff", base, head, "--drop-negative", status=2).stderr
    assert "--diff-base" in h.run_cprof("diff", base, head, "-o", change, "--diff-base", "--drop-negative", status=2).stderr


h.main()
