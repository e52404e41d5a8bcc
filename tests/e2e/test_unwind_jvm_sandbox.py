#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Who reads the memory of a JVM: the parser, which has no powers, and never main. What a JVM costs that is hostile, and
what it costs when the parser is killed."""
import ctypes
import os
import random
import re
import shutil
import signal
import subprocess
import time

import harness as h
import helpers
import leftovers
import unwinding as u

PARSER, KEEPER = "cprof-parser", "cprof-keeper"
CODE_BYTES = 16  # main reads so much of the code around an address that no unwind information describes
VARIABLES = ("gHotSpotVMStructs gHotSpotVMStructEntryArrayStride gHotSpotVMStructEntryTypeNameOffset "
             "gHotSpotVMStructEntryFieldNameOffset gHotSpotVMStructEntryTypeStringOffset "
             "gHotSpotVMStructEntryIsStaticOffset gHotSpotVMStructEntryOffsetOffset gHotSpotVMStructEntryAddressOffset "
             "gHotSpotVMTypes gHotSpotVMTypeEntryArrayStride gHotSpotVMTypeEntryTypeNameOffset "
             "gHotSpotVMTypeEntrySizeOffset").split()


def jvm():
    """A JVM that has compiled its methods."""
    folder = u.build_java("Deep")
    target = h.Workload(os.path.realpath(shutil.which("java")), "-cp", folder, "Deep", "3600")
    target.uses(2)
    return target


def parser_of(run):
    return helpers.grandchild(run, KEEPER, PARSER)


def has_names_and_whole_stacks(done, target, least=0.95):
    """Nearly all samples of Java threads have names of its methods; nearly all stacks are whole."""
    samples = [s for s in done.profile()["samples"] if s["labels"].get("pid", target.pid) == target.pid]
    nr = u.count(samples)
    u.assert_enough(nr, "samples")
    deep = [s for s in samples if {"Deep.work", "Deep.dive", "Deep.litter", "Deep.catcher"} & set(s["stack"])]
    assert u.count(deep) > 0.3 * nr, (u.count(deep), nr)
    whole = [s for s in samples if not u.why_truncated(s)]
    assert u.count(whole) >= least * nr - 1, (u.count(whole), nr, u.reasons(samples))
    assert not [line for line in done.lines if "no names and no unwind info" in line], done.lines


@h.test
def main_does_not_read_it():
    """The parser reads the memory, by a descriptor that it is sent; main does not."""
    if not shutil.which("strace"):
        raise h.Skip("no strace")
    target = jvm()
    trace = os.path.join(h.folder(), "trace")
    run = h.cprof("record", "-F", "199", "-p", target.pid, run_as=(
        "strace", "-f", "--seccomp-bpf", "-qq", "-y", "-e", "trace=read,pread64,readv,preadv,preadv2,process_vm_readv,prctl", "-o", trace)).attached()
    target.uses(0.5)
    traced, = leftovers.children_of(run.pid)
    os.kill(traced, signal.SIGINT)
    done = run.wait()
    assert done.code == 0, done.lines
    memory, is_confined, main, nr_read = f"</proc/{target.pid}/mem>", set(), None, 0
    with open(trace, encoding="utf-8", errors="replace") as file:
        for line in file:
            pid, _, text = line.partition(" ")
            text, main = text.strip(), main or pid
            if "PR_SET_SECCOMP" in text:
                is_confined.add(pid)
            if text.startswith("process_vm_readv("):
                assert all(int(length) <= CODE_BYTES for length in re.findall(r"iov_len=(\d+)", text)), line
            elif memory in text.partition(",")[0]:
                assert text.startswith("pread64(") and pid in is_confined and pid != main, line
                nr_read += 1
    assert nr_read > 0


def forged_jvm():
    """A process whose libjvm.so says that a VM's structures are in memory that userfaultfd never provides."""
    fd = ctypes.CDLL(None, use_errno=True).syscall(323, os.O_CLOEXEC)
    if fd < 0:
        raise h.Skip("no userfaultfd(2) here")
    os.close(fd)
    path = os.path.join(h.folder(), "libjvm.so")
    source = "".join(f"unsigned long {name} = 1;\n" for name in VARIABLES) + "void code(void) {}\n"
    subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", path], input=source, text=True, check=True)
    return h.Workload("hostile", "jvm", path, "hidden")


@h.test
def memory_that_never_comes():
    """It costs the process that has it: the closing lines name that, and the JVM beside it has its names and stacks."""
    neighbour, forged = jvm(), forged_jvm()
    forged.uses(0.2)
    run = h.cprof("record", "-F", "199", "-p", f"{neighbour.pid},{forged.pid}").attached()
    neighbour.uses(0.5)
    neighbour.pauses()
    run.awaits(f"JVM {forged.pid}: its memory is not read any more")
    neighbour.uses(1)
    neighbour.pauses()
    done = run.stop()
    assert done.code == 0, done.lines
    said = [line for line in done.lines if "no names and no unwind info" in line]
    assert len(said) == 1 and f"JVM {forged.pid}: " in said[0], done.lines
    done.lines = [line for line in done.lines if line not in said]
    assert [s for s in done.profile()["samples"] if s["labels"].get("pid") == forged.pid]
    has_names_and_whole_stacks(done, neighbour)


@h.test
def a_parser_that_does_not_answer():
    """A parser that stands still costs what it was asked about; sampling goes on and ends in time."""
    target = jvm()
    run = h.cprof("record", "-F", "199", "-p", target.pid).attached()
    line, end = f"JVM {target.pid}: its memory is not read any more", time.monotonic() + h.HANGS
    while line not in run.said():
        assert time.monotonic() < end, run.said()
        if parser := parser_of(run):  # the first may be asked about a file
            os.kill(parser, signal.SIGSTOP)
        time.sleep(0.05)
    target.uses(0.5)
    done = run.stop()
    assert done.code == 0, done.lines
    said = [line for line in done.lines if line.endswith(": its parser took too long")]
    assert [line for line in said if f"JVM {target.pid}: " in line], done.lines
    u.assert_enough(u.count(done.profile()["samples"]), "samples")


MOMENTS = int(os.environ.get("MOMENTS", "4" if h.IS_LONG else "2"))


@h.test
def killed_at_any_moment():
    """A parser that is killed is replaced by one that reads the JVM again: names and stacks are there."""
    target = jvm()
    nr_killed = 0
    for moment in range(MOMENTS):
        run = h.cprof("record", "-F", "199", "-p", target.pid, run_as=h.AHEAD_OF_OTHERS)
        if moment % 2:
            run.attached()
            target.uses(random.uniform(0, 0.7))
        else:
            time.sleep(random.uniform(0, 0.7))  # while it starts
        if parser := parser_of(run):
            try:
                os.kill(parser, signal.SIGKILL)
                nr_killed += 1
            except ProcessLookupError:
                pass
        run.attached()
        target.uses(1)
        target.pauses()
        done = run.stop()
        target.goes_on()
        assert done.code == 0, (moment, done.lines)
        has_names_and_whole_stacks(done, target)
    assert nr_killed, "none was ever killed"


h.main()
