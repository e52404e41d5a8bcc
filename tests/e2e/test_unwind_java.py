#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Whole stacks of a stock JVM: no flags, no agent, frames of its interpreter and of both compilers.

Every JVM that is installed is tried (Debian's and those of /usr/lib/jvm). None: SKIP.
"""
import glob
import os
import re
import shutil

import harness as h
import unwinding as u

LEAST = 99.5
WHOLE = re.compile(rf"^cprof: complete stacks: {h.NUMBER} of {h.NUMBER} \(")


def jvms():
    """The launchers of all JVMs, each once."""
    found = [shutil.which("java"), *sorted(glob.glob("/usr/lib/jvm/*/bin/java"))]
    paths = list(dict.fromkeys(os.path.realpath(path) for path in found if path))
    if not paths:
        raise h.Skip("no java and javac (apt-get install default-jdk-headless)")
    return paths


def command(java, folder, seconds, *flags):
    return [java, *flags, "-cp", folder, "Deep", str(seconds)]


def attach(java, folder, seconds, *flags):
    """Profiles a JVM for this much of its CPU time, once it has begun to compile."""
    target = h.Workload(*command(java, folder, 3600, *flags))
    target.uses(2)
    # what is compiled is met as it is made: cprof gets a CPU at once
    cprof = h.cprof("record", "-F", 999, "-p", target.pid, run_as=h.AHEAD_OF_OTHERS).attached()
    target.uses(seconds)
    target.pauses()
    run = cprof.stop()
    target.process.kill()
    target.process.wait()
    return run


def assert_whole(run, java, least=LEAST):
    whole, nr = map(h.number, run.matches(WHOLE)[0].groups())
    print(f"# {java}: {whole} of {nr} whole ({100 * whole / nr:.2f} %)", flush=True)
    u.assert_enough(nr, java)
    assert 100 * whole >= least * nr - 100, f"{nr - whole} of {nr}: {u.reasons(run.profile()['samples'])}"


def assert_guesses_are_few(samples):
    """But for the callers of SpinPause, which is assembler without unwind information: a thread of the garbage
    collector spins there for as long as another one has no CPU."""
    guesses = u.count([s for s in samples if any(
        "guessed" in name and callee != "SpinPause" for callee, name in zip(["", *s["stack"]], s["stack"]))])
    assert guesses <= max(0.005 * u.count(samples), 2), guesses


def assert_dives(samples, gone=0.05):
    """dive is called by itself, by nobody else, and in the end by work; of code that the JVM has thrown away since, there is
    no name, and that is said."""
    deepest, nr, nr_gone = 0, 0, 0
    for sample in samples:
        stack = sample["stack"]
        if u.why_truncated(sample) or "Deep.dive" not in stack:
            continue
        if "[code is gone]" in stack:
            nr_gone += u.count([sample])
            continue
        first, last = stack.index("Deep.dive"), len(stack) - stack[::-1].index("Deep.dive")
        assert set(stack[first:last]) == {"Deep.dive"}, stack
        assert stack[last] == "Deep.work", stack
        deepest = max(deepest, last - first)
        nr += u.count([sample])
    u.assert_enough(nr, "dive()")
    assert nr_gone <= max(gone * (nr + nr_gone), 2), (nr, nr_gone)
    assert 20 <= deepest <= 110, deepest


def assert_exceptions(samples):
    """thrower, calling itself, is called by catcher."""
    samples = u.holding({"samples": samples}, "Deep.thrower", "Deep.catcher")
    assert samples, "nobody throws"
    for sample in samples:
        stack = sample["stack"]
        last = len(stack) - 1 - stack[::-1].index("Deep.thrower")
        assert stack.index("Deep.catcher") > last, stack


@h.test
def attached_to_a_jvm():
    folder = u.build_java("Deep")
    for java in jvms():
        run = attach(java, folder, 1.2)
        assert_whole(run, java)
        samples = run.profile()["samples"]
        assert_guesses_are_few(samples)
        assert_dives(samples)
        assert_exceptions(samples)


@h.test
def from_a_jvms_first_instruction():
    """Code is compiled all the time, and most samples come to code that is not known yet.

    A JVM that starts frees code, and puts other code into its place, without a word to anybody. Until the next look at its
    memory BPF walks the new code by the rules of the old, so that the stack breaks off, and a name that is asked for late finds
    the code gone. How many samples that meets depends on when the JVM does it, and when cprof gets a CPU; that such a
    stack brings the next look forward is tests/unit/test_jvm.c's to show. Here most must be whole and have their names."""
    folder = u.build_java("Deep")
    for java in jvms()[:1]:
        # as in attach(), and the JVM gets one as everybody does
        run = h.cprof("record", "-F", 299, "--", "nice", "-n", "20", *command(java, folder, 5),
                      run_as=h.AHEAD_OF_OTHERS).wait()
        assert_whole(run, java, 50)
        assert_dives(run.profile()["samples"], gone=0.5)


@h.test
def interpreted():
    folder = u.build_java("Deep")
    for java in jvms()[:1]:
        run = attach(java, folder, 1.2, "-Xint")
        assert_whole(run, java)
        samples = run.profile()["samples"]
        assert_dives(samples)
        assert_exceptions(samples)


h.main()
