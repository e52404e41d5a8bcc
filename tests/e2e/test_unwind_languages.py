#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Whole stacks of what is not plain C: exceptions in flight, code made at run time, Go, the heap."""
import os

import harness as h
import unwinding as u


@h.test
def exceptions_in_flight():
    """libgcc's own unwinder is at work while ours walks through it. The last instructions of _Unwind_Resume have
    the handler's registers already, which its unwind information does not say: 0.2 to 0.8 % of the ticks."""
    profile = u.record(u.build("throws"), 0.5, hz=3999).profile()
    u.assert_whole(profile["samples"], least=0.98)
    samples = [s for s in profile["samples"]
               if any(name.startswith("_Unwind_RaiseException") for name in s["stack"])]
    assert u.count(samples) > 0.2 * h.total(profile, "samples"), h.by_function(profile, "samples")
    assert {s["stack"][-1] for s in samples if not u.why_truncated(s)} == {"_start"}
    for sample in samples:
        stack = [name.split("(")[0] for name in sample["stack"]]
        if not u.why_truncated(sample):
            assert "dive" in stack and "main" in stack, stack


@h.test
def code_made_at_run_time():
    """Frames found by a frame pointer in code without description say that they are guessed; C code
    above and below is walked by its tables."""
    profile = u.record(u.build("jit"), 0.5, hz=1999).profile()
    samples = u.holding(profile, "callback")
    u.assert_part(samples, profile, 0.3, "callback()")
    u.assert_whole(samples)
    for sample in samples:
        if u.why_truncated(sample):
            continue
        stack = sample["stack"]
        assert stack[0] == "callback" and stack[3:5] == ["run_jit [guessed]", "main"], stack
        assert stack[-1] == "_start" and not any("guessed" in name for name in stack[4:]), stack
        assert "guessed" not in stack[1] and "guessed" in stack[2], stack


@h.test
def go_program():
    profile = u.attach(u.build_go("deep"), u.LONG, seconds=0.5, hz=1999).profile()
    u.assert_whole(profile["samples"])
    samples = u.holding(profile, "main.bottom")
    u.assert_part(samples, profile, 0.3, "main.bottom()")
    for sample in samples:
        if not u.why_truncated(sample):
            stack = sample["stack"]
            # a frame pointer does not show the caller while the leaf has not pushed it yet
            assert stack.count("main.dive") in (50, 51), len(stack)
            assert "main.worker" in stack and stack[-1].startswith("runtime.goexit"), stack
            assert not any("guessed" in name for name in stack), stack
    one_short = u.count([s for s in samples if s["stack"].count("main.dive") == 50])
    print(f"# go: {one_short} of {u.count(samples)} without the leaf's caller", flush=True)
    assert one_short < 0.05 * u.count(samples), one_short


@h.test
def go_program_without_symbols():
    """Its runtime's own table names every function, and says that frame pointers are kept; also where it has no fixed address."""
    for flags in (("-ldflags=-s -w",), ("-ldflags=-s -w", "-buildmode=pie", "-trimpath")):
        path = u.build_go("deep", *flags)
        profile = u.attach(path, u.LONG, seconds=0.25, hz=1999).profile()
        samples = u.holding(profile, "main.bottom")
        u.assert_part(samples, profile, 0.3, "main.bottom()")
        u.assert_whole(samples)
        for sample in samples:
            unnamed = [name for name in sample["stack"] if "+0x" in name or "guessed" in name]
            assert not unnamed and (u.why_truncated(sample) or sample["stack"][-1] == "runtime.goexit"), sample["stack"]


PYTHON = """
import json, sys
def build(n):
    return [build(n - 1), {str(n): "x" * 900}] if n else json.loads('{"a": [1, 2, 3]}')
for i in range(20000):
    build(20)
"""


@h.test
def heap_stacks_of_python():
    """malloc of a stock libc, called by a stock python: neither has frame pointers."""
    path = os.path.join(h.folder(), "work.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(PYTHON)
    profile = h.cprof("heap", "--rate", 16384, "--", "/usr/bin/python3", path,
                      env={"PYTHONMALLOC": "malloc"}).wait().profile()
    u.assert_whole(profile["samples"])
    assert {s["stack"][-1] for s in profile["samples"] if not u.why_truncated(s)} <= \
        {"_start", "_dl_start_user", "ld-linux-x86-64.so.2"}
    assert any("work.build" in name for s in profile["samples"] for name in s["stack"])


h.main()
