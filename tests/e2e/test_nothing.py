#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Why there is nothing to write: the reason is said, and it is the true one."""
import contextlib
import os
import re
import signal
import subprocess

import cgroups
import harness as h


def said_nothing(run):
    ended = run.wait()
    assert ended.code == 3 and not ended.files, (ended.code, ended.lines)
    return "\n".join(ended.lines)


@h.test
def idle_is_idle():
    target = h.Workload("idle")
    target.sleeps()
    said = said_nothing(h.cprof("record", "-d", "500ms", "-p", target.pid))
    assert "idle or waiting" in said and "waited for a CPU" not in said, said


@h.test
def stopped_is_not_idle():
    """Neither is it a hang: the run ends in time, and what lets the process go on is said."""
    target = h.Workload("hot", 600)
    target.uses(0.1)
    target.process.send_signal(signal.SIGSTOP)
    for command in "record", "heap":
        said = said_nothing(h.cprof(command, "-d", "500ms", "-p", target.pid))
        assert f"it is stopped (SIGSTOP or a debugger), kill -CONT {target.pid}" in said, said
    target.process.send_signal(signal.SIGCONT)


@h.test
def frozen_is_not_idle():
    """By a control group above its own; by each version of control groups that this machine has. What thaws it is said."""
    nr = 0
    for controller, setting, freezes, thaws in (("freezer", "freezer.state", "FROZEN", "THAWED"),
                                                ("unified", "cgroup.freeze", "1", "0")):
        with contextlib.ExitStack() as stack:
            try:
                above = stack.enter_context(cgroups.group(controller))
                below = stack.enter_context(cgroups.group(controller, above))
            except h.Skip:
                continue
            if not os.path.exists(os.path.join(above, setting)):
                continue
            nr += 1
            target = h.Workload("hot", 600)
            target.uses(0.1)
            cgroups.put(below, ("cgroup.procs", target.pid))
            cgroups.put(above, (setting, freezes))
            for command in "record", "heap":
                said = said_nothing(h.cprof(command, "-d", "500ms", "-p", target.pid))
                expected = f"it is frozen by its control group, {thaws} written to {above}/{setting} lets it go on"
                assert expected in said, (said, expected)
            cgroups.put(above, (setting, thaws))
            target.process.kill()
            target.wait()
    if not nr:
        raise h.Skip("NOT RUN: no control group can be frozen here")


@h.test
def starved_is_not_idle():
    """A process that would run, had others not the CPU: SCHED_IDLE beside busy ones, on one CPU."""
    cpu = min(os.sched_getaffinity(0))
    target, hogs = h.Workload("hot", 600), [h.Workload("hot", 600) for _ in range(3)]
    for process in target, *hogs:
        os.sched_setaffinity(process.pid, {cpu})
    os.sched_setscheduler(target.pid, os.SCHED_IDLE, os.sched_param(0))
    while True:  # now and then it runs for a moment, which may be a tick's
        before = target.used()
        ended = h.cprof("record", "-F", "9", "-d", "1s", "-p", target.pid).wait()
        ran = target.used() - before
        if ended.code == 0:
            assert ran > 0, "sampled on a CPU that it was not on"
            continue
        said = "\n".join(ended.lines)
        waited = re.search(r"not on a CPU at any tick in ([\d.]+) s: it waited for a CPU for ([\d.]+) s ", said)
        assert ended.code == 3 and not ended.files and waited, (ended.code, said)
        # it never sleeps, so it waited for all of the time that it did not run; to tenths of a second
        assert float(waited[2]) >= float(waited[1]) - ran - 0.1, (said, ran)
        assert "idle or waiting" not in said, said
        return


@h.test
def shorter_than_a_tick():
    """It ran, but never at a tick: not idle, and a higher rate sees it."""
    target = h.Workload("/usr/bin/python3", "-c",
                        "import time\nprint('{}', flush=True)\n"
                        "while True:\n    time.sleep(0.02)\n    sum(range(20000))")
    target.says()
    while True:
        before = target.used()
        ended = h.cprof("record", "-F", "1", "-d", "500ms", "-p", target.pid).wait()
        ran = target.used() - before
        if ended.code == 0:  # so late on a busy machine that there was a tick, a second after the start
            assert ran > 0 and ended.profile()["duration_ns"] >= 1e9, ran
            continue
        said = "\n".join(ended.lines)
        assert ended.code == 3 and not ended.files, (ended.code, said)
        assert "between ticks; use a higher -F" in said or "waited for a CPU" in said, said
        assert "idle or waiting" not in said, said
        return


def go_program():
    """A program of Go's that allocates all the time: not one call of malloc in it."""
    folder = h.folder()
    source = os.path.join(folder, "alloc.go")
    with open(source, "w", encoding="ascii") as file:
        file.write("package main\n\nimport (\n\t\"fmt\"\n\t\"os\"\n\t\"time\"\n)\n\nvar kept [][]byte\n\n"
                   "func main() {\n\tfmt.Println(\"{}\")\n\tfor i := 0; len(os.Args) == 1 || i < 3000; i++ {\n"
                   "\t\tif i%1000 == 0 {\n\t\t\tkept = nil\n\t\t}\n"
                   "\t\tkept = append(kept, make([]byte, 4096))\n\t\ttime.Sleep(time.Millisecond)\n\t}\n}\n")
    path = os.path.join(folder, "alloc")
    done = subprocess.run(["go", "build", "-ldflags", "-s -w", "-o", path, source], check=False,
                          stderr=subprocess.PIPE, env={"HOME": folder, "CGO_ENABLED": "0", **os.environ})
    assert done.returncode == 0, done.stderr
    return path


@h.test
def heap_of_a_go_program():
    """Stripped of all that can be; attached to, launched, by name, and with --alloc-only."""
    path = go_program()
    target = h.Workload(path)
    target.says()
    for whom in (("-p", target.pid), ("-p", "alloc"), ("--alloc-only", "-p", target.pid)):
        said = said_nothing(h.cprof("heap", *whom, "-d", "300ms"))
        assert "a Go program" in said and "debug/pprof/heap" in said, said
    target.process.kill()
    said = said_nothing(h.cprof("heap", "--", path, "ends"))
    assert "a Go program" in said and "malloc allocates none of its objects" in said, said


@h.test
def heap_of_a_java_program():
    """Its VM maps a malloc, but its objects are elsewhere."""
    if not os.path.exists("/usr/bin/java"):
        raise h.Skip("no java here")
    folder = h.folder()
    source = os.path.join(folder, "Alloc.java")
    with open(source, "w", encoding="ascii") as file:
        file.write("class Alloc { static Object kept; public static void main(String[] a) throws Exception {\n"
                   "System.out.println(\"{}\"); for (int i = 0; i < 100000000; i++) { kept = new byte[1024];"
                   " if (i % 100 == 0) Thread.sleep(10); } } }\n")
    target = h.Workload("/usr/bin/java", "-Xmx64m", source)
    target.says()
    # The VM itself calls malloc: some 10 kB a second, or a MB while it compiles, of which there may be samples, and so a file. At
    # the largest rate, 2^40, that happens in one of a million runs.
    said = said_nothing(h.cprof("heap", "-d", "500ms", "--rate", str(1 << 40), "-p", target.pid))
    assert "nothing to write: the target is a Java program" in said and "JFR" in said and "malloc allocates none of its objects" in said, said


@h.test
def heap_of_what_does_not_allocate():
    target = h.Workload("idle")
    target.sleeps()
    said = said_nothing(h.cprof("heap", "-d", "300ms", "-p", target.pid))
    assert "no call of malloc" in said, said


h.main()
