#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Injects faults, one after another, and says what cprof did.

    tests/faults/run.py [NUMBER...]     all of them; root

A line for each, "ok F7 WHAT WAS INJECTED: WHAT WAS SEEN", "FAIL F7 ..." with the reason below it, or "NOT COVERED F7
...: WHY" where this machine cannot do it. The last line is "40 of 40"; the exit code is 0 only then. fault.py says what is
judged after each.
"""
import sys
import time

import fault
import harness as h
import leftovers
import absent  # noqa: F401 (declares faults, as the next ones do)
import limits  # noqa: F401
import load  # noqa: F401
import machine  # noqa: F401
import outputs  # noqa: F401
import signals  # noqa: F401
import targets  # noqa: F401

NR_FAULTS = 40
SECONDS_FOR_A_FAULT = 2000


def inject(number):
    """Says its line. Has it been survived?"""
    if number not in fault.faults:
        print(f"NOT COVERED F{number}: there is no case of it", flush=True)
        return False
    function, injected = fault.faults[number]

    def judged():
        with fault.witness():
            seen = function()
            fault.judge_runs()
        return seen

    leftovers.unjudged.clear()
    is_survived = bool(h.report(f"F{number} {injected}", judged))
    if leftovers.unjudged:
        print(f"NOT COVERED F{number}: other cprofs ran beside it, so that what it has left is not known", flush=True)
    return is_survived and not leftovers.unjudged


def main():
    h.prepare()
    h.SECONDS_FOR_A_CASE = SECONDS_FOR_A_FAULT
    start = time.monotonic()
    numbers = sorted(int(word.lstrip("Ff")) for word in sys.argv[1:]) or range(1, NR_FAULTS + 1)
    survived = sum([inject(number) for number in numbers])
    print(f"{survived} of {len(numbers)} (in {time.monotonic() - start:.0f} s)")
    sys.exit(survived != len(numbers))


main()
