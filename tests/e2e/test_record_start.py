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
import helpers
import tracing
import unwinding as u

NR_LIBRARIES = 60
TRIES = 4
NR_FUNCTIONS = 40000
SAMPLING = r"^cprof: sampling stacks"
LEFT = re.compile(rf"^cprof: {h.NUMBER} processes are read later", re.M)


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
    for left in reversed(range(TRIES)):
        beside, much = ticks_sampled(libraries[:1]), ticks_sampled(libraries)
        if much < 2 * beside:
            break
        assert left, (much, beside)  # others on this machine may hold up some runs, not all


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


def nr_processes():
    return sum(name.isdigit() for name in os.listdir("/proc"))


def strace(trace, opens, what):
    """run_as, for a cprof that is met by something when it opens these files, which only main does: what strace calls tampering."""
    if not shutil.which("strace"):
        raise h.Skip("no strace")
    quick = () if what.startswith("signal") else ("-f", "--seccomp-bpf")  # with which it would send no signal
    return ("strace", *quick, "-qq", "-o", trace, "-e", "trace=openat", "-e", f"inject=openat:{what}",
            *(word for path in opens for word in ("-P", path)))


# record -a opens the stat of a process in its first look at who is busy, in its second, and then before it reads its mappings.
READS = 3


def busiest():
    """A workload that is ahead of the others on this machine, so that record -a reads it as one of the first."""
    target = h.Workload(shutil.which("nice"), *h.AHEAD_OF_OTHERS[1:], h.workload("hot"), 600)
    target.uses(0.1)
    return target


def left(said):
    """How many processes cprof says it did not read before it began."""
    found = LEFT.findall(said)
    return h.number(found[0]) if found else 0


@h.test
def of_all_processes_the_rest_is_read_when_met():
    """The start of record -a is limited: when the time for it is up while the busiest is read, the others are not read
    before sampling begins. One of them is sampled then, and its functions are named."""
    late, busy = h.paused("hot", 600), busiest()
    nr = nr_processes()
    run = h.cprof("record", "-a", "-F", "499", run_as=strace(
        os.path.join(h.folder(), "trace"), [f"/proc/{busy.pid}/stat"], f"delay_enter=1600000:when={READS}")).attached()
    nr_left = left(run.said().split("sampling stacks")[0])
    print(f"# {nr_left} of about {nr} processes were left", flush=True)
    busy.pauses()
    late.uses(0.3)
    late.pauses()
    os.kill(helpers.child(run.pid, "cprof"), signal.SIGINT)
    samples = [s for s in run.wait().profile()["samples"] if s["labels"].get("pid") == late.pid]
    assert nr_left > nr / 2, (nr_left, nr)
    named = [s for s in samples if {"hot", "main"} & set(s["stack"])]
    assert u.count(named) > 10, samples


@h.test
def of_all_processes_the_busiest_are_read_first():
    """That is who was busy since cprof started, not who has used most in all."""
    earlier = busiest()
    earlier.uses(1.5)
    earlier.pauses()
    now, trace = busiest(), os.path.join(h.folder(), "trace")
    paths = [f"/proc/{target.pid}/stat" for target in (earlier, now)]
    # The two are opened in the first look, and then the second look waits: who is busy shall use some time between them.
    run = h.cprof("record", "-a", "-d", "0.1s", run_as=strace(trace, paths, "delay_enter=300000:when=3")).wait()
    assert run.code == 0, run.lines
    with open(trace, encoding="utf-8", errors="replace") as file:
        opened = [path for path in re.findall(r'"(/proc/\d+/stat)"', file.read()) if path in paths]
    assert sorted(opened[:2]) == sorted(opened[2:4]) == sorted(paths), opened
    assert opened[4:] and opened[4] == paths[1], (opened, paths)


@h.test
def interrupted_while_it_learns_of_all():
    """Ctrl-C while record -a reads one process after the other: it ends without reading the rest, and says why."""
    busy, trace, nr = busiest(), os.path.join(h.folder(), "trace"), nr_processes()
    for _ in range(5):
        run = h.cprof("record", "-a", "-d", "0.1s", run_as=strace(trace, [f"/proc/{busy.pid}/stat"], f"signal=INT:when={READS}")).wait()
        if run.code:  # or the time was up before it was read, and no signal came
            break
    nr_left = left("\n".join(run.lines))
    print(f"# {nr_left} of about {nr} processes were left", flush=True)
    assert run.code == 3, (run.code, run.lines)
    assert run.lines[-1] == "cprof: interrupted before sampling began: nothing is written.", run.lines
    assert not any(re.match(SAMPLING, line) for line in run.lines), run.lines
    assert nr_left > nr / 2, (nr_left, nr)
    assert not os.path.exists(run.output)


UNKNOWN = "[truncated: code not known yet]"
STOPPED = re.compile(rf"^cprof: stopped before all code was read: some stacks are truncated \({re.escape(UNKNOWN)}\)$")
TRUNCATED = re.compile(rf"^cprof: truncated stacks, code not known yet: {h.NUMBER} of ")


@h.test
def what_is_not_known_in_the_end_is_counted():
    """A program begins to run after the start, and cprof is told twice to end before it has read the program's code."""
    run = h.cprof("record", "-a", "-F", "499").attached()
    tracing.attach(run.pid)
    target = h.Workload("hot", 600)
    target.uses(0.3)
    target.pauses()
    tracing.handles(run.pid, signal.SIGINT)
    tracing.handles_another(run.pid, signal.SIGTERM)
    tracing.detach(run.pid)
    done = run.wait()
    unknown = [s for s in done.profile()["samples"] if u.why_truncated(s) == UNKNOWN]
    stopped, truncated = done.matches(STOPPED), done.matches(TRUNCATED)
    assert u.count([s for s in unknown if s["labels"].get("pid") == target.pid]) > 10, unknown
    assert [h.number(match[1]) for match in truncated] == [u.count(unknown)], (u.count(unknown), done.lines)
    assert len(stopped) == 1, done.lines


h.main()
