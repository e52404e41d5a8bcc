#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Java: methods by name, file and line, those that were inlined too, of the interpreter and of both compilers.

The judge is a program whose every legal stack is known (workloads/unwind/Legal.java says how). Every JVM that is installed is
tried; JAVA_SECONDS=20 records longer than the 2 seconds of each way to run it, JAVA=PATH takes another JVM."""
import glob
import os
import re
import shutil

import harness as h
import unwinding as u

SECONDS = float(os.environ.get("JAVA_SECONDS", "2"))
FILE = "Legal.java"
NEWEST = slice(None if h.IS_LONG else -1, None)  # of jvms(), where a case is long
WAYS = ((), ("-Xint",)) + ((("-XX:TieredStopAtLevel=1",),) if h.IS_LONG else ())


def jvms():
    """The launchers of all JVMs, each once."""
    found = [os.environ["JAVA"]] if "JAVA" in os.environ else \
        [shutil.which("java"), *sorted(glob.glob("/usr/lib/jvm/*/bin/java"))]
    paths = list(dict.fromkeys(os.path.realpath(path) for path in found if path))
    if not paths:
        raise h.Skip("no java and javac (apt-get install default-jdk-headless)")
    return paths


class Legal:
    """What the program's marks allow."""

    def __init__(self):
        self.ranges, self.calls, opened = {}, {}, []
        with open(os.path.join(u.SOURCES, FILE), encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                self.calls[number] = set(re.findall(r"//(>>?) (\S+)", line))
                for end, name in re.findall(r"//=(\.?) (\S+)", line):
                    if end:
                        self.ranges.setdefault(name, []).append((number, number))
                    else:
                        opened.append((name, number))
                if "//." in line:
                    name, first = opened.pop()
                    self.ranges.setdefault(name, []).append((first, number))

    def why_not(self, frames):
        """Why a sample's frames, leaf first, cannot be; None: they can."""
        callee, between, root = None, False, None
        for frame in frames:
            name, line = frame["name"], frame["line"]
            if frame["file"] != FILE:
                between = between or bool(frame["file"])
                if name in ("Interpreter", "[code is gone]"):
                    return f"a frame is named {name}"
                if name.startswith("Legal."):
                    return f"{name} has no line"
                continue
            if not line:
                return f"{name} has no line"
            if name not in self.ranges:
                return f"unknown method {name}"
            if not any(first <= line <= last for first, last in self.ranges[name]):
                return f"{name}: line {line} is not one of {self.ranges[name]}"
            if callee and (">>" if between else ">", callee) not in self.calls[line]:
                return f"{name} does not call {callee} in line {line}{' through Java' if between else ''}"
            callee, between, root = name, False, name
        return None if root == "Legal.main" else f"its root is {root}"


def attach(java, *flags):
    """Profiles the program once it runs."""
    return u.profile_of([java, *flags, "-cp", u.build_java("Legal"), "Legal"], seconds=SECONDS, run_as=h.AHEAD_OF_OTHERS)


def assert_legal(java, *flags):
    profile = attach(java, *flags)
    legal, wrong, unknown, nr = Legal(), {}, 0, 0
    for sample in profile["samples"]:
        if u.why_truncated(sample) or not any(frame["name"] == "JavaMain" for frame in sample["frames"]):
            continue  # other threads are the VM's own
        nr += u.count([sample])
        why = legal.why_not(sample["frames"])
        if why and why.endswith("has no line") and why.startswith(sample["frames"][0]["name"]):
            unknown += u.count([sample])  # between two bytecodes
        elif why:
            wrong[why] = wrong.get(why, 0) + u.count([sample])
    print(f"# {java} {' '.join(flags)}: {nr - sum(wrong.values())} of {nr} legal, {unknown} of them without a line at the leaf",
          flush=True)
    for why, times in sorted(wrong.items(), key=lambda item: -item[1])[:10]:
        print(f"#   {times}: {why}", flush=True)
    u.assert_enough(nr, "stacks of Java")
    assert sum(wrong.values()) <= max(0.001 * nr, 2), wrong
    assert unknown <= max(0.003 * nr, 8), unknown
    return profile["samples"]


@h.test
def every_stack_is_legal():
    for java in jvms():
        for flags in WAYS:
            assert_legal(java, *flags)


GENERATION = re.compile(r"Gen(\d{5})|(?:outer|inner)(\d{5})")


class Generations:
    """The frames of Unload.java, by what they are called."""

    def __init__(self, java, last, *flags):
        profile = u.profile_of([java, "-Xmx32m", *flags, "-cp", u.build_java("Unload"), "Unload", "4000", str(last)], "--threads",
                               seconds=SECONDS / 2, run_as=h.AHEAD_OF_OTHERS)
        self.right = self.gone = self.main = self.nr = 0
        self.wrong = {}
        for sample in profile["samples"]:
            runs = GENERATION.fullmatch(sample["labels"].get("thread", ""))
            if runs and not u.why_truncated(sample):
                self.look(sample, runs[1])
        print(f"# {java} {' '.join(flags)}: {self.right} frames right, {self.gone} gone, wrong: {self.wrong}; "
              f"{self.main} of {self.nr} have main()", flush=True)

    def look(self, sample, runs):
        nr = u.count([sample])
        self.nr += nr
        self.main += nr * ("Unload.main" in sample["stack"])
        for frame in sample["frames"]:
            found = GENERATION.findall(frame["name"])
            if frame["name"] == "[code is gone]":
                self.gone += nr
            elif {"".join(digits) for digits in found} == {runs}:
                self.right += nr
            elif found:
                key = f"{frame['name']} of {runs}"
                self.wrong[key] = self.wrong.get(key, 0) + nr


@h.test
def classes_that_are_unloaded():
    """Other classes take their place at once: their methods have their own names, or none."""
    for java in jvms()[NEWEST]:
        for flags in WAYS:
            found = Generations(java, 0, *flags)
            assert not found.wrong
            u.assert_enough(found.right + found.gone, "frames")
            assert found.main >= found.nr / 2, found.main


@h.test
def a_class_that_stays_among_them():
    """Where classes were unloaded once, those that are there now have their names."""
    for java in jvms()[NEWEST]:
        for flags in (("-Xint",), ("-XX:-UsePerfData",)):
            found = Generations(java, 20, *flags)
            assert not found.wrong
            assert found.gone <= max(0.001 * (found.right + found.gone), 2), found.gone
            u.assert_enough(found.right, "frames")


def native_allocations(java, *flags):
    """The frames of Native.java, and how often they led to an allocation by the library that they call."""
    profile, times = u.allocations_of(java, *flags, "-cp", u.build_java("Native"), "Native")
    found = {}
    for sample in profile["samples"]:
        if sample["stack"][0] == "Java_java_util_zip_Deflater_init":
            frames = tuple((frame["name"], frame["line"]) for frame in sample["frames"] if frame["file"] == "Native.java")
            found[frames] = found.get(frames, 0) + sample["values"]["alloc_objects"]
    return times, found


@h.test
def heap_shows_methods():
    """Those that lead to malloc, compiled or interpreted."""
    with open(os.path.join(u.SOURCES, "Native.java"), encoding="utf-8") as file:
        lines = {mark: number for number, line in enumerate(file, 1) for mark in re.findall(r"// (site|call)$", line)}
    for java in jvms():
        for flags in ((), ("-Xint",)) if h.IS_LONG else ((),):
            times, found = native_allocations(java, *flags)
            legal = {frames: nr for frames, nr in found.items()
                     if frames[:2] == (("Native.deflate", lines["site"]), ("Native.outer", lines["call"]))
                     and [name for name, _ in frames[2:]] == ["Native.main"]}
            print(f"# {java} {' '.join(flags)}: {sum(legal.values())} of {times}", flush=True)
            assert sum(found.values()) == times, found
            assert sum(legal.values()) >= times * 0.9, found  # code may be made meanwhile


h.main()
