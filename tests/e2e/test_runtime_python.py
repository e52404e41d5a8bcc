#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""CPython where it is hard: stacks of a thousand frames of two kinds, threads that have let go of the GIL, and a library that
comes late.

PYTHONS=PATH:PATH tries these interpreters, too."""
import glob
import os
import signal

import harness as h
import unwinding as u
from pythons import some_interpreters

DEPTH = 500
DEEP = """
import functools, sys
sys.setrecursionlimit(10000)

def spin():
    while True: pass

def by_sorted(n):
    sorted([n - 1], key=down)

def by_reduce(n):
    functools.reduce(down, [n - 1], 0)

def down(*n):
    if n[-1] <= 0:
        spin()
    by_sorted(n[-1] - 1) if n[-1] % 4 else by_reduce(n[-1] - 1)

def reached():
    print("{}", flush=True)

def main():
    down(DEPTH)

reached()
main()
""".replace("DEPTH", str(DEPTH))


def expected():
    """The functions of the program, leaf first."""
    chain, n = ["<module>", "main"], DEPTH
    while True:
        chain.append("down")
        if n <= 0:
            return ["spin"] + chain[::-1]
        chain.append("by_sorted" if n % 4 else "by_reduce")
        n -= 2


def through_c(frames):
    """Of each call by sorted() or reduce(), leaf first: are frames of C between?"""
    natives = 0
    for frame in frames:
        if not frame["mapping"]["path"].startswith("[python "):
            natives += not frame["name"].startswith("[")
            continue
        if frame["name"].startswith("prog.by_"):
            yield natives > 0
        natives = 0


def has_both_ends(sample):
    """The native frames of both ends are where they belong; those in the middle of a deep stack are left out, in one place."""
    natives = list(through_c(sample["frames"]))
    middle = natives.count(False)
    first = natives.index(False) if middle else 0
    is_one_gap = not any(natives[first:first + middle])
    return is_one_gap and natives[:1] == natives[-1:] == [True] and sample["stack"].count("[... frames elided]") == (middle > 0)


@h.test
def five_hundred_calls_through_c():
    """Python and C call each other all the way down: every function is there, in order, and every stack ends where the thread
    began, but for those of more than 3,000 frames for which time was up: a hypervisor may have had the processor meanwhile."""
    for _, path in some_interpreters():
        samples = u.profile_of([path, u.script(DEEP, "prog.py")], seconds=0.3)["samples"]
        all_spinning = [sample for sample in samples if "prog.spin" in sample["stack"]]
        spinning = [sample for sample in all_spinning if sample["stack"][-1] != "[truncated: too deep to be walked to its root]"]
        nr = u.count(spinning)
        whole = u.count([sample for sample in spinning if not u.why_truncated(sample) and sample["stack"][-1] == "_start"])
        named = u.count([sample for sample in spinning if [name.removeprefix("prog.") for name in sample["stack"]
                                                           if name.startswith("prog.")] == expected()])
        ends = u.count([sample for sample in spinning if has_both_ends(sample)])
        print(f"# {path}: of {nr} stacks {whole} are whole, {named} have all of {len(expected())} functions, {ends} have both ends",
              flush=True)
        u.assert_enough(nr, path)
        assert u.count(all_spinning) >= 0.9 * u.count(samples), (u.count(all_spinning), u.count(samples))
        assert nr >= 0.9 * u.count(all_spinning) - 2, (nr, u.count(all_spinning))
        assert min(whole, named, ends) >= 0.99 * nr - 2, (path, spinning[0]["stack"])


THREADS = """
import hashlib, threading, zlib
DATA = bytes(range(256)) * 4096

def squeeze():
    zlib.compress(DATA, 6)

def digest():
    hashlib.sha256(DATA).digest()

WORKS = [squeeze, digest]
try:
    import numpy
    MATRIX = numpy.linspace(0, 1, 1 << 20)

    def multiply():
        numpy.multiply(MATRIX, MATRIX)

    def sines():
        numpy.sin(MATRIX)

    WORKS += [multiply, sines]
except ImportError:
    pass

def repeat(work):
    while True:
        work()

threads = [threading.Thread(target=repeat, args=(work,)) for work in WORKS]
for thread in threads:
    thread.start()
print('["' + '", "'.join(work.__name__ for work in WORKS) + '"]', flush=True)
for thread in threads:
    thread.join()
"""


def pauses_with_works(path):
    """The program, and the names of what its threads do."""
    target = h.Workload(path, u.script(THREADS, "prog.py"), env={"OPENBLAS_NUM_THREADS": "1"})
    works = target.says()
    target.pauses()
    return target, works


@h.test
def threads_off_the_gil():
    """zlib, hashlib and numpy let the others run while they work: what called them is found all the same."""
    tried = set()
    for _, path in some_interpreters():
        target, works = pauses_with_works(path)
        tried.update(works)
        cprof = h.cprof("record", "-F", 3999, "--no-kernel", "-p", target.pid).attached()
        target.uses(0.4)
        target.pauses()
        samples = cprof.stop().profile()["samples"]
        target.process.kill()
        target.process.wait()
        called = [sample for sample in samples if "prog.repeat" in sample["stack"] and
                  any(name.startswith("threading.") for name in sample["stack"])]
        for work in works:
            u.assert_enough(u.count([sample for sample in called if f"prog.{work}" in sample["stack"]]), work)
        print(f"# {path}: {u.count(called)} of {u.count(samples)} samples of {', '.join(works)} have their callers", flush=True)
        assert u.count(called) >= 0.995 * u.count(samples) - 2, [s["stack"] for s in samples if s not in called][:5]
    if "sines" not in tried:
        print("# no numpy (apt-get install python3-numpy): it is not tried", flush=True)


LATE = r"""
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
static volatile sig_atomic_t begins;
static volatile unsigned long sink;
static void begin(int sig)
{
	begins = sig;
}
int main(int argc, char **argv)
{
	void *library;

	(void)argc;
	signal(SIGUSR1, begin);
	puts("{}");
	fflush(stdout);
	while (!begins) /* nothing of Python is there */
		sink++;
	library = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
	if (!library)
		return puts(dlerror());
	((void (*)(void))dlsym(library, "Py_Initialize"))();
	return ((int (*)(const char *))dlsym(library, "PyRun_SimpleString"))(
		"def spin():\n    x = 1\n    while True:\n        x = x * x % 1000003\ndef outer():\n    spin()\nouter()\n");
}
"""


@h.test
def a_library_that_comes_late():
    """A program that loads libpython long after cprof has attached: no restart is needed to see its functions."""
    libraries = {path: glob.glob(os.path.join(os.path.dirname(os.path.dirname(path)), "lib", "libpython3.*.so.1.0"))
                 for _, path in some_interpreters()}
    if not any(libraries.values()):
        raise h.Skip("no shared libpython")
    program = os.path.join(h.folder(), "late")
    h.run("cc", "-o", program, u.script(LATE, "late.c"), "-ldl")
    for path, found in libraries.items():
        if not found:
            continue
        target = h.Workload(program, found[0], env={"PYTHONHOME": os.path.dirname(os.path.dirname(path))})
        target.says()
        cprof = h.cprof("record", "-F", 1999, "--no-kernel", "-p", target.pid, run_as=h.AHEAD_OF_OTHERS).attached()
        target.uses(0.1)
        target.process.send_signal(signal.SIGUSR1)
        target.uses(0.6)
        target.pauses()
        samples = cprof.stop().profile()["samples"]
        target.process.kill()
        target.process.wait()
        named = u.count([s for s in samples if [name for name in s["stack"] if name in ("spin", "outer")] == ["spin", "outer"]])
        hidden = u.count([s for s in samples if "_PyEval_EvalFrameDefault" in s["stack"]])
        print(f"# {found[0]}: {named} of {u.count(samples)} samples in spin(), {hidden} in the loop alone", flush=True)
        u.assert_enough(named, found[0])
        assert hidden < 0.1 * named, {name for s in samples for name in s["stack"]}


h.main()
