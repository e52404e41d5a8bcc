# SPDX-License-Identifier: BSD-2-Clause
"""Control groups of version 1 or 2, made for a test."""
import contextlib
import os
import signal
import time

import harness as h

CGROUPS = "/sys/fs/cgroup"
NAME = f"cprof-test-{os.getpid()}"  # of each group


def home_of(controller):
    """Where groups of a controller are: in a hierarchy of its own (version 1; "unified" is version 2 beside others), else in the only
    one there is (version 2)."""
    path = os.path.join(CGROUPS, controller)
    return path if os.path.isdir(path) else CGROUPS


@contextlib.contextmanager
def group(controller, above=None):
    """The path of a new group of a controller, below another. What is still in it at the end is killed."""
    path = os.path.join(above or home_of(controller), NAME)
    try:
        os.mkdir(path)
    except OSError as error:
        raise h.Skip(f"no control group of {controller}: {error}") from None
    try:
        yield path
    finally:
        end = time.monotonic() + h.HANGS
        while os.path.isdir(path):
            empty(path)
            with contextlib.suppress(OSError):
                os.rmdir(path)
            assert time.monotonic() < end, f"{path} stays"
            time.sleep(0.05)


def empty(path):
    """Kills what is in a group. Frozen processes do not die, and those above it may have frozen it."""
    above = path
    while os.path.basename(above) == NAME:
        with contextlib.suppress(OSError, h.Skip):
            put(above, ("freezer.state", "THAWED"), ("cgroup.freeze", "0"))
        above = os.path.dirname(above)
    with contextlib.suppress(OSError), open(os.path.join(path, "cgroup.procs"), encoding="ascii") as file:
        for pid in map(int, file.read().split()):
            os.kill(pid, signal.SIGKILL)


def put(path, *values):
    """Writes to the first of the files that is there: (name, text)."""
    for name, text in values:
        if os.path.exists(os.path.join(path, name)):
            with open(os.path.join(path, name), "w", encoding="ascii") as file:
                file.write(str(text))
            return
    raise h.Skip(f"{path} has none of {[name for name, _ in values]}")
