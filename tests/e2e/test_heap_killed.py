#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cprof heap, killed at random moments: the target goes on, and no probe stays in its code (kills.py)."""
import re

import harness as h
import injecting
import kills

PROBING = re.compile(r"^cprof: probing \w+\+\d+ at offset (0x[0-9a-f]+) of (\S+?)(?: \(a leaf\))?$", re.M)


class Code:
    """The instructions of a process where cprof puts its probes."""

    def __init__(self, pid, said):
        self.mem = open(f"/proc/{pid}/mem", "rb", buffering=0)  # pylint: disable=consider-using-with
        self.bytes = {}
        with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
            maps = [line.split() for line in file]
        for offset, path in PROBING.findall(said):
            offset = int(offset, 16)
            for span, access, file_off, _, _, *name in maps:
                start, end = (int(word, 16) for word in span.split("-"))
                at = start + offset - int(file_off, 16)
                if name == [path] and "x" in access and start <= at < end:
                    with open(path, "rb") as file:
                        file.seek(offset)
                        self.bytes[at] = file.read(1)
        assert self.bytes, said

    def probed(self):
        """At how many places there is a probe."""
        count = 0
        for at, byte in self.bytes.items():
            self.mem.seek(at)
            count += self.mem.read(1) != byte
        return count


@h.test
def killed_at_random_moments():
    """No probe stays in its code."""
    target = injecting.busy(2)
    code = None

    def begin():
        return h.cprof("heap", "--rate", 4096, "-p", target.pid)

    def noted(run):
        nonlocal code
        code = code or Code(target.pid, run.said())
        return code.probed

    kills.kill_at_random_moments(begin, r"^cprof: sampling malloc and free$", target, noted)
    target.go()
    target.says()
    injecting.ends_well(target)


h.main()
