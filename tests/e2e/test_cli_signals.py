#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Signals and exit codes: what a shell and a user at a terminal rely on. TIMEOUTS=200 ends so many recordings by timeout(1), and
says how many files were lost (`make kills`)."""
import fcntl
import json
import os
import random
import re
import signal
import subprocess
import time

import harness as h
import tracing


@h.test
def one_interrupt_writes_the_file():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        target = h.paused("hot", 30)
        run = h.cprof("record", "-F", "999", "-p", target.pid).attached()
        target.uses(0.15)
        run.signal(number)
        assert h.share(run.wait().profile(), "samples", "hot") > 0.8, number
        target.uses(0.01)  # it goes on
        target.process.kill()


@h.test
def two_signals_at_once_are_one():
    """As timeout(1) sends them, the child first and then its group: the file is there, however close."""
    target, pauses = h.paused("stacks", 90), (0, 0, 0.0005, 0.001, 0.002, 0.003, 0.005, 0.008, 0.012, 0.03, 0.1)
    for pause in pauses if h.IS_LONG else pauses[1::2]:
        run = h.cprof("record", "-F", "1999", "-p", target.pid).attached()
        target.uses(0.2)
        run.signal(signal.SIGSTOP)  # so that the pause is what lies between the two
        run.signal(signal.SIGTERM)
        run.signal(signal.SIGCONT)
        time.sleep(pause)
        if run.process.poll() is None:
            run.signal(signal.SIGINT)
        target.pauses()
        run.wait().profile()


# Others kept the target, or cprof, from the CPUs until it was over.
NO_SAMPLE = re.compile(r"^cprof: (taken 0 |nothing to write: .* was not on a CPU at any tick)", re.M)
TIMEOUTS = int(os.environ.get("TIMEOUTS", "8" if h.IS_LONG else "4"))


@h.test
def timeout_leaves_a_file():
    """What timeout(1) ends has written all it had, unless that was before it began."""
    target, seconds, nr_judged, nr_early, lost, start = h.Workload("hot", 1e6), 0.5, 0, 0, [], time.monotonic()
    if "TIMEOUTS" in os.environ:
        signal.alarm(0)  # it takes what it takes
    while nr_judged < TIMEOUTS:
        assert seconds < 30, "it hardly ever began"
        h.forget_folders()
        path = os.path.join(h.folder(), "cpu.pb.gz")
        target.goes_on()
        done = subprocess.run(["timeout", str(seconds), h.CPROF, "record", "-F", "999", "-p", str(target.pid),
                               "-o", path], stderr=subprocess.PIPE, check=False, text=True)
        target.pauses()
        if "interrupted before sampling began" in done.stderr or NO_SAMPLE.search(done.stderr):
            nr_early += 1
            seconds += 0.5  # a machine under load
            continue
        nr_judged += 1
        if not os.path.exists(path):
            lost.append(done)
            continue
        assert "cprof: taken " in done.stderr, done
        h.judge(path)
    print(f"# {nr_judged} recordings, ended by timeout {seconds:g}: {len(lost)} files lost; {nr_early} more ended before there was a sample; "
          f"{time.monotonic() - start:.0f} s", flush=True)
    assert not lost, lost[:3]


@h.test
def a_third_signal_gives_up_and_says_so():
    """Seconds apart, while it waits for a reader of its standard output."""
    target = h.Workload("stacks", 90)
    fifo = os.path.join(h.folder(), "fifo")
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    writer = os.open(fifo, os.O_WRONLY)
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    os.write(writer, bytes(4096))  # it is full, and nobody empties it
    run = h.cprof("record", "-F", "1999", "-o", "-", "-p", target.pid, stdout=writer).attached()
    target.uses(0.2)
    run.signal(signal.SIGSTOP)
    for number in (signal.SIGTERM, signal.SIGHUP):  # too soon after the first to count
        run.signal(number)
    run.signal(signal.SIGCONT)
    run.takes(signal.SIGINT)
    target.pauses()
    time.sleep(2)
    run.takes(signal.SIGINT)  # the second
    time.sleep(2)
    assert run.process.poll() is None, "two do not end it"
    run.signal(signal.SIGINT)
    ended = run.wait()
    os.close(reader)
    os.close(writer)
    assert ended.code == 128 + signal.SIGINT, ended.code
    assert any("gave up: what was collected is not written" in line for line in ended.lines), ended.lines


@h.test
def a_second_signal_does_not_wait_for_the_command():
    run = h.cprof("record", "-F", "499", "-d", "1s", "--", "sh", "-c", f"{h.workload('hot')} 0.2; exec sleep 3600",
                  run_as=h.AHEAD_OF_OTHERS)
    run.awaits("^cprof: next: ")
    run.takes(signal.SIGTERM)
    time.sleep(2)
    assert run.process.poll() is None, "one waits for it"
    run.signal(signal.SIGTERM)
    ended = run.wait()
    ended.profile(code=128 + signal.SIGTERM)
    assert any("not waiting for" in line for line in ended.lines), ended.lines


@h.test
def a_signal_before_sampling_begins():
    """The command is not run, nothing is written, and both are said. The signal comes at known moments:
    so many beginnings and ends of system calls after the one from which on it is caught."""
    for nr_calls in 0, 1, 10, 60:
        folder = h.folder()
        run = h.cprof("record", "--", "touch", os.path.join(folder, "ran"), run_as=tracing.TRACED)
        tracing.stops(run.pid)
        while not tracing.catches_interrupts(run.pid):
            tracing.next_stop(run.pid)
        for _ in range(nr_calls):
            tracing.next_stop(run.pid)
        assert not h.ATTACHED.search(run.said()), "it samples already"
        run.signal(signal.SIGINT)
        tracing.detach(run.pid)
        ended = run.wait()
        assert not os.listdir(folder) and ended.code == 3, (nr_calls, ended.code, ended.lines)
        assert any("interrupted before sampling began" in line for line in ended.lines), (nr_calls, ended.lines)


@h.test
def a_second_signal_before_sampling_begins():
    """It gives up, and says so, while the first is not heeded yet. The command is not run."""
    folder = h.folder()
    run = h.cprof("record", "--", "touch", os.path.join(folder, "ran"), run_as=tracing.TRACED)
    tracing.stops(run.pid)
    while not tracing.catches_interrupts(run.pid):
        tracing.next_stop(run.pid)
    tracing.handles(run.pid, signal.SIGINT)
    time.sleep(tracing.APART)
    run.signal(signal.SIGINT)
    tracing.detach(run.pid)
    ended = run.wait()
    assert ended.code == 128 + signal.SIGINT, (ended.code, ended.lines)
    assert ended.lines == ["cprof: gave up before sampling began: nothing is written."], ended.lines
    assert not os.listdir(folder) and not os.listdir(run.folder), (os.listdir(folder), os.listdir(run.folder))


@h.test
def a_third_signal_when_the_files_are_written():
    """It gives up what is left to do, and says so: the file stays, whole."""
    run = h.cprof("record", "-F", "499", "-d", "1s", "--", "sh", "-c", f"{h.workload('hot')} 0.2; exec sleep 3600",
                  run_as=h.AHEAD_OF_OTHERS)
    run.awaits(r"waiting for 'sh' to exit\.?$")
    tracing.attach(run.pid)
    tracing.handles(run.pid, signal.SIGINT)
    tracing.handles_another(run.pid, signal.SIGTERM)
    time.sleep(tracing.APART)
    run.signal(signal.SIGHUP)
    tracing.detach(run.pid)
    ended = run.wait()
    assert ended.lines[-1] == "cprof: gave up what was left to do: the files are written.", ended.lines
    ended.profile(code=128 + signal.SIGHUP)


@h.test
def interrupted_child_is_waited_for():
    """A launched command that outlives the profile is left to end by itself."""
    start = time.monotonic()
    run = h.cprof("record", "-F", "499", "-d", "200ms", "--", h.workload("exiter"), "0.7", "5").wait()
    took = time.monotonic() - start
    profile = run.profile(code=5)
    assert 2e8 <= profile["duration_ns"] < 1e9 * took, (profile["duration_ns"], took)
    assert took >= 0.7 and run.says()["cpu_seconds"] >= 0.7, took


@h.test
def exit_code_of_the_command():
    for code in (0, 1, 7, 200):
        run = h.cprof("record", "-F", "499", "--", h.workload("exiter"), "0.05", str(code)).wait()
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
