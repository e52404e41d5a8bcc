#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A launched command: what it inherits, and that cprof and its child never wait for each other."""
import os
import signal
import subprocess
import time

import harness as h
import helpers

BOTH = ("record", "heap")


@h.test
def it_has_the_limits_it_would_have():
    """cprof raises its own; the command has those from before."""
    script = "ulimit -n -S; ulimit -n -H; ulimit -l -S; ulimit -l -H"
    limits = ("prlimit", "--nofile=512:2048", "--memlock=65536:131072")
    without = subprocess.run([*limits, "sh", "-c", script], check=True, text=True, stdout=subprocess.PIPE).stdout
    assert without.split() == ["512", "2048", "64", "128"], without
    for command in BOTH:
        ended = h.cprof(command, "--allow-empty", "--", "sh", "-c", script, run_as=limits).wait()
        assert ended.out == without, (command, ended.out, ended.lines)


@h.test
def what_fails_before_it_starts():
    """It never runs, and cprof does not wait for it."""
    witness = os.path.join(h.folder(), "ran")
    for command in BOTH:
        for options in (["--captures", "/nonexistent/x"], ["-o", "/nonexistent/x"], ["-o", "/dev/null/x"]):
            ended = h.cprof(command, *options, "--", "touch", witness).wait()
            assert ended.code == 2, (command, options, ended.code, ended.lines)
            assert not os.path.exists(witness), (command, options)
        ended = h.cprof(command, "--", "/nonexistent/command").wait()
        assert ended.code == 2, (command, ended.code, ended.lines)
        assert "cprof: cannot run '/nonexistent/command': No such file or directory" in ended.lines, ended.lines


def waits_to_execute(pid):
    """A process that helps cprof gives itself a name soon, whether cprof is stopped or not; a command has one of its own."""
    end = time.monotonic() + h.HANGS
    while (status := helpers.status(pid)).get("Name") == "cprof" and time.monotonic() < end:
        if status["State"][0] == "S":
            time.sleep(0.2)
            return helpers.status(pid).get("Name") == "cprof"
        time.sleep(0.002)
    return False


def waiting_child(run):
    """The child of a cprof that has not executed its command yet, with cprof stopped. None: it was too late."""
    end = time.monotonic() + h.HANGS
    while time.monotonic() < end and run.process.poll() is None:
        with open(f"/proc/{run.pid}/task/{run.pid}/children", encoding="ascii") as file:
            found = [pid for pid in file.read().split() if helpers.status(pid).get("Name") == "cprof"]  # the others help cprof
        if not found:
            continue
        run.signal(signal.SIGSTOP)
        if waits_to_execute(found[0]):
            return int(found[0])
        run.signal(signal.SIGCONT)
        return None
    return None


@h.test
def it_is_killed_while_it_waits():
    """cprof says so, and ends; it is not killed by the pipe to a child that is no more."""
    if not os.path.exists(f"/proc/{os.getpid()}/task/{os.getpid()}/children"):
        raise h.Skip("the kernel does not list children")
    for command, *mode in ("record",), ("heap", "--mode", "probe"):  # the other mode asks the loader first, in a child
        for _ in range(40):
            run = h.cprof(command, *mode, "--", "sleep", "0")
            child = waiting_child(run)
            if child:
                break
            run.wait()
        assert child, "it never waited"
        os.kill(child, signal.SIGKILL)
        run.signal(signal.SIGCONT)
        ended = run.wait()
        if ended.code == 128 + signal.SIGKILL:
            continue  # it had been let go, but had not executed its command
        assert ended.code == 2, (command, ended.code, ended.lines)
        assert ended.lines[-1] in ("cprof: 'sleep' was ended before it could start.",
                                   f"cprof: process {child} ended before it could be profiled."), ended.lines


h.main()
