#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Signals and exit codes: what a shell and a user at a terminal rely on."""
import json
import os
import random
import signal
import time

import harness as h


@h.test
def one_interrupt_writes_the_file():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        target = h.Workload("hot", 30)
        run = h.cprof("record", "-F", "499", "-p", target.pid).attached()
        target.uses(0.3)
        run.signal(number)
        assert h.share(run.wait().profile(), "samples", "hot") > 0.8, number
        assert target.process.poll() is None, "the target must go on"
        target.process.kill()


@h.test
def two_interrupts_abort():
    """However the second one comes to lie: all of the file, or none and an exit code."""
    target = h.Workload("stacks", 90)
    aborted = 0
    for pause in (0, 0.0005, 0.001, 0.002, 0.003, 0.005, 0.008, 0.012):
        run = h.cprof("record", "-F", "1999", "-p", target.pid).attached()
        time.sleep(0.3)
        run.signal(signal.SIGSTOP)  # so that the pause is what lies between the two
        run.signal(signal.SIGINT)
        run.signal(signal.SIGCONT)
        time.sleep(pause)
        run.signal(signal.SIGINT)
        ended = run.wait()
        if ended.code == 0:
            ended.profile()
            continue
        aborted += 1
        assert ended.code == 128 + signal.SIGINT, ended.code
        # written and told of is written: the abort came after it
        assert not os.listdir(run.folder) or ended.files, os.listdir(run.folder)
    assert aborted > 0, "the second interrupt never aborted"


@h.test
def interrupted_child_is_waited_for():
    """A launched command that outlives the profile is left to end by itself."""
    start = time.monotonic()
    run = h.cprof("record", "-F", "499", "-d", "500ms", "--", h.workload("exiter"), "1.5", "5").wait()
    took = time.monotonic() - start
    profile = run.profile(code=5)
    assert 5e8 <= profile["duration_ns"] < 1e9 * took, (profile["duration_ns"], took)
    assert took >= 1.5 and run.says()["cpu_seconds"] >= 1.5, took


@h.test
def exit_code_of_the_command():
    for code in (0, 1, 7, 200):
        run = h.cprof("record", "-F", "499", "--", h.workload("exiter"), "0.2", str(code)).wait()
        run.profile(code)


@h.test
def signal_of_the_command():
    run = h.cprof("record", "-F", "499", "--", "sh", "-c",
                  "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done; kill -TERM $$").wait()
    run.profile(code=128 + signal.SIGTERM)


@h.test
def command_that_is_not_there():
    run = h.cprof("record", "--", "/nonexistent/command", verbose=False).wait()
    assert run.code in (2, 127), run.code
    run.refused(run.code, "/nonexistent/command")
    assert not os.path.exists(run.output)


@h.test
def killed_at_random_times():
    """SIGKILL from before the first system call until well into the run: nothing stays behind."""
    chance = random.Random(1)
    for kind in ("record", "heap"):
        for _ in range(5):
            run = h.cprof(kind, "--", h.workload("hot"), "30")
            time.sleep(chance.random())
            run.signal(signal.SIGKILL)
            run.process.wait()
            assert not os.path.exists(run.output)


@h.test
def command_runs_as_the_sudo_user():
    folder = h.folder()
    os.chown(folder, h.NOBODY, h.NOBODY)
    output = os.path.join(folder, "profile.pb.gz")
    run = h.cprof("record", "-F", "999", "--", h.workload("ids"), output=output,
                  env={"SUDO_UID": str(h.NOBODY), "SUDO_GID": str(h.NOBODY)}).wait()
    run.profile()
    said = json.loads(run.out)
    assert (said["uid"], said["euid"], said["gid"]) == (h.NOBODY,) * 3, said
    status = os.stat(output)
    assert (status.st_uid, status.st_gid) == (h.NOBODY, h.NOBODY)


h.main()
