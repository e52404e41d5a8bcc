#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The files of a recording: how each is called, what each covers, and that none is missing."""
import os
import re
import signal
import subprocess
import time

import harness as h
import heaps

ACCOUNTS = re.compile(rf": taken {h.NUMBER} = written {h.NUMBER}(?: \+ not in use any more {h.NUMBER})?"
                      rf"(?: \+ lost {h.NUMBER} .*)?$")


def first_bytes(path, nr=12):
    with open(path, "rb") as file:
        return file.read(nr)


@h.test
def a_name_never_lies_about_the_format():
    """Whatever formats, whatever -o: what is called .pb.gz is a pprof file, and .heap is text."""
    for formats, name, expected in (("legacy,proto", "q.pb.gz", {"q.heap", "q.pb.gz"}),
                                    ("legacy", "q.pb.gz", {"q.heap"}),
                                    ("proto,text", "q.txt", {"q.pb.gz", "q.txt"}),
                                    ("legacy,proto", "q", {"q", "q.pb.gz"})):
        folder = h.folder()
        run = h.cprof("record", "-F", "499", "--format", formats, "--", h.workload("exiter"), "0.3",
                      output=os.path.join(folder, name)).wait()
        assert run.code == 0, run.lines
        assert set(os.listdir(folder)) == expected, (formats, name, os.listdir(folder))
        for file in expected:
            path = os.path.join(folder, file)
            if file.endswith(".pb.gz"):
                assert h.total(h.judge(path), "samples") > 0
            else:
                assert b"profile:" in first_bytes(path), (file, first_bytes(path))


def executable(pid):
    """Where a process has code, the kernel's included."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        rows = [line.split()[:2] for line in maps]
    return [tuple(int(end, 16) for end in span.split("-")) for span, rights in rows
            if "x" in rights] + [(1 << 63, 1 << 64)]


@h.test
def legacy_text_of_the_cpu_has_the_addresses_of_the_process():
    """So who has its maps, or its core, finds them; pprof and the counts agree with the pprof file."""
    target = h.Workload("hot", 60)
    run = h.cprof("record", "-F", "499", "--format", "proto,legacy,text", "-p", target.pid).attached()
    spans = executable(target.pid)
    target.uses(1)
    profile = run.stop().profile()
    for suffix in ".heap", ".txt":
        path = run.output.removesuffix(".pb.gz") + suffix
        with open(path, encoding="utf-8") as file:
            text = file.read()
        assert int(re.match(r"cpu profile: total (\d+)\n", text)[1]) == h.total(profile, "cpu")
        rows = re.findall(r"^(\d+) @((?: 0x[0-9a-f]+)+)$", text, re.M)
        assert sum(int(value) for value, _ in rows) == h.total(profile, "cpu")
        assert len({stack for _, stack in rows}) == len(rows), "a stack stands in two lines"
        known = sum(any(start <= int(ip, 16) - 1 < end for start, end in spans)
                    for _, stack in rows for ip in stack.split())
        assert known == sum(len(stack.split()) for _, stack in rows), (suffix, known)
    env = {"HOME": h.folder(), **os.environ, "PPROF_TMPDIR": h.folder()}
    top = subprocess.run(h.pprof("-top", run.output.removesuffix(".pb.gz") + ".heap"), env=env,
                         check=True, capture_output=True, text=True).stdout
    assert "hot_a" in top and "hot_b" in top, top


# Windows -----------------------------------------------------------------------------------------

def accounts(profile):
    """Of a comment: taken, written, not in use any more, lost."""
    found = ACCOUNTS.search(profile["comments"][0])
    assert found, profile["comments"]
    taken, written, gone, lost = (h.number(text or "0") for text in found.groups())
    assert taken == written + gone + lost, profile["comments"]
    return taken, written, gone, lost


def merged(paths):
    """cprof merge of the files, judged."""
    path = os.path.join(h.folder(), "merged.pb.gz")
    h.run_cprof("merge", "-o", path, *paths, text=False)
    return h.contract.load(path)


def follow_one_another(profiles):
    """To the nanosecond: what one covers begins where that of the one before it ends."""
    for before, after in zip(profiles, profiles[1:]):
        assert before["time_ns"] + before["duration_ns"] == after["time_ns"], (before, after)
    assert all(profile["duration_ns"] > 0 for profile in profiles)


def add_up(run, profiles, kind):
    """What the windows say was taken, written and lost is what the run says, and so is their merge."""
    closing = run.closing
    sums = [sum(column) for column in zip(*map(accounts, profiles))]
    assert sums == [closing.taken, closing.written, 0, closing.lost], (sums, vars(closing))
    whole = merged(run.files)
    assert h.total(whole, kind) == closing.written, (h.total(whole, kind), vars(closing))
    assert whole["duration_ns"] == sum(profile["duration_ns"] for profile in profiles)
    assert whole["time_ns"] == profiles[0]["time_ns"]


@h.test
def an_interval_is_a_window_of_the_cpu():
    """Each file has its own samples, time and duration; together they are the run."""
    target = h.Workload("exiter", 60)
    run = h.cprof("record", "-F", "499", "--interval", "400ms", "--allow-empty", "-p", target.pid,
                  run_as=h.AHEAD_OF_OTHERS)  # a target that waits for a CPU may have a window without a sample
    run.writes_files(2)
    run.attached()
    target.uses(0.1)
    run = run.stop()
    profiles = run.windows()
    assert len(profiles) >= 3, run.lines
    follow_one_another(profiles)
    add_up(run, profiles, "samples")
    for i, profile in enumerate(profiles):
        assert h.total(profile, "samples") == accounts(profile)[1], (i, profile["comments"])
        # on a CPU that others want too it has less, never more than there was time for, but for a tick
        assert h.total(profile, "cpu") <= profile["duration_ns"] + profile["period"] * 2, i
    numbers = re.findall(r"from (\S+) to (\S+) s:", " ".join(p["comments"][0] for p in profiles))
    assert numbers[0][0] == "0.000" and [a for a, _ in numbers[1:]] == [b for _, b in numbers[:-1]], numbers


@h.test
def losses_are_those_of_their_window():
    """A store too small for a moment in which cprof does not drain it: each window says what was lost in it."""
    target = h.Workload("stacks", 60)
    run = h.cprof("record", "-F", "1999", "--limit", "counts=16", "--limit", "events=4096", "--interval", "600ms", "-p", target.pid)
    run.attached()
    target.uses(0.1)
    run.signal(signal.SIGSTOP)
    target.uses(0.5)
    run.signal(signal.SIGCONT)
    run.writes_files(3)
    run = run.stop()
    assert run.closing.lost > 0, vars(run.closing)
    add_up(run, run.windows(), "samples")


@h.test
def an_interval_of_a_heap():
    """What was allocated in each window, and what is in use at its end."""
    target = h.Workload("churn", "0", "2")
    run = heaps.watch(target, "--rate", "1", "--interval", "400ms")
    run.writes_files(2)
    target.go()
    run = run.wait()
    profiles = run.windows()
    assert len(profiles) >= 3, run.lines
    follow_one_another(profiles)
    add_up(run, profiles, "alloc_objects")
    for profile in profiles:
        words = re.search(r", allocated from \S+ to (\S+) s, in use at (\S+) s:", profile["comments"][0])
        assert words and words[1] == words[2], profile["comments"]
    assert target.wait() == 0


@h.test
def in_use_at_moments():
    """--inuse: each file is of a moment, and its accounts are those of what is in use."""
    target = h.Workload("allocs", "20")
    target.says()
    run = h.cprof("heap", "--rate", "1", "--inuse", "-p", target.pid).attached()
    target.go()
    target.says()
    target.says()
    run.snapshot(1)
    ended = run.stop()
    moments = [ended.extra_profile(".1.pb.gz"), ended.profile()]
    assert moments[0]["time_ns"] < moments[1]["time_ns"], [m["time_ns"] for m in moments]
    closing = ended.closing
    assert accounts(moments[1]) == (closing.taken, closing.written, closing.gone, closing.lost)
    for moment in moments:
        assert moment["duration_ns"] == 0
        assert re.search(r", in use at \S+ s:", moment["comments"][0]), moment["comments"]
        assert accounts(moment)[1] == h.total(moment, "inuse_objects"), moment["comments"]


@h.test
def a_request_ends_a_window_too():
    """SIGUSR1, with and without --interval."""
    for more in ((), ("--interval", "1h")):
        target = h.Workload("exiter", "30")
        run = h.cprof("record", "-F", "499", *more, "-p", target.pid).attached()
        for i in (1, 2):
            target.uses(0.1)
            run.snapshot(i)
        target.uses(0.1)
        ended = run.stop()
        target.process.kill()
        profiles = ended.windows()
        assert len(profiles) == 3, ended.lines
        follow_one_another(profiles)
        add_up(ended, profiles, "samples")


@h.test
def the_start_is_when_sampling_starts():
    """What comes before it (programs loaded, probes set) is not part of the time that is covered."""
    before = time.time_ns()
    run = h.cprof("record", "-d", "1s", "-p", h.Workload("exiter", "30").pid)
    run.attached()
    attached = time.time_ns()
    profile = run.wait().profile()
    assert before < profile["time_ns"] <= attached, (before, profile["time_ns"], attached)
    done = time.time_ns()
    assert profile["time_ns"] + profile["duration_ns"] <= done
    assert profile["duration_ns"] >= 1e9


@h.test
def a_window_without_a_sample_is_said():
    """Its number is not given to another: p.3 is the third."""
    target, busy = h.Workload("idle"), h.Workload("exiter", 60)
    target.sleeps()
    run = h.cprof("record", "-F", "499", "--interval", "300ms", "-p", f"{target.pid},{busy.pid}").attached()
    busy.uses(0.3)
    busy.process.kill()
    busy.wait()
    empty = re.compile(r"^cprof: file (\d+) is not written: no sample from", re.M)
    before = len(empty.findall(run.said()))  # busy may have had no CPU
    run.awaits(rf"(?s)({empty.pattern}.*){{{before + 2}}}")
    ended = run.stop()
    assert ended.code == 0, ended.lines
    said = [int(match[1]) for match in ended.matches(empty)]
    written = [int(re.search(r"\.(\d+)\.pb\.gz$", path)[1]) for path in ended.files]
    assert sorted(said + written) == list(range(1, len(said + written) + 1)), (said, written)
    assert any("the last file is not written" in line for line in ended.lines), ended.lines


# Nothing ----------------------------------------------------------------------------------------

@h.test
def an_empty_file_if_it_is_allowed():
    """Exit 0, a file that every judge takes, and why there is nothing in it; without the option, 3."""
    target = h.Workload("idle")
    target.says()
    for command in "record", "heap":
        options = command, "-d", "300ms", "-p", target.pid
        refused = h.cprof(*options).wait()
        assert refused.code == 3 and not os.path.exists(refused.output), refused.lines
        allowed = h.cprof(*options, "--allow-empty").wait()
        assert allowed.code == 0, allowed.lines
        profile = h.judge(allowed.output)
        assert not profile["samples"] and profile["duration_ns"] >= 3e8, profile
        assert profile["mappings"][0]["path"].endswith("/idle"), profile["mappings"]
        assert any("no sample" in line for line in allowed.lines), allowed.lines


@h.test
def an_empty_file_of_the_whole_machine():
    """Nobody's: what every process shares is the kernel."""
    run = h.cprof("record", "-a", "--comm", "no such comm", "-d", "300ms", "--allow-empty").wait()
    assert run.code == 0, run.lines
    profile = h.judge(run.output)
    assert not profile["samples"], profile
    assert [mapping["path"] for mapping in profile["mappings"]] == ["[kernel.kallsyms]"], profile["mappings"]


@h.test
def an_empty_file_has_its_name_in_a_folder():
    target = h.Workload("idle")
    target.says()
    folder = h.folder()
    run = h.cprof("record", "-d", "300ms", "--allow-empty", "-p", target.pid, output=folder).wait()
    assert run.code == 0, run.lines
    assert os.listdir(folder) == [f"cprof.cpu.idle.{target.pid}.pb.gz"], os.listdir(folder)


@h.test
def no_window_is_missing_if_empty_ones_are_allowed():
    target = h.Workload("idle")
    target.says()
    cprof = h.cprof("record", "--interval", "300ms", "--allow-empty", "-p", target.pid)
    cprof.writes_files(3)
    run = cprof.stop()
    assert run.code == 0, run.lines
    folder = os.path.dirname(run.output)
    names = [*(f"profile.{i}.pb.gz" for i in range(1, len(os.listdir(folder)))), "profile.pb.gz"]
    assert sorted(os.listdir(folder)) == sorted(names), run.lines
    # a busy machine may come late to the end of a window, which is then longer; each begins where the one before ends
    profiles = [h.judge(os.path.join(folder, name)) for name in names]
    starts, durations = ([profile[key] for profile in profiles] for key in ("time_ns", "duration_ns"))
    assert [start + duration for start, duration in zip(starts, durations)][:-1] == starts[1:], (starts, durations)
    assert len(names) - 1 <= sum(durations) / 3e8, durations


def all_freed(*options):
    """A run over a program that frees what it allocates; at this rate nothing of the C library's is in it."""
    target = h.Workload("churn", "0.5", "1")
    run = heaps.watch(target, "--rate", "1000000", *options)
    target.wait()
    return run.wait()


@h.test
def nothing_in_use_is_said():
    """By the closing lines, and by who shows the file."""
    run = all_freed()
    profile = run.profile()
    assert h.total(profile, "inuse_space") == 0 < h.total(profile, "alloc_space")
    hint = "nothing is in use at the end: try --sample-type alloc_space, or record with --peak"
    assert f"cprof: {hint}" == run.lines[-2], run.lines
    assert run.lines[-1] == f"cprof: next: cprof top --sample-type alloc_space {run.output}", run.lines
    for command in "top", "tree":
        shown = h.run_cprof(command, run.output)
        assert hint in shown.stdout.splitlines(), shown
    page = os.path.join(h.folder(), "x.html")
    drawn = h.run_cprof("flame", run.output, "-o", page)
    assert hint in drawn.stderr, drawn
    chosen = h.run_cprof("top", "--sample-type", "alloc_space", run.output)
    assert hint not in chosen.stdout and "churn" in chosen.stdout, chosen


@h.test
def a_view_of_nothing_in_use_is_written():
    """--views: the file is there, and its accounts say where the samples went."""
    run = all_freed("--views")
    run.profile()
    inuse = run.extra_profile(".inuse.pb.gz")
    assert not inuse["samples"] and inuse["duration_ns"] == 0
    taken, written, gone, lost = accounts(inuse)
    assert (taken, lost) == (run.closing.taken, run.closing.lost) and written == 0 < gone, inuse["comments"]


h.main()
