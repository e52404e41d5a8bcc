# SPDX-License-Identifier: BSD-2-Clause
"""cprof stopped where a test says: ptrace(2) stops it where it begins and ends a system call, and where a signal comes.

A process that is traced is not to be asked for with Popen.poll(): that would take its stops.
"""
import ctypes
import os
import re
import signal
import sys
import time

LIBC = ctypes.CDLL(None)
LIBC.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
PTRACE_ATTACH, PTRACE_DETACH, PTRACE_SYSCALL = 16, 17, 24
# run_as, for one that stops when it is executed.
TRACED = (sys.executable, "-c", "import ctypes, os, sys; ctypes.CDLL(None).ptrace(0, 0, None, None); "
          "os.execv(sys.argv[1], sys.argv[1:])")
# Signals count if they come so far apart (doc/cprof-record.1, SIGNALS).
APART = 1.05


def stops(pid):
    """Waits for that. The signal that stopped it."""
    _, status = os.waitpid(pid, 0)
    assert os.WIFSTOPPED(status), f"it ended: {status:#x}"
    return os.WSTOPSIG(status)


def next_stop(pid, number=0):
    """Lets it go on, with that signal. The signal that stopped it next: SIGTRAP at a system call."""
    assert not LIBC.ptrace(PTRACE_SYSCALL, pid, None, number)
    return stops(pid)


def attach(pid):
    assert not LIBC.ptrace(PTRACE_ATTACH, pid, None, None)
    while stops(pid) != signal.SIGSTOP:
        pass


def detach(pid):
    assert not LIBC.ptrace(PTRACE_DETACH, pid, None, None)


def handles(pid, number):
    """Sends it a signal that it catches. It stops in the handler, where that writes to a descriptor."""
    os.kill(pid, number)
    while next_stop(pid) != number:
        pass
    assert next_stop(pid, number) == signal.SIGTRAP


def handles_another(pid, number):
    """So long after the one before that it counts."""
    time.sleep(APART)
    handles(pid, number)


def catches_interrupts(pid):
    """Does it catch SIGINT already?"""
    with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
        return int(re.search(r"^SigCgt:\s*(\w+)", file.read(), re.M)[1], 16) & 1 << (signal.SIGINT - 1)
