#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The hostile zoo (tests/zoo), a few seconds of each animal: no hang, no secret, exact accounts, and all the names and
objects of an innocent neighbour. `make zoo` is a minute of each, and compares the neighbour's samples, too."""
import os
import sys

import harness as h

sys.path.insert(0, os.path.join(h.ROOT, "tests", "zoo"))
import zoo  # noqa: E402 (its folder is known only now)
from animals import animals  # noqa: E402

SECONDS = 3 if h.IS_LONG else 1


def is_survived(name):
    def case():
        print(f"# {zoo.visit(name, SECONDS, None)}", flush=True)

    case.__name__, case.__doc__ = name, animals[name][1]
    return case


for animal in animals:
    h.test(is_survived(animal))

h.main()
