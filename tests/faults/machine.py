# SPDX-License-Identifier: BSD-2-Clause
"""F16, F17, F34 and F35: what is done to a machine of its own, Debian's kernel 6.12 under qemu (tests/vm)."""
import functools
import os
import re
import subprocess

import harness as h
from fault import ROOT, fault

KERNEL = "6.12"
# Longer than run.sh itself waits for its three machines.
SECONDS = 1900


@functools.cache
def machines():
    """Boots it three times, once with each lockdown; what tests/vm/run.sh says."""
    done = subprocess.run([os.path.join(ROOT, "tests", "vm", "run.sh"), "--faults", KERNEL], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS)
    return done.stdout


def folder_of(lockdown):
    name = KERNEL if lockdown == "none" else f"{KERNEL}-{lockdown}"
    said = machines()
    skipped = re.search(rf"^SKIP vm {re.escape(KERNEL)}: (.*)$", said, re.M)
    if skipped:
        raise h.Skip(f"NOT RUN: {skipped[1]}")
    folder = os.path.join(h.BUILD, "vm", name)
    assert re.search(rf"^(ok|FAIL) vm {re.escape(name)} ", said, re.M) and os.path.exists(f"{folder}/verdict"), said
    return folder


def verdicts(lockdown):
    """What tests/vm/judge.py says of each case, and what is wrong."""
    with open(os.path.join(folder_of(lockdown), "verdict"), encoding="utf-8") as file:
        first, *wrong = file.read().splitlines()
    return dict(word.split("=") for word in first.split()), wrong


def went_well(lockdown, *cases):
    """These cases, and nothing is left in its kernel, which does not complain."""
    found, wrong = verdicts(lockdown)
    for case in (*cases, "nothing_left", "kernel_is_silent"):
        assert found[case] == "ok", [case, *wrong]


def lines(lockdown, case, pattern):
    """What cprof said there: the lines with this."""
    with open(os.path.join(folder_of(lockdown), f"{case}.err"), encoding="utf-8", errors="backslashreplace") as file:
        found = [line.removeprefix("cprof: ").rstrip() for line in file if re.search(pattern, line)]
    return "; ".join(found)


@fault
def f16_processor_goes_and_comes():
    """a CPU goes offline and comes back a second later, in a virtual machine"""
    went_well("none", "record_hotplug", "heap_hotplug")
    return f"{lines('none', 'record-hotplug', 'online again|^cprof: taken')}; heap: {lines('none', 'heap-hotplug', '^cprof: taken')}"


@fault
def f17_suspend():
    """a virtual machine is suspended to memory and woken up"""
    went_well("none", "record_suspend")
    return lines("none", "record-suspend", "was suspended|online again|^cprof: taken") + "; what ran after it woke up has samples"


@fault
def f34_paranoid():
    """kernel.perf_event_paranoid=3 (Debian's own), as root and with sets of capabilities, in a virtual machine"""
    went_well("none", "privileges")
    return lines("none", "privileges-paranoid-two-record", "paranoid")


@fault
def f35_lockdown():
    """lockdown=integrity and lockdown=confidentiality, in virtual machines"""
    found, wrong = verdicts("integrity")
    assert set(found.values()) == {"ok"}, wrong
    went_well("confidentiality", "locked_down", "record_pid", "record_all", "heap")
    return f"integrity: {len(found)} cases as without; confidentiality: {lines('confidentiality', 'record-pid', '^cprof: taken')}"
