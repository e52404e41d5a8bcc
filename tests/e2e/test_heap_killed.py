#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cprof heap, killed at random moments: the target goes on, and no probe stays in its code.

50 times, or as often as a minute and a half allows. With KILLS in the environment it is that often, whatever it
takes: `make kills` is 1,000. The seed is printed; SEED repeats its moments.
"""
import os
import random
import re
import signal
import time

import harness as h

KILLS = int(os.environ.get("KILLS", "50"))
SECONDS = 90
PROBING = re.compile(r"^cprof: probing \w+\+\d+ at offset (0x[0-9a-f]+) of (\S+?)(?: \(a leaf\))?$", re.M)
SAMPLING = r"^cprof: sampling malloc and free$"


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

    def clears(self, timeout=h.HANGS):
        """How long it takes until there is none. Other people's tracers may have some there, too."""
        start = time.monotonic()
        while self.probed():
            if time.monotonic() > start + timeout:
                raise AssertionError(f"{self.probed()} probes are left")
            time.sleep(0.005)
        return time.monotonic() - start


def one_run(target, *options):
    return h.cprof("heap", "--rate", 4096, *options, "-p", target.pid)


@h.test
def killed_at_random_moments():
    """While it starts, samples, and, after a Ctrl-C, writes and detaches."""
    seed = int(os.environ.get("SEED", random.randrange(1 << 32)))
    rand = random.Random(seed)
    if "KILLS" in os.environ:
        signal.alarm(0)
    target = h.Workload("churn", "0", "2")
    target.says()
    target.go()
    target.says()  # busy
    start = time.monotonic()
    run = one_run(target)
    run.awaits(SAMPLING)
    startup = time.monotonic() - start
    code = Code(target.pid, run.said())
    assert code.probed() == len(code.bytes)
    run.stop()
    code.clears()
    sampled, took = 0, []
    end = time.monotonic() + SECONDS
    for _ in range(KILLS):
        if "KILLS" not in os.environ and time.monotonic() > end:
            break
        run = one_run(target)
        time.sleep(rand.uniform(0, 2 * startup))
        if rand.random() < 0.3:
            run.signal(signal.SIGINT)
            time.sleep(rand.uniform(0, 0.3))
        run.signal(signal.SIGKILL)
        run.process.wait()
        sampled += bool(re.search(SAMPLING, run.said(), re.M))
        took.append(code.clears())
        assert target.process.poll() is None, "the target died"
    before = target.used()
    target.uses(0.1)
    assert target.used() > before
    target.go()
    assert target.wait() == 0
    took.sort()
    print(f"# seed {seed}: {len(took)} kills, {sampled} while sampling or later; the last probe was gone after "
          f"{1000 * took[len(took) // 2]:.0f} ms (median), {1000 * took[-1]:.0f} ms at most", flush=True)


h.main()
