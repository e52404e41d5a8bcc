#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Is a function of one build that function of another? diff, flame --base and check must say the same.

Each is given the same two profiles, and read back: what it has on both sides, on base's alone, on
head's alone.
"""
import gzip
import json
import os
import re
import subprocess

import harness as h
from contract import encode

CPU = (("samples", "count"), ("cpu", "nanoseconds"))


def cprof(*arguments, codes=0):
    return h.run_cprof(*arguments, status=codes).stdout


def written(frames, number=0):
    """A file with main on top of each of {(function, path, build-id): samples}; the number makes it another."""
    strings = {"": 0}

    def string(text):
        return strings.setdefault(text, len(strings))

    frames = {("main", *next(iter(frames))[1:]): 10 + number} | frames
    maps = {file: i for i, file in enumerate(dict.fromkeys((path, build) for _, path, build in frames), 1)}
    profile = {
        "sample_type": [{"type": string(kind), "unit": string(unit)} for kind, unit in CPU],
        "period_type": {"type": string("cpu"), "unit": string("nanoseconds")}, "period": 1000000,
        "time_nanos": 1790000000000000000 + number, "duration_nanos": 1000000000,
        "mapping": [{"id": i, "memory_start": 4096 * i, "memory_limit": 4096 * i + 4096, "filename": string(path),
                     "build_id": string(build), "has_functions": True} for (path, build), i in maps.items()],
        "function": [], "location": [], "sample": []}
    for i, ((name, path, build), count) in enumerate(frames.items(), 1):
        profile["function"].append({"id": i, "name": string(name), "system_name": string(name)})
        where = maps[path, build]
        profile["location"].append({"id": i, "mapping_id": where, "address": 4096 * where + i, "line": [{"function_id": i}]})
        profile["sample"].append({"location_id": [i] if i == 1 else [i, 1], "value": [count, count * 1000000]})
    profile["string_table"] = [text.encode() for text in strings]
    path = os.path.join(h.folder(), f"{number}.pb.gz")
    with open(path, "wb") as file:
        file.write(gzip.compress(encode(profile), 1))
    return path


def sides(rows):
    """Of {name: (base, head)}: who is in both, in base's alone, in head's alone."""
    return {"both": {name for name, (base, head) in rows.items() if base and head},
            "base": {name for name, (base, head) in rows.items() if base and not head},
            "head": {name for name, (base, head) in rows.items() if head and not base}}


def by_diff(base, head):
    rows = json.loads(cprof("diff", "--json", "--sample-type", "samples", base, head))["rows"]
    assert len({row["name"] for row in rows}) == len(rows)
    seen = {row["name"]: (row["cum"]["base"], row["cum"]["head"]) for row in rows}
    for row in rows:
        where = {(True, True): "changed", (True, False): "gone", (False, True): "new"}
        assert row["status"] == where[tuple(map(bool, seen[row["name"]]))], row
    return seen


def by_flame(base, head):
    """The sums of the page's nodes, by frame."""
    html = os.path.join(h.folder(), "x.html")
    cprof("flame", "--base", base, head, "-o", html)
    with open(html, encoding="utf-8") as file:
        data = json.loads(re.search(r'id="data">(.*?)</script>', file.read(), re.S)[1])
    seen, frames = {}, data["nodes"]["frame"]
    for side, column in enumerate((data["base"], data["head"])):
        node = 0
        for step, value in zip(column[0]["step"], column[0]["value"]):
            node += step
            name = data["strings"][data["frames"]["name"][frames[node - 1]]]
            seen.setdefault(name, [0, 0])[side] += value
    names = [data["strings"][i] for i in data["frames"]["name"]]
    assert len(names) == len(set(names)), f"a function stands twice: {names}"
    return seen


def by_check(base, head):
    arguments = ["check", "--json", "--all", "--inconclusive", "pass", "--single", "--min-samples", "1", "--min-share", "0.01%"]
    found = json.loads(cprof(*arguments, "--base", *base, "--head", *head, codes=(0, 1)))
    return {test["name"]: (test["base"], test["head"]) for test in found["tests"] if "file" in test}


def agree(base, head, both, gone=(), new=()):
    """All three find these, and no others (names as identity.h has them; a raw name may stand for one)."""
    first, second = written(base), written(head, 1)
    expected = {"both": set(both) | {"main"}, "base": set(gone), "head": set(new)}
    for who, found in (("diff", by_diff(first, second)), ("flame", by_flame(first, second))):
        assert sides(found) == expected, f"{who}: {sides(found)}"
    checked = by_check([first, written(base, 2)], [second, written(head, 3)])
    keys = {name: name for names in expected.values() for name in names}
    seen = sides({keys.get(name, name): values for name, values in checked.items()})
    for side, names in seen.items():
        seen[side] = names - {"main"}
    expected["both"] = expected["both"] - {"main"}
    assert seen == expected, f"check: {seen}"


SRV, SRV2 = ("/opt/1/srv", "aa01"), ("/opt/2/srv-v2", "aa02")
OLD, NEW = ("/usr/lib/libx.so.1.2", "bb01"), ("/usr/lib/libx.so.1.3", "bb02")
LIBC = ("/usr/lib/libc.so.6", "cc01")


@h.test
def a_renamed_binary_has_the_same_functions():
    agree({("work", *SRV): 100, ("parse", *SRV): 80, ("old", *SRV): 60},
          {("work", *SRV2): 120, ("parse", *SRV2): 70, ("fresh", *SRV2): 50}, {"work", "parse"}, {"old"}, {"fresh"})
    agree({("work", *SRV): 100}, {("work", "/somewhere/else", "aa03"): 120}, {"work"})


@h.test
def a_renamed_library_has_the_same_functions():
    agree({("x_open", *OLD): 100, ("malloc", *LIBC): 50}, {("x_open", *NEW): 120, ("malloc", *LIBC): 60}, {"x_open", "malloc"})


@h.test
def a_function_that_moved_is_the_same():
    agree({("helper", *SRV): 100}, {("helper", *NEW): 120}, {"helper"})


@h.test
def what_a_compiler_made_up_does_not_count():
    agree({("f.constprop.0", *SRV): 100, ("g", *SRV): 90, ("k::h0123456789abcdef", *SRV): 80, ("s[abi:cxx11]()", *SRV): 70,
           ("m.isra.0", *SRV): 60, ("m.cold", *SRV): 5},
          {("f", *SRV2): 120, ("g", *SRV2): 100, ("k", *SRV2): 90, ("s()", *SRV2): 75, ("m", *SRV2): 50},
          {"f", "g", "k", "s()", "m"})


@h.test
def nameless_code_of_another_build_is_one_function():
    agree({("libx.so.1.2+0x10", *OLD): 100, ("libx.so.1.2+0x90", *OLD): 20, ("srv+0x5", *SRV): 30},
          {("libx.so.1.3+0x20", *NEW): 110, ("libx.so.1.3+0xa0", *NEW): 30, ("srv-v2+0x7", *SRV2): 40}, {"[libx.so]", "[srv]"})


@h.test
def nameless_code_of_one_build_is_known_by_its_address():
    """The same file on both sides; cprof names it by its file, so that check's name has no version."""
    first, second = ({(f"libc.so.6+0x{at:x}", *LIBC): count for at, count in side.items()}
                     for side in ({0x10: 100, 0x20: 50}, {0x10: 120, 0x30: 60}))
    base, head = written(first), written(second, 1)
    expected = {"both": {"libc.so.6+0x10"}, "base": {"libc.so.6+0x20"}, "head": {"libc.so.6+0x30"}}
    expected["both"].add("main")
    assert sides(by_diff(base, head)) == expected and sides(by_flame(base, head)) == expected
    checked = sides(by_check([base, written(first, 2)], [head, written(second, 3)]))
    assert {side: names - {"main"} for side, names in checked.items()} == {
        "both": {"libc.so+0x10"}, "base": {"libc.so+0x20"}, "head": {"libc.so+0x30"}}, checked


@h.test
def code_in_no_file_lies_anywhere():
    agree({("[anon]+0x7f0010", "[anon]", ""): 100, ("srv_f", *SRV): 9}, {("[anon]+0x7e0020", "[anon]", ""): 120, ("srv_f", *SRV2): 10},
          {"[anon]", "srv_f"})


@h.test
def two_builds_of_a_program_are_paired():
    """Real ones: a workload, and a copy of it under another name."""
    copied = os.path.join(h.folder(), "hot-v2")
    subprocess.run(["cp", h.workload("hot"), copied], check=True)
    files = [h.cprof("record", "--no-kernel", "--", program, "1").wait().output for program in (h.workload("hot"), copied)]
    for found in (sides(by_flame(*files)), sides(by_check([files[0]], [files[1]]))):
        assert {"hot_a", "hot_b"} <= found["both"], found
    changed = sides(by_diff(*files))
    assert not {"hot_a", "hot_b", "main"} & (changed["base"] | changed["head"]), changed


h.main()
