#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cprof convert -o x.afdo.txt: llvm-profdata reads it, and finds what the profile says of each line."""
import gzip
import os
import re
import shutil
import subprocess

import harness as h
from contract import decode
from madeup import madeup

REFUSES = "no sample of a function of which is known where it begins"


def convert(data, status=0):
    path, out = os.path.join(h.folder(), "in.pb.gz"), os.path.join(h.folder(), "x.afdo.txt")
    with open(path, "wb") as file:
        file.write(data)
    done = h.run_cprof("convert", path, "-o", out, status=None)
    assert done.returncode == status, done
    if status:
        assert not os.path.exists(out)
        return done.stderr
    return out


def expected(data):
    """{(function, line, inlined function, line ...): count}, by the rules of the man page."""
    profile = decode(gzip.decompress(data))
    text = [word.decode() for word in profile["string_table"]]
    functions = {function["id"]: function for function in profile["function"]}
    locations = {location["id"]: location for location in profile["location"]}
    sampled = {}
    for sample in profile["sample"]:
        lines = locations[sample["location_id"][0]].get("line", []) if sample.get("location_id") else []
        path = []
        for line in reversed(lines):
            function = functions[line["function_id"]]
            name, start = text[function["system_name"]], function.get("start_line", 0)
            if not line.get("line") or not start or re.search(r"[\x00-\x20:\x7f]|^#|^$", name):
                path = []
                break
            path += [re.split(r"\.llvm\.|\.cold|\.part\.|\.constprop\.|\.isra\.", name)[0], (line["line"] - start) & 0xffff]
        if path and sample["value"][0]:
            at = sampled.setdefault(tuple(path), {})
            at[sample["location_id"][0]] = at.get(sample["location_id"][0], 0) + sample["value"][0]
    return {path: max(1, 100 * sum(at.values()) // len(at)) for path, at in sampled.items()}


def parsed(text):
    """The same from a sample profile; each total is the sum of what is below, each head the greatest line's."""
    found, stack, totals, heads = {}, [], {}, {}
    for line in text.split("\n"):  # names may have other breaks
        if line.lstrip().startswith(("#", "!")) or not line.strip():
            continue
        depth = len(line) - len(line.lstrip(" "))
        words = line.strip()
        if depth == 0:
            name, total, head = words.rsplit(":", 2)
            stack = [name]
            totals[tuple(stack)], heads[name] = int(total), int(head)
            continue
        del stack[2 * depth - 1:]
        offset, rest = words.split(": ", 1)
        if ":" in rest:
            name, total = rest.rsplit(":", 1)
            stack += [int(offset), name]
            totals[tuple(stack)] = int(total)
        else:
            found[(*stack, int(offset))] = int(rest)
    for path, total in totals.items():
        assert total == sum(value for place, value in found.items() if place[:len(path)] == path), (path, total)
    for name, head in heads.items():
        assert head == max([value for place, value in found.items() if place[0] == name and len(place) == 2], default=0), name
    return found


@h.test
def llvm_reads_what_the_profile_says():
    if not shutil.which("llvm-profdata"):
        raise h.Skip("no llvm-profdata to judge by")
    nr_inlined = 0
    for seed in range(1, 41):
        data = madeup(seed)
        path, wanted = convert(data), expected(data)
        with open(path, encoding="utf-8") as file:
            assert parsed(file.read()) == wanted, seed
        merged = os.path.join(h.folder(), "merged.txt")
        done = subprocess.run(["llvm-profdata", "merge", "--sample", "--text", path, "-o", merged], capture_output=True,
                              text=True, timeout=h.HANGS, check=False)
        assert done.returncode == 0 and not done.stderr, done
        with open(merged, encoding="utf-8") as file:
            assert parsed(file.read()) == wanted, seed
        nr_inlined += sum(len(place) > 2 for place in wanted)
    assert nr_inlined > 50, nr_inlined


@h.test
def what_it_cannot_express():
    assert REFUSES in convert(madeup(3, negative=True), 2)
    no_lines = os.path.join(h.folder(), "x.folded")
    with open(no_lines, "w", encoding="utf-8") as file:
        file.write("main;run 7\n")
    with open(no_lines, "rb") as file:
        assert REFUSES in convert(file.read(), 2)


h.main()
