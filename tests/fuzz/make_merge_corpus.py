#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the initial corpus of fuzz_merge: two profiles each, with their sizes in the target's format.

    tests/fuzz/make_merge_corpus.py FOLDER
"""
import copy
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import contract  # noqa: E402 (its folder is known only now)


def good():
    profile = contract.good_profile()
    profile["time_nanos"] = 1700000000000000000  # the same seeds each time
    return profile


def string(profile, s):
    profile["string_table"].append(s)
    return len(profile["string_table"]) - 1


def moved():
    """Mappings at another place, labels in another order, other ids."""
    profile = good()
    for mapping in profile["mapping"][:1]:
        mapping["memory_start"] += 0x70000
        mapping["memory_limit"] += 0x70000
    for location in profile["location"][:2]:
        location["address"] += 0x70000
    for sample in profile["sample"]:
        sample["label"] = sample["label"][::-1]
        sample["location_id"] = [number * 3 for number in sample["location_id"]]
    for location in profile["location"]:
        location["id"] *= 3
    return profile


def milliseconds():
    profile = good()
    profile["sample_type"] = [{"type": 3, "unit": string(profile, b"ms")}, {"type": 1, "unit": 2}]
    return profile


def other_types():
    profile = good()
    profile["sample_type"][1] = {"type": string(profile, b"space"), "unit": string(profile, b"bytes")}
    return profile


def negative():
    profile = good()
    for sample in profile["sample"]:
        sample["value"] = [-value for value in sample["value"]]
    return profile


def extreme():
    profile = good()
    profile["sample"][0]["value"] = [(1 << 63) - 1, -(1 << 63)]
    profile["duration_nanos"] = (1 << 63) - 1
    return profile


def pruned():
    profile = good()
    profile["drop_frames"], profile["keep_frames"] = string(profile, b"work|ma.*"), string(profile, b"x+(y|[z])")
    inlined = copy.deepcopy(profile["location"][1])
    inlined["line"] += [{"function_id": 1, "line": 9, "column": 4}]
    profile["location"][1] = inlined
    return profile


def unnamed():
    """Locations without a mapping or a line, a stack without a location, twice the same sample."""
    profile = good()
    profile["location"][0].update(mapping_id=0, line=[])
    profile["sample"] += [{"location_id": [], "value": [1, 1]}] + copy.deepcopy(profile["sample"])
    return profile


PAIRS = {"same": (good, good), "moved": (good, moved), "milliseconds": (good, milliseconds),
         "types": (good, other_types), "nothing": (good, negative), "extreme": (extreme, extreme),
         "pruned": (pruned, good), "unnamed": (unnamed, moved)}


def main(folder):
    os.makedirs(folder, exist_ok=True)
    for name, makers in PAIRS.items():
        first, second = (contract.encode(make()) for make in makers)
        with open(os.path.join(folder, name), "wb") as file:
            file.write(len(first).to_bytes(2, "little") + first + second)


main(sys.argv[1])
