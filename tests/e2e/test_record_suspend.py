#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cprof record while the machine is suspended: a real machine sleeps in tests/vm."""
import os
import subprocess

import harness as h

SLEEPER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static volatile unsigned char *slept; /* seconds, which the test writes */

static void __attribute__((constructor)) begin(void)
{
	int fd = open(getenv("SLEPT"), O_RDWR);

	slept = mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0);
}

int clock_gettime(clockid_t id, struct timespec *time)
{
	int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
	int err = real(id, time);

	if (!err && slept && (id == CLOCK_BOOTTIME || id == CLOCK_REALTIME))
		time->tv_sec += *slept;
	return err;
}
"""


@h.test
def a_machine_that_sleeps():
    """As cprof sees it: the clocks that go on meanwhile are ahead of the one that does not. The processes are the same before and after,
    and who comes later has a name."""
    library, slept = os.path.join(h.folder(), "sleeper.so"), os.path.join(h.folder(), "slept")
    subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", library], input=SLEEPER, text=True, check=True)
    with open(slept, "wb") as file:
        file.write(b"\0")
    before = h.paused("hot", 60)
    run = h.cprof("record", "-a", "-F", "499", env={"LD_PRELOAD": library, "SLEPT": slept}).attached()
    before.uses(0.1)
    for seconds in 7, 107:
        with open(slept, "r+b") as file:
            file.write(bytes([seconds]))
        run.awaits(rf"^cprof: the machine was suspended for {seconds if seconds == 7 else 100}\.0 s: ")
    after = h.Workload("exiter", 60)
    for target in before, after:
        target.uses(0.2)
        target.pauses()
    done = run.stop()
    profile = done.profile()
    assert len([line for line in done.lines if "suspended" in line]) == 2, done.lines
    for target, function in (before, "hot"), (after, "busy_until_the_end"):
        of_target = {**profile, "samples": [s for s in profile["samples"] if s["labels"].get("pid") == target.pid]}
        assert h.share(of_target, "samples", function) > 0.8, (function, of_target["samples"])


h.main()
