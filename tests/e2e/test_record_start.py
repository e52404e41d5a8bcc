#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Much code to learn of: it delays neither the beginning nor the end of sampling."""
import functools
import os
import re
import shutil
import signal
import subprocess

import harness as h
import unwinding as u

NR_LIBRARIES = 60
NR_FUNCTIONS = 40000
SAMPLING = r"^cprof: sampling stacks"


def library(folder):
    """Small in code, large in .eh_frame: what its table takes to make is nearly all of what it costs."""
    source = os.path.join(folder, "large.S")
    with open(source, "w", encoding="utf-8") as file:
        file.write(f"""
	.text
	.rept {NR_FUNCTIONS}
	.cfi_startproc
	push %rbx
	.cfi_adjust_cfa_offset 8
	pop %rbx
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.endr
	.globl work
	.type work, @function
work:	.cfi_startproc
	mov $20000, %ecx
1:	dec %ecx
	jnz 1b
	ret
	.cfi_endproc
	.size work, . - work
	.section .note.GNU-stack,"",@progbits
""")
    target = os.path.join(folder, "large.so")
    subprocess.run(["gcc", "-shared", "-Wl,--build-id", "-o", target, source], check=True)
    return target


def copies(folder, nr):
    """That library under so many names, each with a build-id of its own."""
    with open(library(folder), "rb") as file:
        content = bytearray(file.read())
    at = content.index(b"\x03\0\0\0GNU\0") + 8
    paths = []
    for i in range(nr):
        content[at:at + 4] = i.to_bytes(4, "little")
        paths.append(os.path.join(folder, f"large{i}.so"))
        with open(paths[-1], "wb") as file:
            file.write(content)
    return paths


def many(libraries):
    target = h.Workload(u.build("many"), 60, *libraries)
    target.says()
    return target


def seconds_sampled(run):
    return run.profile()["duration_ns"] / 1e9


def ticks_sampled(libraries):
    """How many ticks there were, on all CPUs, when 0.3 s were asked for."""
    run = h.cprof("record", "-F", 499, "-d", "0.3s", "--", u.build("many"), 1, *libraries,
                  run_as=h.AHEAD_OF_OTHERS).wait()
    cut = u.reasons(run.profile()["samples"])
    print(f"# sampled for {seconds_sampled(run):.2f} s, {run.ticks} ticks; cut short: {cut or 'none'}", flush=True)
    return run.ticks


@functools.cache
def fixture():
    folder = h.kept_folder()
    os.chmod(folder, 0o755)
    if shutil.disk_usage(folder).free < 2 << 30:
        raise h.Skip("takes 300 MB of disk")
    return copies(folder, NR_LIBRARIES)


def tables(said):
    """How many of the libraries' tables were made."""
    return len(re.findall(r"^cprof: unwind table of .*/large\d+\.so", said, re.M))


@h.test
def duration_is_kept_whatever_is_to_be_learnt():
    """Beside the same run with one such library. Tables made when their code is met hold nothing up."""
    libraries = fixture()
    beside, much = ticks_sampled(libraries[:1]), ticks_sampled(libraries)
    assert much < 2 * beside, (much, beside)


@h.test
def ahead_of_need_not_all_is_learnt():
    """Of a target (-p) tables are made before sampling begins, but not for as long as that takes: those
    that are left are made when their code is met."""
    target = many(fixture())
    run = h.cprof("record", "-F", 999, "-p", target.pid)
    run.awaits(SAMPLING)
    before = tables(run.said().split("sampling stacks")[0])
    target.uses(1.2 * NR_LIBRARIES * 0.005)
    result = run.stop()
    made = tables("\n".join(result.lines))
    print(f"# {before} tables before the start, {made} in the end", flush=True)
    u.assert_whole(result.profile()["samples"], least=0.9)
    assert before == NR_LIBRARIES or made > before, (before, made)


@h.test
def interrupted_in_the_midst_of_it():
    """Ctrl-C while tables are made: sampling ends at once, and what was sampled is written."""
    target = many(fixture())
    run = h.cprof("record", "-F", 499, "-p", target.pid)
    run.awaits(SAMPLING)
    target.uses(0.3)
    run.signal(signal.SIGINT)
    result = run.wait()
    samples = result.profile()["samples"]
    assert u.count(samples) > 10, u.count(samples)
    print(f"# sampled for {seconds_sampled(result):.2f} s", flush=True)


h.main()
