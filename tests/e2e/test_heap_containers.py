#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Whose memory is in C++'s containers: what top shows of a heap is the program's functions."""
import json
import re

import harness as h

SITES = {"grow_vector", "join_strings", "fill_maps", "emplace_things", "Thing::Thing", "share", "for_each_of",
         "for_each_of::{lambda#1}::operator()", "main"}  # main: of `sizes`
LIBRARY = re.compile(r"^(.* )?(std|__gnu_cxx)::|^(operator new|malloc$)")


def shown(command, path, *options):
    done = h.run_cprof(command, "--sample-type", "alloc_space", *options, path)
    return done.stdout


def short(name):
    """"f(int)::{lambda(int)#1}::operator()(int) const" without its arguments, by a way of its own."""
    name = re.sub(r"(?<=operator\(\))\(.*$", "", name)
    while (less := re.sub(r"<[^<>]*>", "", name)) != name:
        name = less
    return re.sub(r"(?<!operator)\([^()]*\)", "", name)


@h.test
def the_program_is_the_leaf():
    target = h.Workload("containers")
    target.sleeps()
    run = h.cprof("heap", "--rate", "1", "--alloc", "-p", target.pid).attached()
    target.go()
    run = run.wait()
    rows = json.loads(shown("top", run.output, "--json"))["rows"]
    flat = {short(row["name"]): row["flat"] for row in rows if row["flat"]}
    assert SITES <= set(flat), (SITES - set(flat), flat)
    assert flat["Thing::Thing"] == 100 * 500, flat
    assert flat["for_each_of::{lambda#1}::operator()"] == 100 * 250 * 4, flat
    assert flat["emplace_things"] == 100 * 8 and flat["main"] >= 100 * 4, flat
    assert not [name for name in flat if LIBRARY.match(name)], flat
    # what is not a leaf stays: a library between two frames of the program
    assert any(row["name"].startswith("std::for_each") or " std::for_each" in row["name"] for row in rows)
    # nothing is lost by it, and all of it is there for who asks
    whole = json.loads(shown("top", run.output, "--json", "--all-frames"))
    assert sum(row["flat"] for row in whole["rows"]) == sum(flat.values()) == whole["total"]
    # the other commands go by the same rule
    leaves = {short(line.split(";")[-1].rsplit(" ", 1)[0]) for line in
              shown("convert", run.output, "--to", "folded").splitlines() if not line.startswith("# ")}
    assert leaves == set(flat), leaves ^ set(flat)
    selves = {short(row["name"]) for row in json.loads(shown("tree", run.output, "--json"))["rows"] if row["self"]}
    assert selves == set(flat), selves ^ set(flat)


h.main()
