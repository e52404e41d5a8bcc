# SPDX-License-Identifier: BSD-2-Clause
"""Whose turn it is on this machine. Cases that run a cprof run beside each other. One that makes the kernel wait for the lock of
a process's mappings runs alone: as long as a probe waits, nobody on the machine can fork, or place another probe."""
import contextlib
import fcntl
import signal

PATH = "/run/cprof-e2e-turn"
held = []  # what this process has locked


def take(kind):
    left = signal.alarm(0)  # who waits for a turn does not hang
    with open(PATH + "-gate", "w", encoding="ascii") as gate:
        fcntl.flock(gate, fcntl.LOCK_EX)  # who waits comes before those who ask later
        file = open(PATH, "w", encoding="ascii")
        held.append(file)
        fcntl.flock(file, kind)
    signal.alarm(left)


def shared():
    """Until the end of the case."""
    if not held:
        take(fcntl.LOCK_SH)


def end():
    while held:
        held.pop().close()


@contextlib.contextmanager
def alone():
    end()
    take(fcntl.LOCK_EX)
    try:
        yield
    finally:
        end()
