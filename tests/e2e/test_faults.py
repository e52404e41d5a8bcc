#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Those faults of tests/faults that take some seconds and are no cases of other tests: what is injected, and what is judged after
each, is as in `make faults`, which has all 40."""
import os
import sys

import harness as h

sys.path.insert(0, os.path.join(h.ROOT, "tests", "faults"))
import fault  # noqa: E402 (its folder is known only now)
import absent  # noqa: E402, F401 (declares faults, as the next ones do)
import limits  # noqa: E402, F401
import load  # noqa: E402, F401
import outputs  # noqa: E402, F401
import targets  # noqa: E402, F401

QUICK = 3, 7, 9, 14, 18, 19, 20, 25, 29, 39, 40


def is_survived(function):
    def case():
        with fault.witness():
            print(f"# {function()}", flush=True)
            fault.judge_runs()

    case.__name__, case.__doc__ = function.__name__, function.__doc__
    return case


h.cases.clear()  # of the tests that faults are made of
for number in QUICK:
    h.test(is_survived(fault.faults[number][0]))

h.main()
