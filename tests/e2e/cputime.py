# SPDX-License-Identifier: BSD-2-Clause
"""Do ticks add up to the CPU time that the kernel charged?

Each time a task is on a CPU it gets as many ticks as there are periods in that time, or one more,
whichever way the two lie: so what chance adds is half a tick as often as the task came to a CPU, which
on a busy machine is often; and no more than if each tick came by chance. Where the machine itself stands
still, the kernel charges nobody. A tick that comes due meanwhile comes late: so a standstill shorter than a
period makes more ticks than time was charged (the kernel counts the time stolen), and of a longer one some
never come (the events' own clocks count these). The rest must be right.

Chance it is only where others come and go at random. Who is woken by a timer, works for some microseconds and waits
for the timer again gets next to no ticks: one that comes due meanwhile comes a moment later, when the CPU is the other
task's again, which a neighbour of this kind gives 7 to 15 % more than its time. So the workloads run before all tasks
of the ordinary class, where nobody takes a CPU from them thousands of times a second.
"""
import functools
import math
import subprocess

import chance
import harness as h

# Not by chance: a kernel may or may not charge the time of interrupts, of which the tick is one.
INTERRUPTS = 0.05


@functools.cache
def first_in_line():
    """What runs a command before others; nothing where that is not allowed: a container without CAP_SYS_NICE."""
    prefix = ("chrt", "--fifo", "1")
    return prefix if subprocess.run([*prefix, "true"], check=False, capture_output=True).returncode == 0 else ()


def command(name, *arguments):
    """A workload that says cpu_seconds and switches, for cprof to start."""
    return (*first_in_line(), h.workload(name), *map(str, arguments))


def is_charged(run, ticks, period_ns, said, what):
    """So many ticks are what a workload says of itself: cpu_seconds, and switches, how often it left a CPU."""
    charged = said["cpu_seconds"] * 1e9 / period_ns
    by_chance = chance.SIGMAS * math.sqrt(min((said["switches"] + 1) / 4, charged)) + 1
    least = charged * (1 - INTERRUPTS) - by_chance - run.ticks_missed
    stolen = run.stolen_seconds * 1e9 / period_ns
    most = charged * (1 + INTERRUPTS) + by_chance + stolen
    explained = (f"{what}: {ticks} ticks of {charged:.0f}, {least:.0f} to {most:.0f}; {run.ticks_missed} missed, "
                 f"{stolen:.0f} stolen, {said['switches']} switches")
    print(f"# {explained}", flush=True)
    assert least <= ticks <= most, explained
