#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Stacks through code that nothing describes: trampolines, functions that were written in assembler, and code that has rbp for
something else."""
import chance
import harness as h
import unwinding as u

DEPTH = 6


def assert_trampolines(shape):
    """Each call is two frames of C around one of the trampoline, and nothing is guessed."""
    profile = u.attach(u.build("trampoline"), shape, u.LONG, seconds=0.25, hz=1999).profile()
    samples = u.holding(profile, "bottom")
    u.assert_part(samples, profile, 0.5, "bottom()")
    u.assert_whole(samples)
    for sample in samples:
        if u.why_truncated(sample):
            continue
        names = ["[anon]" if name.startswith("[anon]+0x") else name for name in sample["stack"]]
        assert names[:3 * DEPTH + 5] == ["bottom", *(["evaluate", "[anon]", "call"] * (DEPTH + 1)), "main"], names
        assert names[-1] == "_start", names


@h.test
def trampoline_of_python_3_12():
    """It keeps no frame pointer."""
    assert_trampolines("3.12")


@h.test
def trampoline_of_python_3_12_with_cet():
    assert_trampolines("3.12-cet")


@h.test
def trampoline_of_python_3_13():
    assert_trampolines("3.13")


@h.test
def trampoline_that_is_met_in_user_space():
    """A launched program's first stacks are finished from a copy: by the same steps."""
    profile = u.record(u.build("trampoline"), "3.12", 0.3, hz=999).profile()
    u.assert_whole(u.holding(profile, "bottom"))


def assert_handwritten(profile):
    """Each whole stack is one that the program has, of each function there are some, and nothing is guessed."""
    ways, callers = {}, set()
    u.assert_whole(profile["samples"])
    for sample in profile["samples"]:
        names = ["asm" if name.startswith("handwritten+0x") else name for name in sample["stack"]]
        assert not [name for name in names if "guessed" in name], names
        if names[0] not in ("bottom", "asm") or u.why_truncated(sample):
            continue  # the kernel's, the loader's
        assert names[-1] == "_start" and "main" in names, names
        way = tuple(names[:names.index("main") + 1])
        ways[way] = ways.get(way, 0) + u.count([sample])
        if names[0] == "bottom":
            callers.add(sample["frames"][1]["address"])
    assert set(ways) <= {("bottom", "asm", "main"), ("asm", "main"), ("asm", "asm", "main")}, ways
    for way, least in (("bottom", "asm", "main"), 0.12), (("asm", "asm", "main"), 0.04):
        u.assert_enough(ways[way], way)
        chance.at_least(ways[way], h.total(profile, "samples"), least, way)
    assert len(callers) == 4, callers  # saves, aligned, and the two cases of switches


@h.test
def functions_written_in_assembler():
    """Without call frame information, without symbols: what they do to the stack is what their code shows."""
    assert_handwritten(u.attach(u.build("handwritten"), u.LONG, seconds=0.4, hz=1999).profile())


@h.test
def functions_written_in_assembler_from_the_first_sample_on():
    """A launched program's first stacks are finished from a copy."""
    assert_handwritten(u.record(u.build("handwritten"), 0.4, hz=1999).profile())


def assert_nothing_made_up(where):
    """The walk stops where it cannot go on, and says why: one stack an address, not one a sample."""
    run = u.attach(u.build("rogue"), where, u.LONG, seconds=0.25, hz=1999)
    samples = [s for s in run.profile()["samples"] if s["stack"][0].startswith("[anon]+0x")]
    u.assert_part(samples, run.profile(), 0.2, where)
    for sample in samples:
        if sample["stack"][-1] != "_start": # at the ends of the code its bytes show the caller
            assert sample["stack"][1:] == ["[truncated: no unwind info for [anon]]"], sample["stack"]
    whole = u.count([s for s in samples if s["stack"][-1] == "_start"])
    assert whole < 0.1 * u.count(samples), whole
    assert len({tuple(s["stack"]) for s in samples}) < 12, {tuple(s["stack"]) for s in samples}


@h.test
def caller_in_no_mapping():
    assert_nothing_made_up("nowhere")


@h.test
def caller_in_data():
    assert_nothing_made_up("data")


@h.test
def caller_behind_no_call():
    assert_nothing_made_up("entry")


h.main()
