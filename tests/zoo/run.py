#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The hostile zoo: cprof record -a and heap -a beside programs that wish them ill.

    tests/zoo/run.py [NAME...]      all animals; root

A line for each, "ok NAME WHAT IT DOES: WHAT WAS SEEN", or "FAIL NAME ..." with the reason below it. The last line is "N of
N"; the exit code is 0 only then. zoo.py says what is judged. ZOO_SECONDS: how long each run takes (60).
"""
import os
import sys
import time

import zoo
from animals import animals, h  # h: harness

SECONDS = float(os.environ.get("ZOO_SECONDS", "60"))
SECONDS_FOR_AN_ANIMAL = 1200


def survive(name, controls):
    return h.report(f"{name}: {animals[name][1]}", lambda: zoo.visit(name, SECONDS, controls))


def control():
    """A run of each command beside nobody; what is said of it."""
    found = {}

    def case():
        for kind in zoo.COMMANDS:
            found[kind] = zoo.measure(kind, SECONDS)

    problems = h.run_case(case)
    print("\n     ".join(["FAIL control run", *problems]) if problems else
          f"control: {found['record'].per_second:.1f} samples a CPU second, {found['heap'].per_second:.2%} of the objects",
          flush=True)
    return None if problems else found


def main():
    h.prepare()
    h.SECONDS_FOR_A_CASE = SECONDS_FOR_AN_ANIMAL
    start = time.monotonic()
    names = sys.argv[1:] or list(animals)
    controls = control()
    survived = sum([bool(survive(name, controls)) for name in names]) if controls else 0
    print(f"{survived} of {len(names)} (in {time.monotonic() - start:.0f} s)")
    sys.exit(survived != len(names))


main()
