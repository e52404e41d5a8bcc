# SPDX-License-Identifier: BSD-2-Clause
"""F1 to F9: what becomes of the targets, of their files, and of their numbers."""
import ctypes
import os
import signal
import struct
import time

import harness as h
from fault import existing, fault, words

BUSY = {"hot_a", "hot_b"}


def of_pid(profile, pid):
    return [sample for sample in profile["samples"] if sample["labels"].get("pid") == pid]


def functions(samples):
    return {name for sample in samples for name in sample["stack"]}


@fault
def f01_target_exits():
    """the target exits in the middle of the profile, of its own or killed"""
    existing("test_heap_life", "target_exits_by_itself")
    return existing("test_record_life", "target_exits_by_itself", "target_is_killed")


@fault
def f02_target_executes():
    """the target executes another binary"""
    existing("test_heap_life", "exec_in_mid_profile")
    return existing("test_record_life", "fork_and_exec_in_mid_profile", "exec_of_the_only_target")


@fault
def f03_target_forks():
    """the target forks 50 children at once"""
    script = f"for i in $(seq 50); do {h.workload('exiter')} 0.1 >/dev/null & done; wait"
    run = h.cprof("record", "-F", "999", "--", "sh", "-c", script).wait()
    profile = run.profile()
    busy = {sample["labels"]["pid"] for sample in profile["samples"] if "busy_until_the_end" in sample["stack"]}
    assert len(busy) == 50, len(busy)
    return f"{words()}; all of the 50 have samples by name"


@fault
def f04_first_thread_ends():
    """the first thread ends by pthread_exit() and the others go on"""
    return existing("test_record_life", "first_thread_ends")


@fault
def f05_binary_is_deleted():
    """the program's file is deleted while it runs"""
    return existing("test_record_life", "binary_is_deleted")


@fault
def f06_binary_is_replaced():
    """the program's file is replaced by rename; a library's is overwritten in place by another build"""
    return existing("test_record_life", "binary_is_replaced", "library_is_overwritten")


@fault
def f07_container_is_torn_down():
    """a container goes: its file systems are unmounted and its init is killed"""
    place = h.folder()
    script = (f"set -e; cd {place}; mount -t tmpfs none .; cd {place}; mkdir lower upper work merged; "
              f"cp {h.workload('hot')} lower/inside; "
              "mount -t overlay -o lowerdir=lower,upperdir=upper,workdir=work none merged; "
              f"merged/inside 600 & echo '{{}}'; read -r _; cd /; umount -l {place}/merged {place}; echo '{{}}'; wait")
    shell = h.Workload("/usr/bin/unshare", "-r", "-m", "-p", "-f", "--kill-child", "sh", "-c", script)
    shell.says()
    everything = h.cprof("record", "-a", "-F", "499").attached()
    run = h.cprof("record", "-F", "499", "-p", shell.pid).attached()
    inside = h.children(shell.pid)
    end = time.monotonic() + h.HANGS
    while len(inside) < 2 or time.clock_gettime(~inside[-1] << 3 | 2) < 0.3:
        assert time.monotonic() < end, inside
        time.sleep(0.02)
        inside = h.children(shell.pid)
    shell.go()
    shell.says()
    shell.process.kill()
    ended = run.wait()
    assert h.share(ended.profile(), "samples", *BUSY) > 0.8
    samples = of_pid(everything.stop().profile(), inside[-1])
    assert BUSY <= functions(samples), functions(samples)
    return f"{words(run)}; names are those of the file in the container"


@fault
def f08_targets_that_are_none():
    """no such process, a zombie, a kernel thread, another user's process without privileges, what is no number"""
    return existing("test_cli_bad", "processes", "a_process_that_has_ended", "a_kernel_thread",
                    "one_good_process_and_one_bad", "not_root")


CLONE3 = 435


def run_as_pid(pid, *command):
    """clone3(2) with set_tid: a child with this very pid."""
    tids = (ctypes.c_int * 1)(pid)
    arguments = struct.pack("11Q", 0, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, ctypes.addressof(tids), 1, 0)
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(arguments, len(arguments))
    quiet = os.open(os.devnull, os.O_WRONLY)
    child = libc.syscall(CLONE3, buffer, len(arguments))
    if child == 0:
        os.dup2(quiet, 1)
        os.execv(command[0], command)
    os.close(quiet)
    if child < 0:
        raise h.Skip(f"clone3 with a pid of our choice: {os.strerror(ctypes.get_errno())}")
    assert os.waitpid(child, 0) == (pid, 0), "it failed"


@fault
def f09_pid_is_reused():
    """the pid of a target that ended is given to another program at once"""
    everything = h.cprof("record", "-a", "-F", "499").attached()
    first = h.Workload("exiter", 0.5)
    assert first.wait() == 0
    run_as_pid(first.pid, h.workload("hot"), "0.5")
    ended = everything.stop()
    samples = of_pid(ended.profile(), first.pid)
    by_comm = {comm: functions(s for s in samples if s["labels"]["comm"] == comm) for comm in ("exiter", "hot")}
    assert "busy_until_the_end" in by_comm["exiter"] and not BUSY & by_comm["exiter"], by_comm["exiter"]
    assert "busy_until_the_end" not in by_comm["hot"] and BUSY <= by_comm["hot"], by_comm["hot"]
    for seconds in 0.5, 1, 2, 4:
        second = h.Workload("exiter", seconds)
        run = h.cprof("record", "-F", "499", "-p", second.pid)
        second.wait()
        run_as_pid(second.pid, h.workload("hot"), "0.5")
        ended = run.wait()
        if ended.code == 0:  # else it came too late to see the first
            break
    found = functions(ended.profile()["samples"])
    assert "busy_until_the_end" in found and not BUSY & found, found
    return f"{words(everything)}; both programs have their own names"
