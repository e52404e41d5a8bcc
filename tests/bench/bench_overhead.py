#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What cprof heap says that its probes take of a target's CPU time, beside what they take (root).

A loop of malloc and free is run in turns without probes and with them, in the same process: so others on the machine disturb
both alike. Between two pairs it does so much of other work that the share is small, medium or large. What probes take is
1 - bare / profiled, by the CPU time that the target used for the same work, the least of ROUNDS rounds (5) of each: others on the
machine, and hyperthreads, only add to it. What cprof says is its closing line in that round. Figures, no verdicts.
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

from bench_heap import CPROF

ROUNDS = int(os.environ.get("ROUNDS", "5"))
SECONDS = 1.0  # of CPU time, that a profiled turn should take
SAYS = re.compile(r"^cprof: profiling took (?:about (\d+)|less than 1) % of the target's CPU time", re.M)
SOURCE = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#define HELD 64
static double used(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}
int main(int argc, char **argv)
{
	void *held[HELD] = {0};
	unsigned long nr, work, size;
	uint64_t x = 1;

	printf("ready\\n");
	fflush(stdout);
	while (scanf("%lu %lu %lu", &nr, &work, &size) == 3) {
		double begin = used();

		for (unsigned long i = 0; i < nr; i++) {
			free(held[i % HELD]);
			held[i % HELD] = malloc(size);
			for (unsigned long j = 0; j < work; j++) {
				x = x * 6364136223846793005u + 1;
				__asm__ volatile("" : "+r"(x));
			}
		}
		printf("%.9f\\n", used() - begin);
		fflush(stdout);
	}
	return argc == 99 && argv[0][0] == x;
}
"""
# name: (iterations of other work, bytes of a block, options)
LOADS = {
    "some work": (1000, 64, []),
    "much work": (5000, 64, []),
    "large blocks": (1000, 65536, []),
    "each sampled": (1000, 64, ["--rate", "1"]),
    "allocations alone": (1000, 64, ["--alloc-only"]),
}


class Target:
    def __init__(self, path):
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()

    def takes(self, nr, work, size):
        self.process.stdin.write(f"{nr} {work} {size}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def ends(self):
        self.process.stdin.close()
        self.process.wait()


class Profiler:
    def __init__(self, target, options, folder):
        self.process = subprocess.Popen([CPROF, "heap", "-v", "--allow-empty", "-o", os.path.join(folder, "heap.pb.gz"), *options, "-p",
                                         str(target.process.pid)], stderr=subprocess.PIPE, text=True)
        self.lines = []
        while not self.lines or not self.lines[-1].startswith("cprof: sampling malloc"):
            self.lines.append(self.process.stderr.readline())
            if not self.lines[-1]:
                sys.exit("bench-overhead: " + "".join(self.lines))

    def says(self):
        """Its share of the CPU time in percent."""
        self.process.send_signal(signal.SIGINT)
        lines = self.process.communicate()[1]
        found = SAYS.search(lines)
        if not found:
            sys.exit(f"bench_overhead: cprof says nothing of its price: {lines}")
        return float(found[1] or 0.5)


def measure(target, folder, load):
    """(what cprof says, what it took), in percent, and nanoseconds of a pair by both."""
    work, size, options = load
    nr, said, bare, profiled = 20000, [], [], []
    for turn in range(ROUNDS + 1):
        before = target.takes(nr, work, size)
        profiler = Profiler(target, options, folder)
        within = target.takes(nr, work, size)
        share = profiler.says()
        if not turn:  # how fast is it?
            nr = max(1000, int(nr * SECONDS / within))
            continue
        bare += [before, target.takes(nr, work, size)]
        profiled.append(within)
        said.append(share)
    least, most = min(bare), min(profiled)
    share = said[profiled.index(most)]
    return share, 100 * (1 - least / most), share / (100 - share) * least / nr * 1e9, (most - least) / nr * 1e9


def main():
    if os.geteuid() != 0:
        sys.exit("bench-overhead: probes need root")
    only = sys.argv[1:]
    rows = {}
    with tempfile.TemporaryDirectory(prefix="cprof-bench-") as folder:
        path = os.path.join(folder, "loop")
        subprocess.run(["gcc", "-O1", "-w", "-fno-builtin", "-x", "c", "-", "-o", path], input=SOURCE, text=True, check=True)
        print(f"{'':20}{'cprof says':>12}{'it takes':>12}{'ratio':>9}{'a pair, said':>15}{'true':>9}")
        for name, load in LOADS.items():
            if only and name not in only:
                continue
            target = Target(path)
            said, true, pair_said, pair_true = measure(target, folder, load)
            target.ends()
            rows[name] = {"said_percent": said, "true_percent": true}
            print(f"{name:20}{said:10.0f} %{true:10.1f} %{said / true:9.2f}{pair_said:12.0f} ns{pair_true:6.0f} ns", flush=True)
    if "JSON" in os.environ:
        with open(os.environ["JSON"], "w", encoding="utf-8") as file:
            json.dump(rows, file)


if __name__ == "__main__":
    main()
