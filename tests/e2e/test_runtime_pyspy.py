#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""CPython at the same instant: py-spy's names, files and lines of a stack are those of cprof's samples of it.

A program waits by one line of code in a function of its own, below a chain of calls of many kinds that chance has chosen. While it
waits, its stack is always the same: py-spy reads it once, and each sample must be equal. On a signal the program goes on to the next
place. PLACES=200 visits more of them; PYTHONS=PATH:PATH tries these interpreters, too."""
import json
import os
import shutil
import signal
import subprocess

import harness as h
import unwinding as u
from pythons import some_interpreters

PLACES = int(os.environ.get("PLACES", 40 if h.IS_LONG else 12))
SECONDS_AT_EACH = 0.02
PROGRAM = """
import contextlib, functools, random, signal, sys, threading

chance = random.Random(int(sys.argv[1]))
at = [0]
kinds = []

def kind(function):
    kinds.append(function)
    return function

@kind
def plain(step, rest):
    return step(rest)

@kind
def by_sorted(step, rest):
    return sorted([rest], key=step)

@kind
def by_reduce(step, rest):
    return functools.reduce(lambda before, each: step(each), [rest], 0)

@kind
def by_map(step, rest):
    return list(map(step, [rest]))

@kind
def by_generator(step, rest):
    def made():
        yield 0
        yield step(rest)
    return sum(made())

@kind
def by_lambda(step, rest):
    return (lambda: step(
        rest))()

@kind
def by_comprehension(step, rest):
    return [step(each) for each in [rest]][0]

@kind
def by_keyword(step, rest):
    return functools.partial(step, rest=rest)()

@kind
def by_context(step, rest):
    @contextlib.contextmanager
    def manager():
        step(rest)
        yield
    with manager():
        return 0

@kind
def by_class(step, rest):
    class Made:
        done = step(rest)
    return 0

@kind
def by_exec(step, rest):
    exec("\\n\\n\\nstep(rest)\\n", {"step": step, "rest": rest})
    return 0

@kind
def by_coroutine(step, rest):
    async def inner():
        return step(rest)
    async def outer():
        return await inner()
    try:
        outer().send(None)
    except StopIteration:
        return 0

@kind
def by_handler(step, rest):
    try:
        raise KeyError(rest)
    except KeyError:
        return step(rest)
    finally:
        at[0] += 0

@kind
def by_thread(step, rest):
    thread = threading.Thread(target=step, args=(rest,))
    thread.start()
    thread.join()
    return 0

class Shape:
    def __init__(self, step, rest):
        self.step, self.rest = step, rest

    def __add__(self, other):
        return self.step(self.rest)

    def __getattr__(self, name):
        return self.step(self.rest)

    def __lt__(self, other):
        return bool(self.step(self.rest))

    @property
    def size(self):
        return self.step(self.rest)

    @staticmethod
    def make(step, rest):
        return step(rest)

@kind
def by_operator(step, rest):
    return Shape(step, rest) + 1

@kind
def by_attribute(step, rest):
    return Shape(step, rest).missing

@kind
def by_property(step, rest):
    return Shape(step, rest).size

@kind
def by_method(step, rest):
    return Shape.make(step, rest)

@kind
def by_comparison(step, rest):
    sorted([2, Shape(step, rest)])
    return 0

@kind
def by_lines(step, rest):
    x = (1,
FAR
         2, step(rest))
    return x[1]

# A call whose line is before that of its arguments.
@kind
def by_arguments(step, rest):
    return step(
FAR
        rest
    )

def place(number):
    before = chance.randrange(300)
    text = "\\n" * before + f"def place_{number}():\\n    while at[0] == {number}: pass\\n"
    space = {"at": at}
    exec(compile(text, f"/made/place_{number}.py", "exec"), space)
    return space[f"place_{number}"]

def step(rest):
    call, *others = rest
    if others:
        call(step, others)
    else:
        call()
    return 0

def visit(number):
    chain = [chance.choice(kinds) for _ in range(chance.randrange(1, 40))]
    step(chain + [place(number)])

def go_on(*_):
    at[0] += 1

signal.signal(signal.SIGUSR1, go_on)
print("{}", flush=True)
while True:
    visit(at[0])
""".replace("FAR", "\n" * 200)


def last_of(name):
    """A function's own name: py-spy has no module, and of some versions no class."""
    return name.rpartition(".")[2]


def dumped(pid):
    """What py-spy sees: the functions of the thread that is at a place, leaf first."""
    said = subprocess.run(["py-spy", "dump", "--json", "--pid", str(pid)], capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    found = []
    for thread in json.loads(said.stdout):
        frames = [(last_of(frame["name"]), frame["filename"], frame["line"]) for frame in thread["frames"]]
        if frames and frames[0][0].startswith("place_"):
            found.append(frames)
    assert len(found) <= 1, found
    return found[0] if found else None


def sampled(sample):
    """The same of one of cprof's samples."""
    return [(last_of(frame["name"]), frame["file"], frame["line"]) for frame in sample["frames"]
            if frame["mapping"]["path"].startswith("[python ")]


def visited(path, seed):
    """What py-spy said of each place, and cprof's profile."""
    target, seen = h.Workload(path, u.script(PROGRAM, "prog.py"), seed), {}
    target.says()
    cprof = h.cprof("record", "-F", 3999, "--no-kernel", "-p", target.pid).attached()
    for _ in range(PLACES):
        target.uses(SECONDS_AT_EACH)
        frames = dumped(target.pid)
        if frames:
            seen[frames[0][0]] = frames
        target.process.send_signal(signal.SIGUSR1)
    profile = cprof.stop().profile()
    target.process.kill()
    target.process.wait()
    return seen, profile


@h.test
def names_files_and_lines():
    if not shutil.which("py-spy"):
        raise h.Skip("no py-spy (pip install py-spy)")
    for version, path in some_interpreters():
        seen, profile = visited(path, 14)
        equal, wrong, depth = 0, [], 0
        for sample in profile["samples"]:
            frames = sampled(sample)
            if not frames or frames[0][0] not in seen:
                continue
            if frames == seen[frames[0][0]]:
                equal += u.count([sample])
                depth = max(depth, len(frames))
            else:
                wrong += [frames] * u.count([sample])
        print(f"# {path}: {equal} of {equal + len(wrong)} stacks at {len(seen)} places are equal, of up to {depth} functions",
              flush=True)
        u.assert_enough(equal, path)
        assert len(wrong) <= max(2, 0.005 * (equal + len(wrong))), (version, wrong[0], seen[wrong[0][0][0]])


h.main()
