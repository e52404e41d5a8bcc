#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cprof heap: where probes stand, what they cost, and that a call within a call counts once.

--limit way=N: 1 perf uprobes, 2 multi links (Linux 6.10), 3 sessions (6.13), or what the kernel has.
"""
import ctypes
import os
import re
import shutil
import subprocess

import harness as h
import heaps

BYTES = 1000
WAYS = {1: "perf uprobes", 2: "multi-uprobe links", 3: "uprobe sessions"}
PROBING = re.compile(r"^cprof: probing (\w+)\+(\d+) at offset (0x[0-9a-f]+) of (\S+)( \(a leaf\))?$")


def has_not(way):
    """Is this kernel too old for it?"""
    btf = subprocess.run([shutil.which("bpftool", path="/usr/sbin:/usr/bin"), "btf", "dump", "file",
                          "/sys/kernel/btf/vmlinux"], stdout=subprocess.PIPE, check=True, text=True)
    needs = {2: "BPF_TRACE_KPROBE_SESSION", 3: "BPF_TRACE_UPROBE_SESSION"}
    return way in needs and needs[way] not in btf.stdout


@h.test
def nested_calls_count_once_exactly():
    for way in WAYS:
        ended, expected = heaps.measure(h.Workload("nested"), "--rate", "1", "--limit", f"attach_mode={way}")
        heaps.estimated(ended.profile(), expected, BYTES, 1)
        assert ended.accounts.nested > 0, "nothing was nested"
        used = [line for line in ended.lines if line.startswith("cprof: heap probes: ")]
        assert used == [f"cprof: heap probes: {WAYS[way]}"] or has_not(way), used


@h.test
def nested_calls_are_sampled_once():
    for way in WAYS:
        ended, expected = heaps.measure(h.Workload("nested"), "--rate", BYTES, "--limit", f"attach_mode={way}")
        heaps.estimated(ended.profile(), expected, BYTES, BYTES)
        accounts = ended.accounts
        assert accounts.nested > 0 and accounts.unsampled > 0, vars(accounts)


@h.test
def allocators_that_wrap_others():
    """A calloc that calls malloc, a malloc that calls through a pointer: neither is a leaf."""
    for rate in (1, BYTES):
        ended, expected = heaps.measure(h.Workload("ownalloc"), "--rate", rate)
        heaps.estimated(ended.profile(), expected, BYTES, rate)
        leaves = {match[1] for match in ended.matches(PROBING) if match[5] and "ownalloc" in match[4]}
        assert not leaves, leaves
        assert ended.accounts.nested == 3 * expected["site_malloc"], vars(ended.accounts)


@h.test
def probes_stand_where_the_kernel_emulates():
    """objdump's opinion of the instruction under each probe of the functions that matter."""
    ended = h.cprof("heap", "--mode", "probe", "--rate", "1", "--", h.workload("allocs"), "5", "now").wait()
    ended.profile()
    seen = set()
    for name, offset, file_off, path, _ in (match.groups() for match in ended.matches(PROBING)):
        if not path.endswith("libc.so.6") or name not in ("malloc", "calloc", "realloc", "free"):
            continue
        seen.add(name)
        # in Debian's libc the first pages of text have their file offsets as addresses
        at = int(file_off, 16)
        text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", f"--start-address={at}",
                               f"--stop-address={at + 16}", path], check=True, text=True,
                              stdout=subprocess.PIPE).stdout
        first = re.search(rf"^\s*{at:x}:\s+(\S+)", text, re.M)
        assert first and re.match(r"push|nop|j|call", first[1]), f"{name}+{offset}: {text}"
    assert len(seen) == 4, seen


class Statistics:
    """As long as this is open, the kernel counts how often each BPF program runs."""

    def __enter__(self):
        # bpf(BPF_ENABLE_STATS, {type = BPF_STATS_RUN_TIME}), Linux 5.8
        self.fd = ctypes.CDLL(None, use_errno=True).syscall(321, 32, ctypes.byref(ctypes.c_uint64(0)), 8)
        if self.fd < 0:
            raise h.Skip(f"the kernel does not count: {os.strerror(ctypes.get_errno())}")
        return self

    def __exit__(self, *_):
        os.close(self.fd)

    @staticmethod
    def runs(pid):
        """How often the programs of one process have run, by their name."""
        held = set()
        for fd in os.listdir(f"/proc/{pid}/fdinfo"):
            with open(f"/proc/{pid}/fdinfo/{fd}", encoding="ascii") as file:
                held |= set(map(int, re.findall(r"^prog_id:\t(\d+)$", file.read(), re.M)))
        return {item["name"]: item.get("run_cnt", 0) for item in h.listed("prog") if item["id"] in held}


@h.test
def free_of_null_never_traps():
    """pairs frees 420,000 blocks, and 20,000 times NULL: the programs on free() run for the blocks only."""
    target = h.Workload("pairs", "1", "20000")
    target.says()
    run = h.cprof("heap", "-p", target.pid).attached()
    with Statistics():
        before = Statistics.runs(run.pid)
        target.go()
        target.says()
        after = Statistics.runs(run.pid)
    run.stop()
    runs = {name: after[name] - before[name] for name in after if name in before}
    frees = {name: number for name, number in runs.items() if "free" in name}
    # Threads that come and go free a few blocks of the C library's own, and cprof looks what a trap costs, 6,000 times at most.
    assert 420000 <= sum(frees.values()) < 428000, runs


@h.test
def allocations_only():
    ended, expected = heaps.measure(h.Workload("allocs"), "--rate", "1", "--alloc-only")
    profile = ended.profile()
    heaps.exact(profile, expected, heaps.ALLOCATED)
    assert profile["types"] == ["alloc_objects", "alloc_space"], profile["types"]
    probed = {match[1] for match in ended.matches(PROBING)}
    assert "malloc" in probed and "free" not in probed, probed


h.main()
