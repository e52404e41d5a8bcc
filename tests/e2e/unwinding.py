# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of whole stacks share: building their workloads, and questions about stacks.

The workloads of workloads/unwind are compiled here and not by the Makefile, which gives all of its
own frame pointers. Their first line says with which flags.
"""
import functools
import os
import re
import shutil
import signal
import subprocess

import chance
import harness as h

SOURCES = os.path.join(h.ROOT, "tests", "e2e", "workloads", "unwind")
FLAGS = re.compile(r"^/\* CFLAGS: (.*) \*/")


def compiled(source, target, *more):
    """A C or C++ file as a program (or library) at target, which is returned."""
    with open(source, encoding="utf-8") as file:
        flags = FLAGS.match(file.readline())[1].split()
    compiler = "g++" if source.endswith(".cc") else "gcc"
    standard = "-std=gnu++17" if source.endswith(".cc") else "-std=gnu11"
    libraries = [flag for flag in flags if flag.startswith("-l")]
    subprocess.run([compiler, standard, "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wno-unused-but-set-variable",
                    "-Wno-infinite-recursion", f"-I{SOURCES}",
                    *(flag for flag in flags if flag not in libraries), *more,
                    "-o", target, source, *libraries], check=True, stdin=subprocess.DEVNULL)
    return target


@functools.cache
def build(name, *more, target=None):
    """A workload of workloads/unwind; all cases share it."""
    source = os.path.join(SOURCES, name)
    if not os.path.exists(source):
        source = os.path.join(SOURCES, name + (".cc" if os.path.exists(f"{source}.cc") else ".c"))
    stem = os.path.splitext(os.path.basename(source))[0]
    return compiled(source, target or os.path.join(h.kept_folder(), stem), *more)


def is_joined(sample, runtime):
    """Has it the functions of a runtime in their places? The runtime may be at work outside of any, and a native stack may
    not be whole."""
    return any(frame["mapping"]["path"].startswith(f"[{runtime} ") for frame in sample["frames"]) and \
        not any(name.startswith("[interpreted frames") for name in sample["stack"])


@functools.cache
def build_go(name, *flags):
    if not shutil.which("go"):
        raise h.Skip("no go compiler")
    target = os.path.join(h.kept_folder(), name)
    subprocess.run(["go", "build", *flags, "-o", target, os.path.join(SOURCES, name + ".go")], check=True,
                   env={**os.environ, "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local",
                        "HOME": os.environ.get("HOME", os.path.dirname(target))})
    return target


@functools.cache
def build_java(*names):
    """The folder of their classes, for every JVM there is."""
    if not shutil.which("java") or not shutil.which("javac"):
        raise h.Skip("no java and javac (apt-get install default-jdk-headless)")
    folder = h.kept_folder()
    subprocess.run(["javac", "-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC", "-proc:none", "--release", "11", "-nowarn", "-d", folder,
                    *(os.path.join(SOURCES, name + ".java") for name in names)],
                   check=True, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return folder


def record(*command, hz=499, **more):
    """Profiles a command from its first instruction on; user stacks only."""
    return h.cprof("record", "-F", hz, "--no-kernel", "--", *command, **more).wait()


LONG = 3600  # seconds that a program would go on for


def profile_of(command, *options, seconds, hz=999, run_as=(), pauses=False):
    """Profiles a program from when it says so on, for so many seconds of its CPU time. It may pause while cprof
    starts; it does when it has run for long enough."""
    target = h.Workload(*command)
    target.says()
    if pauses:
        target.pauses()
    cprof = h.cprof("record", "-F", hz, "--no-kernel", "-p", target.pid, *options, run_as=run_as).attached()
    target.uses(seconds)
    target.pauses()
    run = cprof.stop()
    target.process.kill()
    target.process.wait()
    return run.profile()


def allocations_of(*command, env=None, run_as=()):
    """Samples each allocation of a program that waits for a line, allocates, says {"times": N}, and ends after one more line.
    The profile, and how often it did."""
    target = h.Workload(*command, env=env)
    target.says()
    run = h.cprof("heap", "--rate", "1", "--alloc", "-p", target.pid, run_as=run_as).attached()
    target.go()
    times = target.says()["times"]
    ended = run.stop()
    target.go()
    assert target.wait() == 0
    return ended.profile(), times


def ask_perl(perl):
    """Its version, as 5.036, and if it was built for threads."""
    said = subprocess.run([*perl, "-MConfig", "-e", 'print "$] $Config{useithreads}"'], capture_output=True, text=True, check=True).stdout
    return said[:5], said.endswith(" define")


def reads_perl(perl):
    """Is it one of those that cprof knows?"""
    version, has_threads = ask_perl(perl)
    return version in ("5.032", "5.036", "5.040", "5.042") and has_threads


def check_forged(name, mapping, function):
    """A program that exports what an interpreter does, with structures that lead anywhere: stacks are bounded, and every frame is
    one that it has. The frames of the one that never ends."""
    for what in ("circle", "wild", "text"):
        samples = profile_of((h.workload(name), what), seconds=0.25, hz=3999)["samples"]
        assert_enough(count(samples), what)
        frames = [frame for sample in samples for frame in sample["frames"] if frame["mapping"]["path"] == mapping]
        assert len(frames) < 600 * len(samples), what
        if what == "circle":
            notes = {name for sample in samples for name in sample["stack"] if name.startswith("[interpreter's stack")}
            assert {frame["name"] for frame in frames} == {function}, what
            assert notes <= {"[interpreter's stack too deep to be walked to its root]"}, notes
            circle = frames, notes
    return circle


def check_made(samples, number_of, most_gone=0.01):
    """A program makes functions, each of which lives for a moment, and most stand where another one was. Before it calls one it gives
    its thread that one's number as a name, and "-" after it: so the kernel says which function a sample is in, and none is taken for
    another. number_of(frame): the number that name, file and line of a frame say; None: it is none that was made."""
    made, gone, found, wrong = 0, 0, set(), []
    for sample in samples:
        nr, thread = sample["values"]["samples"], sample["labels"]["thread"]
        if not thread.isdigit():
            continue
        gone += nr * sample["stack"].count("[code is gone]")
        for frame in sample["frames"]:
            number = number_of(frame)
            if number is None:
                continue
            made += nr
            found.add((frame["name"], frame["file"], frame["start_line"]))
            if number != int(thread):
                wrong += nr * [(thread, frame["name"], frame["file"], frame["start_line"])]
    print(f"# {len(found)} functions in {made} frames: {len(wrong)} are wrong, {gone} are gone", flush=True)
    assert not wrong, (len(wrong), made, wrong[:10])
    assert_enough(len(found), "functions")  # how many is the machine's choice
    assert gone <= max(1, most_gone * made), (len(found), made, gone)


def check_hidden(name, mapping, function):
    """A name that cannot be read at first: until then its function has none, and no other's; then it has its own."""
    target = h.Workload(name, "hidden")
    target.says()
    cprof = h.cprof("record", "-F", 3999, "--no-kernel", "-p", target.pid).attached()
    target.uses(0.1)
    target.process.send_signal(signal.SIGUSR1)
    target.uses(0.1)
    target.pauses()
    samples = cprof.stop().profile()["samples"]
    target.process.kill()
    target.process.wait()
    named = [s for s in samples if any(frame["mapping"]["path"] == mapping for frame in s["frames"])]
    gone = [s for s in samples if "[code is gone]" in s["stack"]]
    names = {frame["name"] for s in named for frame in s["frames"] if frame["mapping"]["path"] == mapping}
    print(f"# {name}: {count(gone)} samples without the name, {count(named)} with {names}", flush=True)
    assert_enough(count(gone), "samples without the name")
    assert_enough(count(named), "samples with the name")
    assert names == {function}, names
    counted = re.search(r"of ([\d,]+) functions, ([\d,]+) have no name", cprof.said())
    assert counted and h.number(counted[2]) >= count(gone), cprof.said()


def script(text, name):
    """A file with this text, in a folder of its own."""
    path = os.path.join(h.folder(), name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def attach(program, *arguments, seconds=1, hz=499):
    """Profiles a running program for so many seconds of its CPU time, however long the start of that takes: all of
    its tables are ready before the first sample."""
    target = h.Workload(program, *arguments)
    cprof = h.cprof("record", "-F", hz, "--no-kernel", "-p", target.pid).attached()
    target.uses(seconds)
    target.pauses()
    run = cprof.stop()
    target.process.kill()
    target.process.wait()
    return run


# Stacks ------------------------------------------------------------------------------------------

def why_truncated(sample):
    """None for a whole stack, else the reason that its root frame gives."""
    root = sample["stack"][-1]
    return root if root.startswith("[truncated") else None


count = h.judges.count_of


ENOUGH = 10


def assert_enough(nr, what):
    """There is something to judge. How many ticks come is this machine's matter."""
    assert nr >= ENOUGH, f"{what}: only {nr}"


def assert_part(samples, profile, least, what):
    """So much of a profile, however long it is, are the samples to be judged."""
    nr, of = count(samples), h.total(profile, "samples")
    print(f"# {what}: {nr} of {of}", flush=True)
    assert_enough(nr, what)
    chance.at_least(nr, of, least, what)


def reasons(samples):
    found = {}
    for sample in samples:
        why = why_truncated(sample)
        if why:
            key = f"{why} after {sample['stack'][-2] if len(sample['stack']) > 1 else '?'}"
            found[key] = found.get(key, 0) + count([sample])
    return found


def holding(profile, *names):
    """The samples whose stacks hold all of these functions."""
    return [s for s in profile["samples"] if set(names) <= set(s["stack"])]


def of_program(profile, comm):
    return [s for s in profile["samples"] if s["labels"].get("comm") == comm]


def assert_whole(samples, least=0.99, most_lost=2):
    """least of the samples have whole stacks; of few samples, most_lost may be cut short."""
    nr, cut = count(samples), reasons(samples)
    assert nr, "no samples"
    lost = sum(cut.values())
    print(f"# whole: {nr - lost} of {nr} ({100 * (nr - lost) / nr:.2f} %) {cut or ''}", flush=True)
    assert lost <= max((1 - least) * nr, most_lost), f"{lost} of {nr} stacks are not whole: {cut}"


def assert_ends(samples, *expected):
    """Every whole stack ends in these frames, root last. A name is one, or a tuple of some."""
    assert samples, f"no stack to end in {expected}"
    for sample in samples:
        if why_truncated(sample):
            continue
        tail = sample["stack"][-len(expected):]
        assert len(tail) == len(expected) and all(
            name in (want if isinstance(want, tuple) else (want,))
            for name, want in zip(tail, expected)), f"{sample['stack']} does not end in {expected}"


def assert_chain(samples, *chain):
    """In every whole stack these frames follow each other, leaf first."""
    assert samples, f"no stack to hold {chain}"
    for sample in samples:
        if why_truncated(sample):
            continue
        stack, nr = sample["stack"], len(chain)
        assert any(tuple(stack[i:i + nr]) == chain for i in range(len(stack) - nr + 1)), \
            f"{chain} is not in {stack}"
