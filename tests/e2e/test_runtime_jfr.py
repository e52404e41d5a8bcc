#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Java beside the JVM's Flight Recorder: the lines and inlined methods of compiled leaf frames are those that it reports.

Both sample the same run of workloads/unwind/Legal.java. A chain is a compiled method with all that was inlined into it where the sample
was taken, leaf first, each with its line. JAVA_SECONDS=20 samples for longer than four seconds, JAVA=PATH takes another JVM than those
that are installed."""
import collections
import glob
import json
import os
import re
import shutil

import chance
import harness as h
import unwinding as u

SECONDS = float(os.environ.get("JAVA_SECONDS", "4"))
# By default the JVM notes lines at its safepoints only.
FLAGS = ("-Xlog:disable", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints")


def jvms():
    """The launchers of all JVMs that have a Flight Recorder, each once."""
    found = [os.environ["JAVA"]] if "JAVA" in os.environ else \
        [shutil.which("java"), *sorted(glob.glob("/usr/lib/jvm/*/bin/java"))]
    paths = list(dict.fromkeys(os.path.realpath(path) for path in found if path))
    paths = [path for path in paths if os.path.exists(os.path.join(os.path.dirname(path), "jfr"))]
    if not paths:
        raise h.Skip("no java with a Flight Recorder (apt-get install default-jdk-headless)")
    return paths


def method(name, line):
    """A hidden class has its address in its name, and methods without lines have -1 or 0."""
    return re.sub(r"(\$\$Lambda|LambdaForm\$\w+)\b.*(\.\w+)$", r"\1\2", name), max(line, 0)


def chains_of(java, recording):
    """The Flight Recorder's: how often it saw each."""
    said = h.run(os.path.join(os.path.dirname(java), "jfr"), "print", "--json", "--stack-depth", "64", "--events",
                 "jdk.ExecutionSample", recording).stdout
    found = collections.Counter()
    for event in json.loads(said)["recording"]["events"]:
        chain, frames = [], event["values"]["stackTrace"]["frames"]
        if event["values"]["sampledThread"]["javaName"] != "main" or frames[0]["type"] not in ("Inlined", "JIT compiled"):
            continue
        for frame in frames:
            name = f"{frame['method']['type']['name'].replace('/', '.')}.{frame['method']['name']}"
            chain.append(method(name, frame["lineNumber"]))
            if frame["type"] != "Inlined":
                break
        found[tuple(chain)] += 1
    return found


def beginnings_of(samples):
    """How many samples begin with each chain; where a frame ends cannot be seen."""
    found = collections.Counter()
    for sample in samples:
        frames = [method(frame["name"], frame["line"]) for frame in sample["frames"]]
        for length in range(1, len(frames) + 1):
            found[tuple(frames[:length])] += u.count([sample])
    return found


def sampled(java):
    recording = os.path.join(h.folder(), "of.jfr")
    jcmd = os.path.join(os.path.dirname(java), "jcmd")
    target = h.Workload(java, *FLAGS, "-cp", u.build_java("Legal"), "Legal")
    target.says()
    cprof = h.cprof("record", "-F", 999, "--no-kernel", "-p", target.pid).attached()
    h.run(jcmd, target.pid, "JFR.start", "name=all", "settings=profile", f"filename={recording}")
    target.uses(SECONDS)
    h.run(jcmd, target.pid, "JFR.stop", "name=all")
    target.pauses()
    samples = cprof.stop().profile()["samples"]
    target.process.kill()
    target.process.wait()
    return chains_of(java, recording), beginnings_of(samples)


@h.test
def lines_and_inlined_methods():
    for java in jvms()[None if h.IS_LONG else -1:]:
        jfr, cprof = sampled(java)
        # What was seen once or twice is too rare to be in both.
        jfr = collections.Counter({chain: times for chain, times in jfr.items() if times > 2})
        nr, equal = sum(jfr.values()), sum(times for chain, times in jfr.items() if chain in cprof)
        longest = max((len(chain) for chain in jfr if chain in cprof), default=0)
        print(f"# {java}: cprof has {equal} of {nr} compiled leaf frames, of up to {longest} methods", flush=True)
        for chain, times in jfr.most_common():
            if chain not in cprof:
                print(f"#   {times}: {chain}", flush=True)
        u.assert_enough(nr, "compiled leaf frames")
        chance.at_least(equal, nr, 0.99, java)


h.main()
