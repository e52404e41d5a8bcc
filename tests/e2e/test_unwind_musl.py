#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Whole stacks through musl, the C library of Alpine Linux, which comes without call frame information.

The program's functions have known callers (workloads/unwind/clib.c): a stack with another order is made up."""
import os
import shutil
import subprocess

import harness as h
import unwinding as u

# function: who may call it, with functions of the C library in between
CALLERS = {"main": {None}, "thread": {None}, "sorts": {"main"}, "compare": {"sorts"}, "allocates": {"main"},
           "prints": {"main", "thread"}, "writes": {"main"}, "copies": {"main"}, "used": {"main", "thread"},
           "spin": {"compare", "handler", "thread"}}


def built(name, *flags):
    if not shutil.which("musl-gcc"):
        raise h.Skip("no musl-gcc: install musl-tools")
    target = os.path.join(h.kept_folder(), name)
    subprocess.run(["musl-gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", *flags, "-o", target, os.path.join(u.SOURCES, "clib.c")], check=True)
    return target


def is_legal(stack):
    """From the innermost function on. What a signal interrupts is anywhere, in the start of a thread before it calls its function,
    too."""
    own = [name for name in stack if name in CALLERS or name == "handler"]
    for name, caller in zip(own, [*own[1:], None]):
        if name != "handler" and caller not in CALLERS[name]:
            return False
    return not own or own[-1] in ("main", "thread", "handler")


def judged(program, least_whole):
    """Records it; no stack may be made up, and of those in which the program's functions were met so many be whole."""
    run = h.cprof("record", "-F", "1999", "--no-kernel", "--", program, "1.5").wait()
    samples = run.profile()["samples"]
    whole = total = 0
    for sample in samples:
        count, is_cut = sample["values"]["samples"], sample["stack"][-1].startswith("[truncated")
        total += count
        whole += 0 if is_cut else count
        assert is_cut or is_legal(sample["stack"]), sample["stack"]
        # memset's symbol has no size: what stands behind it is not called by its name
        assert sample["stack"][-1] != "memset" and not {"writes", "memset"} <= set(sample["stack"]), sample["stack"]
    missing = {*CALLERS, "handler"} - {"used"} - {name for sample in samples for name in sample["stack"]}
    assert not missing, missing
    print(f"# {whole} of {total} stacks are whole", flush=True)
    assert total > 500 and whole >= least_whole * total, (whole, total)


@h.test
def linked_dynamically():
    judged(built("clib-dynamic"), 0.995)


@h.test
def linked_statically():
    judged(built("clib-static", "-static"), 0.995)


@h.test
def without_any_call_frame_information():
    """As whole systems are built for small devices: neither the program has any."""
    judged(built("clib-bare", "-static", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"), 0.995)


h.main()
