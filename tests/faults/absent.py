# SPDX-License-Identifier: BSD-2-Clause
"""F32 to F40, but for F34 and F35: what a kernel, a user or a file lacks. The cause is named, with the remedy, and without
a message of libbpf's."""
import gzip
import os
import subprocess

import harness as h
from fault import existing, fault, words


@fault
def f32_no_btf():
    """a kernel without BTF, or with an empty file in its place"""
    existing("test_doctor", "no_btf", "no_btf_but_an_empty_file")
    return existing("test_cli_bad", "no_btf")


@fault
def f33_not_root():
    """a user without privileges; each capability that is needed missing, one after another"""
    existing("test_cli_bad", "not_root", "privileges_come_before_the_output")
    existing("test_privileges", "own_command_needs_two", "everything_needs_six", "doctor_names_each_that_is_missing",
             "files_of_others_need_three", "names_of_the_kernel_need_syslog", "admin_stands_for_both")
    return existing("test_doctor", "nobody")


@fault
def f36_hidden_kernel_symbols():
    """kernel.kptr_restrict=2 and a kallsyms without addresses"""
    return existing("test_doctor", "hidden_kernel_symbols")


@fault
def f37_seccomp():
    """seccomp filters that refuse bpf(2) and perf_event_open(2), with EPERM and with ENOSYS"""
    return existing("test_doctor", "seccomp_that_refuses_bpf", "seccomp_that_refuses_perf_events")


def has_kprobes():
    """By the kernel's own configuration; None: it does not tell."""
    paths = "/proc/config.gz", f"/boot/config-{os.uname().release}"
    for path in paths:
        if os.path.exists(path):
            with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
                return "CONFIG_KPROBES=y\n" in file.read()
    return None


@fault
def f38_no_tracefs_and_no_kprobes():
    """neither tracefs nor debugfs mounted, and no kprobes"""
    seen = existing("test_doctor", "no_tracefs")
    if has_kprobes() is not False:
        raise h.Skip("this kernel has kprobes: whether cprof needs them cannot be seen")
    return f"{seen}; the kernel is built without kprobes"


@fault
def f39_no_locked_memory():
    """no memory that may be locked: RLIMIT_MEMLOCK 0, for root and for users whose share is taken"""
    target = h.Workload("hot", 600)
    none = ("prlimit", "--memlock=0:0")
    run = h.cprof("record", "-F", "499", "-p", target.pid, run_as=none).attached()
    target.uses(0.3)
    assert h.share(run.stop().profile(), "samples", "hot") > 0.8
    h.cprof("heap", "--rate", "1", "--", h.workload("allocs"), "5", "now", run_as=none).wait().profile()
    seen = words()
    return f"root: {seen}; {existing('test_privileges', 'rings_need_memory_to_lock')}"


@fault
def f40_no_debug_information():
    """a program without DWARF, without symbols, without .eh_frame, and with a damaged .debug_info"""
    folder, damaged = h.folder(), os.path.join(h.folder(), "damaged")
    with open(damaged, "wb") as file:
        file.write(b"\xff\x80" * 3000)
    ways = {"nodebug": ["--strip-debug"], "stripped": ["--strip-all"],
            "noframes": ["-R", ".eh_frame", "-R", ".eh_frame_hdr"],
            "damaged": [f"--update-section=.debug_info={damaged}", f"--update-section=.debug_line={damaged}"]}
    seen = []
    for name, options in ways.items():
        path = os.path.join(folder, name)
        subprocess.run(["objcopy", *options, h.workload("hot"), path], check=True, stderr=subprocess.DEVNULL)
        profile = h.cprof("record", "-F", "499", "--", path, "0.5").wait().profile()
        named = h.share(profile, "samples", "hot_a", "hot_b")
        assert named == 0 if name == "stripped" else named > 0.8, (name, named)
        seen.append(f"{name} {named:.0%} by name")
    return f"{words()}; {', '.join(seen)}"
