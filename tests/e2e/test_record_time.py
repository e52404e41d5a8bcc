#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cprof record: does the profile's CPU time add up to what the kernel charged the target?"""
import mmap
import os
import struct
import subprocess
import time

import cputime
import harness as h


def measure(name, hz, seconds):
    run = h.cprof("record", "-F", str(hz), "--", *cputime.command(name, seconds)).wait()
    profile = run.profile()
    cputime.is_charged(run, h.total(profile, "samples"), profile["period"], run.says(), f"CPU of {name}")


@h.test
def serial_target():
    measure("hot", 3999, 3 if h.IS_LONG else 1.2)


@h.test
def two_busy_threads():
    measure("threads", 3999, 2 if h.IS_LONG else 0.8)


@h.test
def default_rate():
    measure("hot", 99, 3 if h.IS_LONG else 1.5)


@h.test
def children_count():
    """Three processes on two processors; forker says what its children used."""
    measure("forker", 3999, 1 if h.IS_LONG else 0.5)


OTHER_CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static int (*real)(clockid_t, struct timespec *);
static volatile long *ahead;

static void __attribute__((constructor)) begin(void)
{
	real = dlsym(RTLD_NEXT, "clock_gettime");
	ahead = mmap(NULL, sizeof(*ahead), PROT_READ, MAP_SHARED, open(getenv("AHEAD"), O_RDONLY), 0);
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
	int err = real(id, ts);

	if (id == CLOCK_REALTIME)
		ts->tv_sec += *ahead;
	return err;
}
"""


@h.test
def a_clock_that_is_set():
    """That is said, without -v, and only three times of a clock that is set again and again."""
    folder = h.folder()
    library, ahead = os.path.join(folder, "clock.so"), os.path.join(folder, "ahead")
    subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", library], input=OTHER_CLOCK, text=True, check=True)
    with open(ahead, "w+b") as file:
        file.write(bytes(8))
        file.flush()
        seconds = mmap.mmap(file.fileno(), 8)
    target = h.Workload("hot", 600)
    run = h.cprof("record", "--interval", "200ms", "-p", target.pid, verbose=False, env={"LD_PRELOAD": library, "AHEAD": ahead})
    run.writes_files(1)
    for i, (at, by) in enumerate(((3600, "+3600"), (-3600, "-7200"), (7200, "+10800"), (0, "-7200"))):
        seconds[:] = struct.pack("q", at)
        if i < 3:
            run.awaits(rf"^cprof: the system's clock was set by \{by} s during the run: ")
    time.sleep(1)
    done = run.stop()
    assert done.code == 0 and len([line for line in done.lines if "clock was set" in line]) == 3, done.lines


h.main()
