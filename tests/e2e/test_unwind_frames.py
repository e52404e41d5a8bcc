#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Whole stacks of programs without frame pointers: depth, frames of all sizes, signals, jumps."""
import os

import chance
import harness as h
import returnprobes
import unwinding as u


def assert_root(samples):
    """main is there, and the root is _start."""
    assert samples, "no stack to have a root"
    for sample in samples:
        if not u.why_truncated(sample):
            assert sample["stack"][-1] == "_start" and "main" in sample["stack"], sample["stack"]


def assert_recursion(profile, depth, least=0.9):
    expected = tuple(("one", "two", "three")[i % 3] for i in reversed(range(depth)))
    samples = u.holding(profile, "bottom")
    u.assert_part(samples, profile, least, "bottom()")
    u.assert_whole(samples)
    assert_root(samples)
    u.assert_chain(samples, "bottom", *expected, "main")


@h.test
def recursion_400_deep():
    """All 400 frames, in their order."""
    assert_recursion(u.attach(u.build("recurse"), u.LONG, 400, seconds=0.4, hz=1999).profile(), 400)


@h.test
def recursion_of_a_launched_process():
    """Code that is met for the first time is walked in user space, in a copy of the stack."""
    assert_recursion(u.record(u.build("recurse"), 0.4, 60, hz=1999).profile(), 60)


@h.test
def static_pie():
    assert_recursion(u.record(u.build("recurse", "-static-pie"), 0.4, 100, hz=1999).profile(), 100)


@h.test
def static_at_fixed_address():
    assert_recursion(u.record(u.build("recurse", "-static", "-no-pie"), 0.4, 100, hz=1999).profile(), 100)


def assert_seen_through(profile):
    """The kernel is at work in all of its functions."""
    assert_recursion(profile, 30, 0.4)
    u.assert_whole(profile["samples"])
    for sample in profile["samples"]:
        callers = sample["stack"][1:]
        assert u.why_truncated(sample) or not any(name.startswith("[uprobes]") for name in callers), callers
    assert {"one", "two", "three"} <= {sample["stack"][0] for sample in profile["samples"]}


PROBED = "bottom", "one", "one", "two", "three"


@h.test
def calls_that_return_probes_wait_for():
    """Of another tracer, up to two of each call: the kernel's trampoline stands for every return address, and the first
    instruction of each function is executed in a place of the kernel's."""
    program = u.build("recurse")
    with returnprobes.on(program, *PROBED):
        assert_seen_through(u.attach(program, u.LONG, 30, seconds=0.4, hz=1999).profile())


@h.test
def return_probes_of_a_launched_process():
    """The same in copies of the stack."""
    program = u.build("recurse")
    with returnprobes.on(program, *PROBED):
        assert_seen_through(u.record(program, 0.4, 30, hz=1999).profile())


def assert_both_ends(profile, depth):
    """256 frames from the leaf, 255 from the root, one that stands for those in between."""
    samples = u.holding(profile, "bottom")
    u.assert_whole(samples)
    expected = ["bottom"] + [("one", "two", "three")[i % 3] for i in reversed(range(depth))]
    for sample in samples:
        stack = sample["stack"]
        if u.why_truncated(sample):
            continue
        main = stack.index("main")
        whole = expected + stack[main:]
        assert stack == [*whole[:256], "[... frames elided]", *whole[-255:]], stack
        assert stack[-1] == "_start" and len(stack) - main < 6, stack[main:]
    return samples


def distinct(samples):
    """Different whole stacks, but for where in its loop the leaf was."""
    return {tuple(frame["address"] for frame in s["frames"][1:]) for s in samples
            if not u.why_truncated(s)}


@h.test
def deeper_than_512_frames():
    assert_both_ends(u.attach(u.build("recurse"), u.LONG, 600, seconds=0.5, hz=999).profile(), 600)


@h.test
def deep_2_000():
    samples = assert_both_ends(u.attach(u.build("recurse"), u.LONG, 2000, seconds=0.5).profile(), 2000)
    assert len(distinct(samples)) == 1, len(distinct(samples))


@h.test
def deep_20_000():
    """A walk of a millisecond: a quarter of a tick's period is ten times that, for a busy machine."""
    samples = assert_both_ends(u.attach(u.build("recurse"), u.LONG, 20000, seconds=2, hz=25).profile(), 20000)
    assert len(distinct(samples)) == 1, len(distinct(samples))


@h.test
def many_depths_are_one_stack():
    """Each run of bottom() is at another depth, 20 of them, the same from leaf and from root."""
    samples = assert_both_ends(u.attach(u.build("recurse"), u.LONG, 1200, 20, seconds=2, hz=49).profile(), 1200)
    assert len(distinct(samples)) == 1, len(distinct(samples))


@h.test
def too_deep():
    """At 1,999 Hz a tick's walk has 125 us, less than 7 ns a frame: the leaf's side, and a root that says
    so."""
    profile = u.attach(u.build("recurse"), u.LONG, 20000, seconds=0.5, hz=1999).profile()
    samples = u.holding(profile, "bottom")
    u.assert_part(samples, profile, 0.3, "bottom()")
    expected = ["bottom"] + [("one", "two", "three")[i % 3] for i in reversed(range(20000))]
    # what a busy machine samples before the tables are there is walked in a copy of the stack's top
    early = [s for s in samples if "stack beyond what was copied" in s["stack"][-1]]
    assert u.count(early) < 0.2 * u.count(samples), (u.count(early), u.count(samples))
    for sample in samples:
        assert sample in early or \
            sample["stack"] == [*expected[:256], "[truncated: too deep to be walked to its root]"], sample["stack"]


def chain_source(nr, chain_length, path):
    """nr functions, each with another frame, called in chains of chain_length."""
    with open(path, "w", encoding="utf-8") as file:
        file.write('/* CFLAGS: -O0 -fomit-frame-pointer */\n#include "stacks.h"\n')
        for i in reversed(range(nr)):
            last = i % chain_length == chain_length - 1 or i == nr - 1
            file.write(f"FRAME static void f{i}(int n)\n{{\n"
                       f"\tvolatile char room[{i * 37 % 1000 + 1}];\n\n\troom[0] = n;\n")
            if i % 7 == 3:
                file.write("\tvolatile char *more = __builtin_alloca(n + 17);\n\tmore[n] = 1;\n")
            file.write(f"\t{'WORK(4)' if last else f'f{i + 1}(n + 1)'};\n\troom[0] = 1;\n}}\n")
        file.write(f"int main(void)\n{{\n\twhile (cpu_seconds() < {u.LONG}) {{\n")
        for i in range(0, nr, chain_length):
            file.write(f"\t\tf{i}(1);\n")
        file.write("\t}\n\treturn 0;\n}\n")
    return path


@h.test
def chain_of_5000_functions():
    """5,000 functions with frames of their own, in chains of 450."""
    folder, length = h.folder(), 450
    source = chain_source(5000, length, os.path.join(folder, "chain.c"))
    profile = u.attach(u.compiled(source, os.path.join(folder, "chain")), seconds=0.5, hz=1999).profile()
    samples = [s for s in profile["samples"] if s["stack"][0].startswith("f") and
               s["stack"][0][1:].isdigit()]
    u.assert_whole(samples)
    ends = set()
    for sample in samples:
        if u.why_truncated(sample):
            continue
        leaf = int(sample["stack"][0][1:])
        below = leaf % length + 1
        expected = [f"f{leaf - i}" for i in range(below)] + ["main"]
        assert sample["stack"][:below + 1] == expected, sample["stack"]
        ends.add(leaf)
    assert len([e for e in ends if e % length == length - 1 or e == 4999]) == 12, ends
    assert_root(samples)


@h.test
def alloca_and_large_frames():
    profile = u.attach(u.build("frames"), u.LONG, seconds=0.4, hz=1249).profile()
    samples = u.holding(profile, "bottom")
    u.assert_whole(samples)
    u.assert_chain(samples, "bottom", "on_stack", "realigned", "with_alloca", "of_100_kb",
                   "of_280_bytes", "main")
    assert_root(samples)
    assert u.count(samples) > 0.9 * h.total(profile, "samples")


def assert_signals(profile):
    """The handler's frames stand on those of the interrupted function."""
    samples = u.holding(profile, "in_handler")
    u.assert_enough(u.count(samples), "in_handler()")  # how much that is depends on how fast it is
    u.assert_whole(profile["samples"])
    u.assert_chain(samples, "in_handler", "on_signal")
    assert_root(samples)
    on_busy = u.count(u.holding(profile, "in_handler", "busy", "outer"))
    assert on_busy > 0.9 * u.count(samples), (on_busy, u.count(samples))
    for sample in u.holding(profile, "in_handler", "busy"):
        if not u.why_truncated(sample):
            stack = sample["stack"]
            assert stack.index("busy") == stack.index("on_signal") + 2, stack  # the trampoline
            assert stack[stack.index("busy"):][:3] == ["busy", "outer", "main"], stack


@h.test
def signal_handler():
    assert_signals(u.record(u.build("signals"), 0.8, hz=1249).profile())


@h.test
def signal_handler_on_its_own_stack():
    assert_signals(u.attach(u.build("signals"), u.LONG, "alt", seconds=0.8, hz=1249).profile())


def assert_faults(profile):
    """A function that faults at its first instruction is in the stack, and not the one whose last byte is before."""
    samples = u.holding(profile, "in_handler")
    u.assert_enough(u.count(samples), "in_handler()")
    u.assert_whole(samples)
    u.assert_chain(samples, "in_handler", "on_signal")
    u.assert_chain(samples, "faulting", "outer", "main")
    assert not u.holding(profile, "before")
    with open(os.path.join(u.SOURCES, "faults.c"), encoding="utf-8") as file:
        line = next(i for i, text in enumerate(file, 1) if "the line that faults" in text)
    frames = [frame for sample in samples for frame in sample["frames"] if frame["name"] == "faulting"]
    assert {frame["line"] for frame in frames} == {line}, frames[0]


@h.test
def fault_at_the_first_instruction():
    assert_faults(u.attach(u.build("faults"), u.LONG, seconds=0.4, hz=1249).profile())


@h.test
def fault_of_a_launched_process():
    """The same in copies of the stack. The trampoline's first instruction is where the handler returns to."""
    profile = u.record(u.build("faults", "-static", target=os.path.join(h.kept_folder(), "faults-static")), 0.4, hz=1249).profile()
    assert_faults(profile)
    u.assert_chain(u.holding(profile, "in_handler"), "on_signal", "__restore_rt", "faulting")


@h.test
def longjmp():
    profile = u.record(u.build("jumps"), 1, hz=1999).profile()
    u.assert_whole(profile["samples"])
    samples = [s for s in profile["samples"] if "dive" in s["stack"]]
    u.assert_part(samples, profile, 0.05, "dive()")
    assert_root(u.holding(profile, "try_it"))
    u.assert_chain(samples, "dive", "try_it", "main")
    assert any("longjmp" in s["stack"][0] or "setjmp" in s["stack"][0]
               for s in profile["samples"]), h.by_leaf(profile, "samples")


@h.test
def inside_plt_and_vdso():
    profile = u.record(u.build("calls"), 1.6, hz=1999).profile()
    u.assert_whole(profile["samples"])
    assert_root(u.holding(profile, "through_plt") + u.holding(profile, "into_vdso"))
    plt = [s for s in u.holding(profile, "through_plt") if "plt" in s["stack"][0].split("@")[-1]]
    vdso = [s for s in u.holding(profile, "into_vdso")
            if s["frames"][0]["mapping"]["path"] == "[vdso]"]
    chance.at_least(u.count(plt), u.count(u.holding(profile, "through_plt")), 0.9, "in the PLT")
    chance.at_least(u.count(vdso), u.count(u.holding(profile, "into_vdso")), 0.1, "in the vdso")
    u.assert_chain(plt, "through_plt", "main")
    u.assert_chain(vdso, "into_vdso", "main")


h.main()
