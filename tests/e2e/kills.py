# SPDX-License-Identifier: BSD-2-Clause
"""cprof, killed at random moments: what test_heap_killed.py and test_record_killed.py share.

20 times (50 in a long run), or as often as a minute and a half allows. With KILLS in the environment it is that often, whatever it
takes, and what cprof had in the kernel must be gone within a second each time: `make kills` is 1,000. The seed is
printed before the first kill, for what fails, too. With it as SEED the moments are the same again, as parts of the time that a
start takes.
"""
import ctypes
import errno
import math
import os
import random
import re
import signal
import struct
import time

import harness as h

SEED = int(os.environ.get("SEED", random.randrange(1 << 32)))
rand = random.Random(SEED)
IS_COUNTED = "KILLS" in os.environ
KILLS = int(os.environ.get("KILLS", "50" if h.IS_LONG else "20"))
SECONDS = 90
SECONDS_TO_CLEAR = 1 if IS_COUNTED else h.HANGS


def begins_anew():
    """The moments that follow are those of the seed; says which it is."""
    rand.seed(SEED)
    print(f"# SEED={SEED} kills at these moments again", flush=True)


def clears(left):
    """How long it takes until left() finds nothing any more."""
    start = time.monotonic()
    while found := left():
        assert time.monotonic() < start + h.HANGS, f"left: {found}"
        time.sleep(0.005)
    return time.monotonic() - start


def reap_orphans(target):
    """The processes that worked for a killed cprof become children of ours: two or three for each kill."""
    while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) and ended.si_pid != target.pid:
        os.waitpid(ended.si_pid, 0)


def kill_at_random_moments(begin, sampling, target, noted):
    """While it starts, samples, and, after a Ctrl-C, writes and detaches.

    begin() starts a cprof, which says sampling once it samples. noted(run) is called just before a kill, and gives a
    function that finds what is left of that run."""
    begins_anew()
    if IS_COUNTED:
        signal.alarm(0)
    start = time.monotonic()
    run = begin()
    run.awaits(sampling)
    startup = time.monotonic() - start
    left = noted(run)
    assert left(), "nothing is there while it samples"
    run.stop()
    clears(left)
    nr_sampled, took = 0, []
    end = time.monotonic() + SECONDS
    while len(took) < KILLS and (IS_COUNTED or time.monotonic() < end):
        h.runs.clear()  # of a thousand, the last is shown
        h.running[:] = [target.process]
        h.forget_folders()
        run = begin()
        if rand.random() < 0.5:  # the others come while it starts, most of them
            run.awaits(sampling)
        time.sleep(rand.uniform(0, startup))
        if rand.random() < 0.3:
            run.signal(signal.SIGINT)
            time.sleep(rand.uniform(0, 0.3))
        left = noted(run)
        run.signal(signal.SIGKILL)
        run.process.wait()
        nr_sampled += bool(re.search(sampling, run.said(), re.M))
        took.append(clears(left))
        reap_orphans(target)
        assert target.process.poll() is None, "the target died"
    took.sort()
    print(f"# {len(took)} kills, {nr_sampled} while sampling or later; the last of it was gone after "
          f"{1000 * took[len(took) // 2]:.0f} ms (median), {1000 * took[-1]:.0f} ms at most", flush=True)
    before = target.used()
    target.uses(0.1)
    assert target.used() > before
    assert took[-1] < SECONDS_TO_CLEAR, f"{took[-1]:.1f} s"


def kill_helper(run, target, helper_of, within):
    """Kills the process that helper_of(run) finds, at a random moment of its start, its sampling or its end, within so many seconds;
    the run is stopped once the target was sampled for 0.05 s of its CPU time. The run that ended, and whether there was
    anybody to kill. The moments are those that follow begins_anew()."""
    at, enough, helper, killed = time.monotonic() + within * rand.random(), None, None, False
    while run.process.poll() is None:
        helper = helper_of(run) or helper
        if helper and not killed and time.monotonic() >= at:
            try:
                os.kill(helper, signal.SIGKILL)
                killed = True
            except ProcessLookupError:
                helper = None  # it was replaced
        if enough is None and h.ATTACHED.search(run.said()):
            enough = target.used() + 0.05
            target.goes_on()
        if enough is not None and target.used() >= enough:
            run.signal(signal.SIGINT)
            target.pauses()
            enough = math.inf
        time.sleep(0.002)
    return run.wait(), killed


# BPF objects -------------------------------------------------------------------------------------

SYS_BPF = 321
GET_FD_BY_ID = {"prog": 13, "link": 30}


def is_there(kind, number):
    """Asks the kernel for a BPF object by its id, which it gives to no other one."""
    libc = ctypes.CDLL(None, use_errno=True)
    attributes = ctypes.create_string_buffer(struct.pack("3I", number, 0, 0), 12)
    fd = libc.syscall(SYS_BPF, GET_FD_BY_ID[kind], attributes, 12)
    if fd >= 0:
        os.close(fd)
    else:
        assert ctypes.get_errno() in (errno.ENOENT, errno.EAGAIN), os.strerror(ctypes.get_errno())
    return fd >= 0 or ctypes.get_errno() == errno.EAGAIN  # EAGAIN: a link that is being made


def objects_of(run):
    """A function that finds which of the BPF programs and links are left that a cprof has now."""
    found, folder = set(), f"/proc/{run.pid}/fdinfo"
    try:
        for fd in os.listdir(folder):
            with open(os.path.join(folder, fd), encoding="utf-8", errors="replace") as file:
                found |= set(re.findall(r"^(prog|link)_id:\t(\d+)$", file.read(), re.M))
    except OSError:
        pass  # it closes descriptors, or has ended
    return lambda: [(kind, number) for kind, number in found if is_there(kind, int(number))]
