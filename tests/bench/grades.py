# SPDX-License-Identifier: BSD-2-Clause
"""How well the frames of a profile are named, weighted by samples: frames of user space, notes about stacks left out.

    line        a symbol, or what a runtime says, with its source line
    symbol      a symbol without a line
    beginning   file+0x1234, where the function begins: .eh_frame_hdr of the file has that address, and no later one before the frame's
    offset      file+0x1234 otherwise; [anon]; [unknown]
"""
import bisect
import collections
import functools
import os
import re
import struct

GRADES = ("line", "symbol", "beginning", "offset")
MADE_UP = re.compile(r"(.*)\+0x([0-9a-f]+)( \[guessed\])?$")
NOTE = re.compile(r"\[(truncated|native|unmatched|code is gone)")


def is_kernel(frame):
    path = (frame["mapping"] or {}).get("path") or ""
    return path.startswith("[kernel") or path.startswith("[bpf")


@functools.cache
def beginnings(path):
    """Where functions begin by the sorted table of .eh_frame_hdr, which the linker writes (LSB Core, 10.6.2); [] if there is none."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return []
    if data[:5] != b"\x7fELF\x02":
        return []
    at, (size, nr) = struct.unpack_from("<Q", data, 32)[0], struct.unpack_from("<HH", data, 54)
    for i in range(nr):
        kind, _, off, address = struct.unpack_from("<IIQQ", data, at + i * size)
        if kind == 0x6474e550 and data[off:off + 4] == bytes([1, 0x1b, 0x03, 0x3b]):  # of 32 bits, relative to the table
            count, = struct.unpack_from("<I", data, off + 8)
            return sorted(address + start for start, _ in struct.iter_unpack("<ii", data[off + 12:off + 12 + 8 * count]))
    return []


def is_beginning(path, address, start):
    starts = beginnings(path)
    at = bisect.bisect_right(starts, address)
    return at > 0 and starts[at - 1] == start


def grade(frame):
    made_up = MADE_UP.match(frame["name"])
    if made_up and not frame["system_name"]:
        path = (frame["mapping"] or {}).get("path") or ""
        return "beginning" if is_beginning(path, frame["address"], int(made_up[2], 16)) else "offset"
    return "line" if frame["line"] else "symbol"


class Counts:
    """Samples of frames: of each grade, of files that are named worst, and of files that have a debug file on the server."""

    def __init__(self):
        self.found, self.worst, self.served = collections.Counter(), collections.Counter(), collections.Counter()

    def share(self, *names, of=None):
        of = self.found if of is None else of
        return 100 * sum(of[name] for name in names) / (sum(of.values()) or 1)


def count(profile, served=frozenset()):
    """served: build-ids."""
    counts = Counts()
    for sample in profile["samples"]:
        nr = sample["values"]["samples"]
        for frame in sample["frames"]:
            if is_kernel(frame) or NOTE.match(frame["name"]):
                continue
            mapping, how = frame["mapping"] or {}, grade(frame)
            counts.found[how] += nr
            if mapping.get("build_id") in served:
                counts.served[how] += nr
            if how in ("beginning", "offset"):
                counts.worst[os.path.basename(mapping.get("path") or "?")] += nr
    return counts


def targets(program, when, counts):
    """(what, its share, the least that it should be)."""
    yield "by its beginning or better", counts.share("line", "symbol", "beginning"), 99.5
    if program == "go-stripped":
        yield "with line", counts.share("line"), 99.5
    if counts.served:
        yield "exact in files with a debug file", counts.share("line", "symbol", of=counts.served), 99.0


def table(named):
    """named: {program: {when: Counts}}. Returns how many targets are missed."""
    print(f"\n{'frames named by, %':<22} {'':<18}" + "".join(f"{name:>10}" for name in GRADES) + "  not by a symbol, most")
    for program, results in named.items():
        for when, counts in results.items():
            nr = sum(counts.found.values()) or 1
            files = ", ".join(f"{path} {100 * n / nr:.1f}" for path, n in counts.worst.most_common(3))
            print(f"{program:<22} {when:<18}" + "".join(f"{counts.share(name):>10.2f}" for name in GRADES) + f"  {files}")
    print(f"\n{'targets, % of frames':<22} {'':<18} {'is':>8} {'target':>8}")
    missed = 0
    for program, results in named.items():
        for when, counts in results.items():
            for what, share, least in targets(program, when, counts):
                missed += share < least
                print(f"{program:<22} {when:<18} {share:>8.2f} {least:>8.1f}  {what}{'' if share >= least else ': below'}")
    return missed
