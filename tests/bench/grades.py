# SPDX-License-Identifier: BSD-2-Clause
"""How well the frames of a profile are named, weighted by samples: frames of user space, notes about stacks left out.

    line        a symbol, or what a runtime says, with its source line
    symbol      a symbol without a line
    beginning   file+0x1234, where the function begins (which the address itself is where a function was just called)
    offset      file+0x1234, the address itself; [anon]; [unknown]
"""
import collections
import os
import re

GRADES = ("line", "symbol", "beginning", "offset")
MADE_UP = re.compile(r"(.*)\+0x([0-9a-f]+)( \[guessed\])?$")
NOTE = re.compile(r"\[(truncated|native|unmatched|code is gone)")


def is_kernel(frame):
    path = (frame["mapping"] or {}).get("path") or ""
    return path.startswith("[kernel") or path.startswith("[bpf")


def grade(frame):
    made_up = MADE_UP.match(frame["name"])
    if made_up and not frame["system_name"]:
        is_start = int(made_up[2], 16) != frame["address"] or frame["address"] % 16 == 0
        return "beginning" if is_start and not made_up[1].startswith("[") else "offset"
    return "line" if frame["line"] else "symbol"


def count(profile):
    """{grade: samples of frames}, and what is worst named: {(file, name): samples} of the rest."""
    found, worst = collections.Counter(), collections.Counter()
    for sample in profile["samples"]:
        nr = sample["values"]["samples"]
        for frame in sample["frames"]:
            if is_kernel(frame) or NOTE.match(frame["name"]):
                continue
            found[grade(frame)] += nr
            if grade(frame) in ("beginning", "offset"):
                worst[os.path.basename((frame["mapping"] or {}).get("path") or "?")] += nr
    return found, worst


def table(named):
    """named: {program: {when: count()}}."""
    print(f"\n{'frames named by, %':<22} {'':<18}" + "".join(f"{name:>10}" for name in GRADES) + "  not by a symbol, most")
    for program, results in named.items():
        for when, (found, worst) in results.items():
            nr = sum(found.values()) or 1
            files = ", ".join(f"{path} {100 * n / nr:.1f}" for path, n in worst.most_common(3))
            print(f"{program:<22} {when:<18}" + "".join(f"{100 * found[name] / nr:>10.2f}" for name in GRADES) + f"  {files}")
