#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""CPython: its functions between the native frames, by name, file and line.

The main judge is a program whose every legal stack is known: each line that calls one of its functions says so, and how
(`#> callee`: directly, `#~ callee`: through a native function, `#? callee`: it depends on the version).
PYTHON_SECONDS=20 records longer than the 0.4 seconds of each version (3 with TEST_LONG); PYTHONS=PATH:PATH tries these
interpreters, too."""
import ast
import os
import re
import signal
import subprocess

import harness as h
import unwinding as u
from pythons import PYENV, interpreters, some_interpreters, version_of

SECONDS = float(os.environ.get("PYTHON_SECONDS", 3 if h.IS_LONG else 0.4))
PROGRAM = """
import functools, hashlib, os, threading, zlib

def spin(n):
    x = 0
    while n:
        x += n * n % 7
        n -= 1
    return x

def f_1(n):
    return spin(n) + 1  #> spin

def f_2(n):
    y = f_1(n)  #> f_1
    return y + spin(9)  #> spin

class Shape:
    def area(self, n):
        return f_2(n)  #> f_2

    @classmethod
    def make(cls, n):
        return cls().area(n)  #> Shape.area

    @property
    def size(self):
        return f_1(150)  #> f_1

    def __add__(self, other):
        return spin(200 + other)  #> spin

def key(x):
    return f_1(x + 100)  #> f_1

def by_sorted(n):
    return sorted(range(n), key=key)  #~ key

def add(a, b):
    return a + f_1(b)  #> f_1

def by_reduce(n):
    return functools.reduce(add, range(90, 90 + n), 0)  #~ add

def numbers(n):
    for i in range(n):
        yield f_1(i + 80)  #> f_1

def by_sum(n):
    return sum(numbers(n))  #~ numbers

def by_loop(n):
    for each in numbers(n):  #? numbers
        spin(each % 7)  #> spin

def down(n):
    if not n:
        return spin(300)  #> spin
    return down(n - 1) + 1  #> down

class Held:
    def __del__(self):
        spin(250)  #> spin

def holding(x):
    held = Held()
    return x

def by_map(n):
    return list(map(holding, range(n)))  #~ holding Held.__del__

def outer(n):
    def inner(m):
        return f_1(m)  #> f_1
    return inner(n)  #> outer.<locals>.inner

def work():
    by_sorted(5)  #> by_sorted
    by_reduce(5)  #> by_reduce
    by_sum(5)  #> by_sum
    by_loop(5)  #> by_loop
    Shape.make(120)  #> Shape.make
    Shape().size  #? Shape.size
    Shape() + 1  #? Shape.__add__
    down(20)  #> down
    by_map(5)  #> by_map
    outer(130)  #> outer

def main():
    while True:
        work()  #> work

print("{}", flush=True)
main()  #> main
"""


def script(text, name="prog.py"):
    return u.script(text, name)


class Legal:
    """What the program's marks allow."""

    def __init__(self, text, qualified):
        self.ranges = {"<module>": (1, len(text.splitlines()))}
        self.calls = {}
        self.walk(ast.parse(text), "")
        for line, content in enumerate(text.splitlines(), 1):
            mark = re.search(r"#([>~?]) (.*)", content)
            if mark:
                self.calls[line] = (mark[1], mark[2].split())
        if not qualified:
            self.ranges = {name.split(".")[-1]: lines for name, lines in self.ranges.items()}
            self.calls = {line: (how, [name.split(".")[-1] for name in names])
                          for line, (how, names) in self.calls.items()}

    def walk(self, node, prefix):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef):
                first = min([child.lineno] + [decorator.lineno for decorator in child.decorator_list])
                self.ranges[prefix + child.name] = (first, child.end_lineno)
                self.walk(child, f"{prefix}{child.name}.<locals>.")
            elif isinstance(child, ast.ClassDef):
                self.walk(child, f"{prefix}{child.name}.")
            else:
                self.walk(child, prefix)

    def why_not(self, frames, module="prog"):
        """Why a sample's frames, leaf first, cannot be; None: they can."""
        callee, at, natives, root = None, 0, 0, None
        for frame in frames:
            if not frame["mapping"]["path"].startswith("[python "):
                natives += 1
                continue
            if not frame["name"].startswith(module + "."):
                return f"no function of the program: {frame['name']}"
            name, line = frame["name"][len(module) + 1:], frame["line"]
            if name not in self.ranges:
                return f"unknown function {name}"
            first, last = self.ranges[name]
            if not first <= line <= last:
                return f"{name}: line {line} is not one of {first} to {last}"
            if callee:
                how, callees = self.calls.get(line, ("", []))
                if callee not in callees:
                    return f"{name} does not call {callee} in line {line}"
                # A call of a generator function runs its first line.
                if how == "~" and not natives and at != self.ranges[callee][0] or how == ">" and natives:
                    return f"{natives} native frames between {name} and {callee}"
            callee, at, natives, root = name, line, 0, name
        names = [frame["name"] for frame in frames]
        dels = [i for i, name in enumerate(names) if name.endswith("__del__")]
        if dels and "slot_tp_finalize" in names[:dels[0]]:
            return f"what calls __del__() stands before it: {names}"
        if root != "<module>":
            return f"its root is {root}: {[frame['name'] for frame in frames]}"
        return None


def attach(path, file, *options, seconds=SECONDS, pauses=True):
    return u.profile_of([path, file], *options, seconds=seconds, hz=3999, pauses=pauses)


@h.test
def every_stack_is_legal():
    for version, path in interpreters():
        legal = Legal(PROGRAM, version >= (3, 11))
        samples = attach(path, script(PROGRAM))["samples"]
        nr, wrong = u.count(samples), {}
        for sample in samples:
            why = legal.why_not(sample["frames"])
            if why:
                wrong[why] = wrong.get(why, 0) + sample["values"]["samples"]
        print(f"# {path}: {nr - sum(wrong.values())} of {nr} stacks are legal; {wrong}", flush=True)
        u.assert_enough(nr, path)
        assert not [why for why in wrong if "unknown" in why or "no function" in why], wrong
        # 3.12 announces a frame of C before that says which function it runs: about 1 sample in 2,000 here has none.
        assert sum(wrong.values()) <= max(6, nr / 200), wrong


MAP = "/tmp/perf-{}.map"


def under_perf(path, *options):
    """The profile of the program under -X perf, without the map that this writes."""
    target = h.Workload(path, "-X", "perf", script(PROGRAM))
    try:
        target.says()
        assert os.path.getsize(MAP.format(target.pid)), "no trampoline was written"
        target.pauses()
        cprof = h.cprof("record", "-F", 1999, "--no-kernel", "-p", target.pid, *options).attached()
        target.uses(SECONDS)
        target.pauses()
        return cprof.stop().profile()
    finally:
        target.process.kill()
        target.process.wait()
        if os.path.exists(MAP.format(target.pid)):
            os.unlink(MAP.format(target.pid))


@h.test
def trampolines_of_perf():
    """Under -X perf each function is called by code that nothing describes. Stacks are whole all the same and have the functions of the
    program, once; with --no-python, as the interpreter names them in its map."""
    found = [(version, path) for version, path in interpreters() if version >= (3, 12)]
    if not found:
        raise h.Skip("no Python of version 3.12 or later: neither /usr/bin/python3, nor pyenv's, nor one in PYTHONS")
    for _, path in found:
        samples, legal = under_perf(path)["samples"], Legal(PROGRAM, True)
        assert u.count(samples) > 100, (path, u.count(samples))
        u.assert_whole(samples)
        joined = [sample for sample in samples if u.is_joined(sample, "python")]
        wrong = [sample for sample in joined if legal.why_not(sample["frames"])]
        inner = {name for sample in joined for name in sample["stack"][1:] if name.startswith(("py::", "py_trampoline", "[anon]"))}
        print(f"# {path}: {u.count(joined)} of {u.count(samples)} are joined, {u.count(wrong)} not legal", flush=True)
        assert u.count(joined) >= 0.99 * u.count(samples) - 2, (path, u.count(joined), u.count(samples))
        assert not inner, (path, inner)
        assert u.count(wrong) <= max(6, u.count(samples) / 200), (path, [legal.why_not(s["frames"]) for s in wrong])

        samples = under_perf(path, "--no-python")["samples"]
        u.assert_whole(samples)
        named = [s for s in samples if {"py::main", "py::work"} <= {name.partition(":/")[0] for name in s["stack"]}]
        print(f"# {path}: {u.count(named)} of {u.count(samples)} have what the map names", flush=True)
        assert u.count(samples) > 100 and u.count(named) >= 0.98 * u.count(samples), (path, u.count(named), u.count(samples))
        assert not [name for s in samples for name in s["stack"] if name.startswith(("prog.", "[anon]"))], path


@h.test
def which_frames_are_shown():
    """/usr/bin/python3, and what stands between sorted() and the function that it calls."""
    path = "/usr/bin/python3"
    if not os.path.exists(path) or version_of(path) < (3, 8):
        raise h.Skip("no /usr/bin/python3 of version 3.8 or later")
    loop = "_PyEval_EvalFrameDefault"
    shown = {}
    for options in ((), ("--all-frames",), ("--no-native",), ("--no-python",)):
        samples = attach(path, script(PROGRAM), *options, seconds=0.25)["samples"]
        joined = [sample for sample in samples if options == ("--no-python",) or u.is_joined(sample, "python")]
        assert u.count(joined) > max(100, 0.98 * u.count(samples)), (options, u.count(joined), u.count(samples))
        shown[options] = {name for sample in joined for name in sample["stack"]}
    assert "prog.key" in shown[()] and loop not in shown[()] and "__libc_start_main" in shown[()], shown[()]
    assert "prog.key" in shown["--all-frames",] and loop in shown["--all-frames",], shown
    assert all(name.startswith(("prog.", "[")) for name in shown["--no-native",]), shown["--no-native",]
    assert loop in shown["--no-python",] and "prog.key" not in shown["--no-python",], shown


THREADS = """
import hashlib, threading, zlib
DATA = bytes(range(256)) * 4096

def squeeze():
    zlib.compress(DATA, 6)

def digest():
    hashlib.sha256(DATA).digest()

def repeat(work):
    while True:
        work()

threads = [threading.Thread(target=repeat, args=(work,)) for work in (squeeze, digest)]
for thread in threads:
    thread.start()
print("{}", flush=True)
for thread in threads:
    thread.join()
"""


@h.test
def addresses_in_texts():
    """Beside an address stands what is there: functions of the interpreter have none."""
    path = os.path.join(h.folder(), "profile.txt")
    target = h.Workload("/usr/bin/python3", script(PROGRAM))
    target.says()
    run = h.cprof("record", "-F", 1999, "--no-kernel", "-o", path, "-p", target.pid, output=path).attached()
    target.uses(0.2)
    target.pauses()
    assert run.stop().code == 0
    with open(path, encoding="utf-8") as file:
        blocks = re.findall(r"^\d+ @ (.*)\n((?:#.*\n)*)", file.read(), re.M)
    lines = [line.split("\t") for _, block in blocks for line in block.splitlines()]
    assert [line for line in lines if line[2].startswith("prog.")], lines
    assert not [line for line in lines if line[1] and line[2].startswith("prog.")], lines
    for addresses, block in blocks:
        shown = [int(line.split("\t")[1], 16) + 1 for line in block.splitlines() if line.split("\t")[1]]
        assert list(dict.fromkeys(shown)) == list(dict.fromkeys(int(word, 16) for word in addresses.split())), block


@h.test
def threads_without_the_gil():
    """zlib and hashlib let the others run while they work: the functions that called them are found all the same."""
    for version, path in some_interpreters():
        samples = attach(path, script(THREADS), seconds=0.3)["samples"]
        called = [sample for sample in samples if {"prog.squeeze", "prog.digest"} & set(sample["stack"]) and
                  "prog.repeat" in sample["stack"] and any(name.startswith("threading.") for name in sample["stack"])]
        for function in ("prog.squeeze", "prog.digest"):
            u.assert_enough(u.count([s for s in called if function in s["stack"]]), function)
        print(f"# {path}: {u.count(called)} of {u.count(samples)} samples have their callers", flush=True)
        assert u.count(called) >= 0.995 * u.count(samples) - 2, [s["stack"] for s in samples if s not in called][:5]


CHURN = """
import os, types
COMM = os.open("/proc/self/comm", os.O_WRONLY)
TEXT = "def {}(n):\\n    x = 0\\n    while n:\\n        x += n\\n        n -= 1\\n"

def made(name, file):
    # in no circle of references: it is freed at once
    return types.FunctionType(compile(TEXT.format(name), file, "exec").co_consts[0], {})

def made_at(line):
    function = made("f", "/made/lines.py")
    function.__code__ = function.__code__.replace(co_firstlineno=line)
    return function

def call(i, function):
    os.write(COMM, b"%d" % i)
    function(4000)
    os.write(COMM, b"-")

print("{}", flush=True)
i = 1
while True:
    # many of a kind in turn: so most stand where one of the same kind was
    if i // 64 % 3 == 0:
        call(i, made("f", f"/made/m_{i:07d}.py"))
    elif i // 64 % 3 == 1:
        call(i, made(f"f_{i:07d}", "/made/names.py"))
    else:
        call(i, made_at(i))
    i += 1
"""


def number_of_made(frame):
    if not frame["file"].startswith("/made/") or "<module>" in frame["name"]:
        return None
    if frame["file"] == "/made/lines.py":
        assert frame["name"] == "lines.f" and frame["line"] in range(frame["start_line"], frame["start_line"] + 5), frame
        return frame["start_line"]
    assert frame["start_line"] == 1 and frame["line"] in range(1, 6), frame
    if frame["file"] == "/made/names.py":
        return int(re.fullmatch(r"names\.f_(\d+)", frame["name"])[1])
    number = re.fullmatch(r"/made/m_(\d+)\.py", frame["file"])[1]
    assert frame["name"] == f"m_{number}.f", frame
    return int(number)


@h.test
def functions_that_come_and_go():
    """They differ in their names, or in their files alone, or in their first lines alone."""
    for _, path in some_interpreters():
        print(f"# {path}:", flush=True)
        u.check_made(attach(path, script(CHURN), "--threads", pauses=False)["samples"], number_of_made)


EMBEDDING = r"""
#include <Python.h>
#include <signal.h>
#include <stdio.h>
static volatile sig_atomic_t begins;
static volatile unsigned long sink;
static void begin(int sig)
{
	begins = sig;
}
int main(void)
{
	signal(SIGUSR1, begin);
	puts("{}");
	fflush(stdout);
	while (!begins) /* no interpreter yet */
		sink++;
	Py_Initialize();
	return PyRun_SimpleString("def spin():\n    x = 1\n    while True:\n        x = x * x % 1000003\nspin()\n");
}
"""


def embedded(prefix, version):
    """A program with libpython of pyenv's interpreter; None: it cannot be built."""
    source, target = script(EMBEDDING, "embedding.c"), os.path.join(h.folder(), "embedding")
    built = subprocess.run(["cc", "-o", target, source, f"-I{prefix}/include/python{version}", f"-L{prefix}/lib",
                            f"-lpython{version}", f"-Wl,-rpath,{prefix}/lib"], check=False, capture_output=True)
    return None if built.returncode else target


@h.test
def embedded_and_initialized_late():
    """A program that has an interpreter only after a while: no restart is needed to see its functions."""
    tried = 0
    for version, path in some_interpreters():
        prefix = os.path.dirname(os.path.dirname(path))
        program = embedded(prefix, "%d.%d" % version) if path in PYENV else None
        if not program:
            continue
        tried += 1
        target = h.Workload(program, env={"PYTHONHOME": prefix})
        target.says()
        target.pauses()
        cprof = h.cprof("record", "-F", 1999, "--no-kernel", "-p", target.pid).attached()
        target.uses(0.1)
        target.process.send_signal(signal.SIGUSR1)
        target.uses(0.5)
        target.pauses()
        samples = cprof.stop().profile()["samples"]
        target.process.kill()
        target.process.wait()
        spinning = u.count([s for s in samples if "spin" in s["stack"]])
        hidden = u.count([s for s in samples if "_PyEval_EvalFrameDefault" in s["stack"]])
        print(f"# {path}: {spinning} of {u.count(samples)} samples in spin(), {hidden} in the loop alone", flush=True)
        assert spinning > 0.2 * u.count(samples) and hidden < 0.1 * spinning, {name for s in samples for name in s["stack"]}
    if not tried:
        raise h.Skip("no shared libpython to embed")


FORKS = """
import os, sys, time

def spin(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass

def in_child():
    spin(0.1)

def in_parent():
    spin(0.1)

print("{}", flush=True)
spin(0.1)
child = os.fork()
if child:
    in_parent()
    os.waitpid(child, 0)
    os.execv(sys.executable, [sys.executable, sys.argv[1]])
in_child()
"""
AFTER = """
import time

def after_exec():
    end = time.process_time() + 0.1
    while time.process_time() < end:
        pass

after_exec()
"""


@h.test
def forks_and_execs():
    """Children have their functions from their first samples on; another image is another interpreter."""
    for _, path in some_interpreters():
        target = h.Workload(path, script(FORKS), script(AFTER, "after.py"))
        target.says()
        target.pauses()
        cprof = h.cprof("record", "-F", 3999, "--no-kernel", "-p", target.pid).attached()
        target.goes_on()
        run = cprof.wait()
        samples = [sample for profile in run.profiles().values() for sample in profile["samples"]]
        for function, in_target in (("prog.in_parent", True), ("prog.in_child", False), ("after.after_exec", True)):
            found = [s for s in samples if function in s["stack"]]
            wrong = [s["labels"] for s in found if (s["labels"]["pid"] == target.pid) != in_target]
            u.assert_enough(u.count(found), function)
            assert not wrong, (path, function, u.count(found), wrong)
        child = [s for s in samples if s["labels"]["pid"] != target.pid]
        named = [s for s in child if "prog.in_child" in s["stack"]]
        print(f"# {path}: {u.count(named)} of {u.count(child)} samples of the child are in in_child()", flush=True)


SUBINTERPRETERS = """
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    import _interpreters as interpreters

CODE = '''
def inside():
    x = 1
    while True:
        x = x * x % 1000003
print("{}", flush=True)
inside()
'''

def outer():
    interpreters.run_string(interpreters.create(), CODE)

outer()
"""


def is_called_by_another(frames):
    """The functions of both interpreters, in their order, and the native ones between them in their place."""
    python = [i for i, frame in enumerate(frames) if frame["mapping"]["path"].startswith("[python ")]
    names = [frames[i]["name"] for i in python]
    return names == ["inside", "<module>", "prog.outer", "prog.<module>"] and python[1] + 1 < python[2] and \
        python[0] + 1 == python[1] and python[2] + 1 == python[3]


@h.test
def subinterpreters():
    for version, path in some_interpreters():
        if version > (3, 13):
            continue
        samples = attach(path, script(SUBINTERPRETERS), seconds=0.25, pauses=False)["samples"]
        inside = u.count([s for s in samples if any(name.endswith("inside") for name in s["stack"])])
        print(f"# {path}: {inside} of {u.count(samples)} samples are inside", flush=True)
        assert inside > 0.9 * u.count(samples), {name for s in samples for name in s["stack"]}
        if version > (3, 11):
            continue  # nothing leads from a state to that of its caller
        legal = u.count([s for s in samples if is_called_by_another(s["frames"])])
        print(f"# {path}: {legal} of {u.count(samples)} are called by the main interpreter", flush=True)
        assert legal >= 0.98 * u.count(samples) - 2, [s["stack"] for s in samples if not is_called_by_another(s["frames"])][:3]


ALLOCATING = """
import sys
HELD = []

def hold(n):
    HELD.append(bytearray(n))

def each(sizes):
    for size in sizes:
        hold(size)

def by_map(n):
    return list(map(hold, [n] * 20))

def drop():
    bytearray(5000)

print("{}", flush=True)
sys.stdin.readline()
for i in range(50):
    each([40000] * 20)
    by_map(20000)
    for k in range(40):
        drop()
print("{}", flush=True)
sys.stdin.readline()
"""


def holds_chain(stack, chain):
    return tuple(name for name in stack if name.startswith("prog."))[:len(chain)] == chain


@h.test
def heap_of_python():
    """Which functions of a program allocate, and which hold what they have allocated."""
    for _, path in some_interpreters():
        target = h.Workload(path, script(ALLOCATING))
        target.says()
        cprof = h.cprof("heap", "--rate", 1, "-p", target.pid).attached()
        target.go()
        target.says()
        profile = cprof.stop().profile()
        target.process.kill()
        target.process.wait()
        for chain, size, nr, is_held in ((("prog.hold", "prog.each"), 40000, 1000, True),
                                         (("prog.hold", "prog.by_map"), 20000, 1000, True),
                                         (("prog.drop", "prog.<module>"), 5000, 2000, False)):
            found = [s["values"] for s in profile["samples"] if holds_chain(s["stack"], chain)]
            allocated = sum(values["alloc_space"] for values in found)
            in_use = sum(values["inuse_space"] for values in found)
            print(f"# {path}: {chain[0]} by {chain[1]}: {allocated} bytes, {in_use} in use", flush=True)
            assert nr * size <= allocated <= 1.1 * nr * size, (chain, allocated)
            assert (nr * size <= in_use) if is_held else in_use < 0.01 * allocated, (chain, in_use)


@h.test
def forged_interpreter():
    """A program that exports what CPython does, with structures that lead anywhere: bounded, and every frame is one
    that it has."""
    for what in ("circle", "wild", "text"):
        profile = attach(h.workload("forged"), what, seconds=0.25, pauses=False)
        u.assert_enough(u.count(profile["samples"]), what)
        frames = [frame for sample in profile["samples"] for frame in sample["frames"]
                  if frame["mapping"]["path"] == "[python 3.11]"]
        assert len(frames) < 600 * len(profile["samples"]), what
        if what == "wild":
            continue
        assert frames or what == "text", what
        if what == "circle":
            assert {frame["name"] for frame in frames} == {"forged.made_up"}, what
            notes = {name for sample in profile["samples"] for name in sample["stack"] if name.startswith("[interpreter's stack")}
            assert notes == {"[interpreter's stack too deep to be walked to its root]"}, notes


@h.test
def stack_that_cannot_be_read():
    """A stack without any frame says why, and counts."""
    target = h.Workload(h.workload("forged"), "away")
    target.says()
    cprof = h.cprof("record", "-F", 3999, "--no-kernel", "-p", target.pid).attached()
    target.uses(0.2)
    target.pauses()
    samples = cprof.stop().profile()["samples"]
    target.process.kill()
    target.process.wait()
    said = [s for s in samples if "[interpreter's stack not in memory]" in s["stack"]]
    u.assert_enough(u.count(said), "samples")
    assert u.count(said) >= 0.98 * u.count(samples) - 2, [s["stack"] for s in samples if s not in said][:3]
    counted = re.search(r"of ([\d,]+) stacks, ([\d,]+) could not be paired", cprof.said())
    assert counted and 0 <= h.number(counted[2]) - u.count(said) <= 0.02 * u.count(samples) + 2, cprof.said()


NAMES = """
import types
NR = 150

def spin(n):
    while n:
        n -= 1

def made(n):
    MADE[n](n + 1) if n < NR else spin(20000)

print("{}", flush=True)
i = 0
while True:
    MADE = [types.FunctionType(made.__code__.replace(co_name=f"made_{i}_{k}", co_linetable=b"\\xf8" * 16000), globals()) for k in range(NR)]
    made(0)
    i += 1
"""
NEIGHBOUR = """
comm = open("/proc/self/comm", "wb", buffering=0)
print("{}", flush=True)
i = 0
while True:
    comm.write(b"%d" % i)  # each of its samples is another one
    i += 1
"""


@h.test
def names_take_no_sample():
    """Texts of functions that all are new at each sample, of more bytes than the ring has: no sample is lost for them."""
    path = "/usr/bin/python3"
    if not os.path.exists(path) or version_of(path) < (3, 10):
        raise h.Skip("no /usr/bin/python3 of version 3.10 or later")
    targets = [h.Workload(path, script(text)) for text in (NAMES, NEIGHBOUR)]
    for target in targets:
        target.says()
        target.pauses()
    pids = [word for target in targets for word in ("-p", target.pid)]
    cprof = h.cprof("record", "-F", 199, "--no-kernel", "--threads", *pids).attached()
    for target in targets:
        target.goes_on()
    for target in targets:
        target.uses(1)
        target.pauses()
    cprof.stop()
    taken = h.number(re.search(r"taken ([\d,]+) = written", cprof.said())[1])
    lost = re.search(r"event ring full ([\d,]+)", cprof.said())
    lost = h.number(lost[1]) if lost else 0
    print(f"# {lost} of {taken} samples are lost", flush=True)
    u.assert_enough(taken, "samples")
    assert lost <= taken / 50, (lost, taken)


@h.test
def name_that_cannot_be_read():
    u.check_hidden("forged", "[python 3.11]", "forged.made_up")


h.main()
