#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Bad input: one line that says what and what to do, the promised exit code, nothing written."""
import os
import signal
import stat

import harness as h

USAGE, NOTHING, CANNOT = 2, 3, 4


def refused(code, pattern, *arguments, **options):
    for kind in ("record", "heap"):
        if kind == "heap" and "-F" in arguments or kind == "record" and "--rate" in arguments:
            continue
        run = h.cprof(kind, *arguments, verbose=False, **options)
        ended = run.wait()
        try:
            ended.refused(code, pattern)
        except AssertionError as error:
            raise AssertionError(f"{kind} {' '.join(map(str, arguments))}: {error}") from None
        assert not os.listdir(run.folder), os.listdir(run.folder)


def unused_pid():
    with open("/proc/sys/kernel/pid_max", encoding="ascii") as file:
        return next(pid for pid in range(int(file.read()) - 1, 1, -1)
                    if not os.path.exists(f"/proc/{pid}"))


def kernel_thread():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            if int(file.read().rpartition(")")[2].split()[6]) & 0x200000:  # PF_KTHREAD
                return pid
    raise h.Skip("no kernel thread is visible here (a pid namespace)")


@h.test
def processes():
    refused(USAGE, "no process", "-p", unused_pid())
    for bad in ("x", "0", "-1", "1,", "1,,2", "12x", "99999999999", "4294967297", ""):
        refused(USAGE, "-p", "-p", bad)


@h.test
def a_process_that_has_ended():
    target = h.Workload("zombie")
    refused(USAGE, "ended|zombie", "-p", target.says()["zombie"])


@h.test
def a_kernel_thread():
    refused(USAGE, "kernel thread", "-p", kernel_thread())


@h.test
def one_good_process_and_one_bad():
    idle = h.Workload("idle")
    refused(USAGE, "no process", "-p", f"{idle.pid},{unused_pid()}")


@h.test
def rates_and_durations():
    target = h.Workload("idle")
    for bad in ("0", "-1", "x", "12k", "1e3", "", "99999999999999999999"):
        refused(USAGE, "--rate", "--rate", bad, "-p", target.pid)
    for bad in ("0", "-1", "x", "99.5", "", "99999999"):
        refused(USAGE, "-F", "-F", bad, "-p", target.pid)
    for bad in ("0", "0s", "-1s", "x", "5parsecs", "", "inf", "nan", "1s2", "99999999h"):
        refused(USAGE, "-d", "-d", bad, "-p", target.pid)


@h.test
def usage():
    target = h.Workload("idle")
    refused(USAGE, "no target: use -p")
    refused(USAGE, "one of", "-a", "-p", target.pid)
    refused(USAGE, "one of", "-a", "-p", target.pid, "--", "true")
    refused(USAGE, "unknown option", "--no-such-option", "-p", target.pid)
    refused(USAGE, "argument", "-p")


@h.test
def outputs_that_cannot_be():
    """A root program must not write through what somebody else has put there."""
    target = h.Workload("hot", 60)
    folder = h.folder()

    def place(name):
        return os.path.join(folder, name)

    refused(USAGE, "/nonexistent/", "-d", "1h", "-p", target.pid, "-o", "/nonexistent/cpu.pb.gz")
    refused(USAGE, "/proc/", "-d", "1h", "-p", target.pid, "-o", "/proc/cpu.pb.gz")
    refused(USAGE, "/dev/null", "-d", "1h", "-p", target.pid, "-o", "/dev/null")

    with open(place("kept"), "w", encoding="ascii") as file:
        file.write("kept")
    os.symlink(place("kept"), place("link"))
    refused(USAGE, "link", "-d", "1h", "-p", target.pid, "-o", place("link"))
    os.symlink(place("nowhere"), place("dangling"))
    refused(USAGE, "link", "-d", "1h", "-p", target.pid, "-o", place("dangling"))
    os.mkfifo(place("fifo"))
    refused(USAGE, "fifo", "-d", "1h", "-p", target.pid, "-o", place("fifo"))

    os.chown(place("kept"), h.NOBODY, h.NOBODY)
    refused(USAGE, "kept", "-d", "1h", "-p", target.pid, "-o", place("kept"))
    with open(place("kept"), encoding="ascii") as file:
        assert file.read() == "kept"
    assert stat.S_ISFIFO(os.lstat(place("fifo")).st_mode)
    assert sorted(os.listdir(folder)) == ["dangling", "fifo", "kept", "link"], os.listdir(folder)


@h.test
def nothing_is_left_of_a_folder_for_nothing():
    """-o names a folder that is not there yet, and the run fails before it begins."""
    path = os.path.join(h.folder(), "new")
    run = h.cprof("record", "-p", unused_pid(), "-o", path + "/", verbose=False).wait()
    run.refused(USAGE, "no process")
    assert not os.path.exists(path)


@h.test
def file_of_our_own_is_replaced():
    target = h.Workload("hot", 60)
    run = h.cprof("record", "-F", "999", "-p", target.pid).attached()
    with open(run.output, "w", encoding="ascii") as file:
        file.write("an older profile")
    target.uses(0.2)
    run.stop().profile()


@h.test
def files_have_a_largest_size():
    """ulimit -f: an error like any other, not a death by SIGXFSZ; a command has the signal as it was."""
    target = h.Workload("stacks", 60)
    run = h.cprof("record", "-F", "1999", "-p", target.pid, run_as=("prlimit", "--fsize=4096")).attached()
    target.uses(0.5)  # some thousand stacks
    ended = run.stop()
    assert ended.code == USAGE and any(": File too large" in line for line in ended.lines), (ended.code, ended.lines)
    assert not os.listdir(run.folder), os.listdir(run.folder)
    script = "ulimit -f 1; head -c 100000 /dev/zero >$0"
    ended = h.cprof("record", "--allow-empty", "--", "sh", "-c", script, os.path.join(h.folder(), "large")).wait()
    assert ended.code == 128 + signal.SIGXFSZ, (ended.code, ended.lines)


@h.test
def idle_target():
    """No sample is an error with its reason."""
    target = h.Workload("idle")
    target.sleeps()
    refused(NOTHING, "nothing", "-d", "300ms", "-p", target.pid)


@h.test
def not_root():
    """Not with a word of libbpf's, and not later than at once."""
    target = h.Workload("idle")
    someone = ("setpriv", "--reuid", str(h.NOBODY), "--regid", str(h.NOBODY), "--clear-groups")
    folder = h.folder()
    os.chmod(folder, 0o777)
    refused(CANNOT, "root|CAP_", "-p", target.pid, "-o", os.path.join(folder, "x.pb.gz"), run_as=someone)
    refused(CANNOT, "root|CAP_", "-a", "-d", "1h", "-o", os.path.join(folder, "x.pb.gz"), run_as=someone)
    assert not os.listdir(folder), os.listdir(folder)


@h.test
def privileges_come_before_the_output():
    """Without privileges the error is about these, not about a folder; and none is created."""
    target = h.Workload("idle")
    someone = ("setpriv", "--reuid", str(h.NOBODY), "--regid", str(h.NOBODY), "--clear-groups")
    folder = h.folder()
    os.chmod(folder, 0o777)
    for output in (os.path.join(folder, "new/"), "/root/x.pb.gz", "/nonexistent/x.pb.gz"):
        for command in "record", "heap":
            for whom in (("-p", target.pid), ("-a",), ("--", "true")):
                run = h.cprof(command, "-o", output, *whom, run_as=someone, verbose=False).wait()
                run.refused(CANNOT, "root|CAP_")
    assert not os.listdir(folder), os.listdir(folder)


@h.test
def no_btf():
    """A kernel without BTF, as far as a mount namespace can make one."""
    if not os.path.exists("/sys/kernel/btf/vmlinux"):
        raise h.Skip("this kernel has no BTF anyway")
    target = h.Workload("idle")
    hidden = ("unshare", "-m", "sh", "-c",
              "mount -t tmpfs none /sys/kernel/btf && mount -t tmpfs none /boot && exec \"$@\"", "sh")
    refused(CANNOT, "BTF", "-p", target.pid, run_as=hidden)


@h.test
def help_and_version():
    for arguments in (["record", "--help"], ["heap", "--help"]):
        run = h.cprof(*arguments, verbose=False, output="").wait()
        assert run.code == 0 and not run.lines and "usage: cprof " in run.out, run.lines
        assert "--limit" not in run.out


@h.test
def views_and_formats():
    for arguments, pattern in ((("--format", "pdf"), "format"), (("--delta", "soon"), "delta"),
                               (("--delta", "5s", "-d", "1s"), "delta"),
                               (("--interval", "0"), "interval")):
        run = h.cprof("heap", *arguments, "-p", os.getpid(), verbose=False)
        run.wait().refused(USAGE, pattern)
    for name in ("allocations.csv", "cpu.json", "graph.dot"):
        path = os.path.join(h.folder(), name)
        h.cprof("record", "-o", path, "-p", os.getpid(), verbose=False).wait().refused(USAGE, "no known format")
        assert not os.path.exists(path)
    h.cprof("record", "--inuse", "-p", os.getpid(), verbose=False).wait().refused(USAGE, "inuse")


h.main()
