# SPDX-License-Identifier: BSD-2-Clause
"""Is something of cprof left in the kernel when the end-to-end tests have ended?

	nothing_left.py before FILE	notes what is there
	nothing_left.py after FILE	a case: nothing else is there

Each case looks for itself (leftovers.py), but passes over what may be another cprof's. scripts/run-tests.sh
calls this before the first test and after the last.
"""
import json
import sys

import leftovers

# Of all runs of the suite, more than 500: a cprof that leaves its program arrays leaves far more.
NR_LOST = 10 * leftovers.PROGRAM_ARRAYS


def main():
    when, path = sys.argv[1:]
    if when == "before":
        with open(path, "w", encoding="utf-8") as file:
            json.dump(sorted(leftovers.kernel_objects()), file)
        return 0
    with open(path, encoding="utf-8") as file:
        problems = leftovers.left_objects(set(json.load(file)), nr_lost=NR_LOST)
    print("\n".join([f"# {problem}" for problem in problems] + ["1..1", f"{'not ' * bool(problems)}ok 1 - nothing_left"]))
    return bool(problems)


sys.exit(main())
