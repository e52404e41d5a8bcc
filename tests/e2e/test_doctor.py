#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cprof doctor: what it says of this machine, and of one that lacks something, is what a run then meets."""
import json
import os
import subprocess

import fusefs
import harness as h
import privileges as p

CHECKS = ["kernel", "BTF", "pid namespace", "CAP_BPF", "CAP_PERFMON", "CAP_SYS_PTRACE", "CAP_DAC_READ_SEARCH",
          "CAP_CHECKPOINT_RESTORE", "CAP_SYSLOG", "CAP_SYS_RESOURCE", "CAP_IPC_LOCK", "CAP_SYS_NICE", "CAP_SETUID",
          "CAP_SETGID", "CAP_SYS_ADMIN", "lockdown", "seccomp", "user nobody", "landlock",
          "memlock limit", "unprivileged bpf", "bpf(2)", "perf_event_paranoid", "perf_event_open(2)",
          "sample rate limit", "sampling CPU limit", "kernel symbols", "probe privilege", "uprobes",
          "multi-uprobe links", "uprobe sessions", "tracefs", "zstd"]
PROGRAMS = ["programs of record", "programs of heap"]
VERDICTS = {"ok", "info", "loss", "no"}


def run(*arguments, run_as=(), stdout=subprocess.PIPE):
    return h.run(*run_as, h.CPROF, "doctor", *arguments, status=None, stdout=stdout, stderr=subprocess.PIPE)


def refusal_of_a_run(run_as, command="record"):
    """The one line that a run prints. A command is a target in every namespace."""
    ended = h.cprof(command, "--", "true", run_as=run_as, verbose=False).wait()
    assert ended.code == p.CANNOT and len(ended.lines) == 1, (ended.code, ended.lines)
    return ended.lines[0]


def agrees_with_a_run(run_as, cause, fragment):
    """Doctor names one cause for every command, and a run refuses with the same words."""
    checks, commands = p.doctor(*run_as, status=p.CANNOT)
    for command in commands.values():
        assert command["causes"] == [cause], command
    row = checks[cause]
    assert row["verdict"] == "no" and fragment in row["why"] and row["remedy"], row
    for command in ("record", "heap"):
        assert refusal_of_a_run(run_as, command) == f"cprof: {row['why']}: {row['remedy']}.", row


@h.test
def here_all_works():
    """Root on the kernel that the other tests record on."""
    checks, commands = p.doctor(status=0)
    assert list(checks) == CHECKS + PROGRAMS, list(checks)
    assert list(commands) == ["record -p", "record -a", "heap"]
    for name, row in checks.items():
        assert row["verdict"] in VERDICTS - {"no"} and (row["value"] or row["why"]), row
        assert bool(row["commands"]) == (row["verdict"] == "loss"), row
    for name in ("kernel", "BTF", "CAP_BPF", "CAP_PERFMON", "bpf(2)", "perf_event_open(2)", *PROGRAMS):
        assert checks[name]["verdict"] == "ok", checks[name]
    assert os.uname().release in checks["kernel"]["value"]


@h.test
def text_says_what_json_says():
    said, as_json = run(), json.loads(run("--json").stdout)
    assert said.returncode == 0 and not said.stderr, said
    for row in as_json["checks"]:
        line = next(line for line in said.stdout.splitlines() if line[6:].startswith(row["name"] + " "))
        assert line.split()[0] == row["verdict"] and row["why"] in line, line
    for command in as_json["commands"]:
        assert f"cprof {command['name']}" in said.stdout and command["outcome"] in said.stdout


@h.test
def nothing_is_left_and_nothing_else_is_probed():
    """The harness looks for programs, maps, links and uprobe events after each case; here also within a run."""
    before = h.kernel_objects()
    for _ in range(3):
        p.doctor()
    assert not h.left_objects(before)


@h.test
def usage():
    assert run("x").returncode == 2 and "unexpected" in run("x").stderr
    assert run("--jsno").returncode == 2 and "--json" in run("--jsno").stderr
    with open("/dev/full", "w", encoding="ascii") as full:
        for arguments in ((), ("--json",)):
            done = run(*arguments, stdout=full)
            assert done.returncode == 2 and "cannot write to stdout" in done.stderr, done


@h.test
def nobody():
    agrees = p.as_nobody()
    checks, commands = p.doctor(*agrees, status=p.CANNOT)
    for command in commands.values():
        assert command["causes"] == ["CAP_BPF", "CAP_PERFMON"], command
    line = refusal_of_a_run(agrees)
    assert "root" in line and "CAP_BPF and CAP_PERFMON" in line, line
    for name in ("bpf(2)", "uprobes", "multi-uprobe links", "uprobe sessions"):
        assert checks[name]["verdict"] == "info" and "not tried" in checks[name]["why"], checks[name]


@h.test
def no_btf():
    agrees_with_a_run(p.mounted("mount -t tmpfs none /sys/kernel/btf && mount -t tmpfs none /boot"), "BTF", "no BTF")


@h.test
def no_btf_but_an_empty_file():
    agrees_with_a_run(p.mounted("mount --bind /dev/null /sys/kernel/btf/vmlinux"), "BTF", "no BTF")


@h.test
def container_with_pids_of_its_own():
    agrees_with_a_run(p.own_pids(), "pid namespace", "separate pid namespace")


@h.test
def mappings_that_cannot_be_read():
    """Without CAP_SYS_PTRACE it tries to read those of others; a process may keep who does that waiting for ever."""
    with fusefs.serving("/bin/true") as server:
        shell = h.Workload("/usr/bin/unshare", "-p", "-f", "-m", "--mount-proc", "--kill-child", "sh", "-c",
                           f"sleep 600 & for pid in 1 $!; do mount --bind {server.path} /proc/$pid/maps || exit 9; done; "
                           "echo '{}'; read -r _; \"$@\"", "sh", *p.with_capabilities("bpf", "perfmon"), h.CPROF, "doctor", "--json")
        shell.says()
        server.stops_answering()
        said, _ = shell.process.communicate("\n", timeout=h.HANGS)
    row = next(row for row in json.loads(said)["checks"] if row["name"] == "CAP_SYS_PTRACE")
    assert row["verdict"] == "loss" and "processes of other users cannot be inspected" in row["why"], row


@h.test
def seccomp_that_refuses_bpf():
    for error in (1, 38):  # EPERM as docker says, ENOSYS as others do
        agrees_with_a_run(p.refusing(p.BPF, error=error), "bpf(2)", "seccomp filter refuses bpf(2)")


@h.test
def seccomp_that_refuses_perf_events():
    for error in (1, 38):
        agrees_with_a_run(p.refusing(p.PERF_EVENT_OPEN, error=error), "perf_event_open(2)",
                          "seccomp filter refuses perf_event_open(2)")


@h.test
def seccomp_that_refuses_something_else():
    checks, _ = p.doctor(*p.refusing(308), status=0)  # setns
    assert "filter" in checks["seccomp"]["value"], checks["seccomp"]


@h.test
def seccomp_that_refuses_filters_of_threads():
    """prctl(2) installs the filter of the process that parses; cprof's own takes seccomp(2): a run goes on without, and says so."""
    refusing = p.refusing(317)
    checks, commands = p.doctor(*refusing, status=0)
    row = checks["seccomp"]
    assert row["verdict"] == "loss" and "seccomp(2) refuses" in row["why"] and row["remedy"], row
    assert all(command["losses"] == ["seccomp"] for command in commands.values()), commands
    ended = h.cprof("record", "-F", "999", "--", h.workload("hot"), "0.2", run_as=refusing).wait()
    ended.profile()
    assert "cprof: the process that samples may use all system calls (seccomp is refused)" in ended.lines, ended.lines


@h.test
def root_that_cannot_become_nobody():
    """What a run warns of is what doctor says."""
    for missing, said in ("setuid", "not as nobody"), ("setgid", "is still in groups of cprof's user"):
        limited = ("setpriv", "--bounding-set", f"-{missing}")
        checks, commands = p.doctor(*limited, status=0)
        row = checks["user nobody"]
        assert row["verdict"] == "loss" and "CAP_SETUID or CAP_SETGID is missing" in row["why"], row
        assert checks[f"CAP_{missing.upper()}"]["verdict"] == "info", checks
        assert all(command["losses"] == ["user nobody"] for command in commands.values()), commands
        ended = h.cprof("record", "-F", "999", "--", h.workload("hot"), "0.2", run_as=limited).wait()
        assert ended.code == 0 and [line for line in ended.lines if said in line], ended.lines


@h.test
def hidden_kernel_symbols():
    """As kernel.kptr_restrict=2 hides them from root: a run says so once, with the remedy, and goes on."""
    folder = h.folder()
    with open(f"{folder}/kallsyms", "w", encoding="ascii") as file:
        file.write("0000000000000000 T _stext\n0000000000000000 T read_zero\n")
    with open(f"{folder}/two", "w", encoding="ascii") as file:
        file.write("2\n")
    hidden = p.mounted(f"mount --bind {folder}/kallsyms /proc/kallsyms && "
                       f"mount --bind {folder}/two /proc/sys/kernel/kptr_restrict")
    checks, commands = p.doctor(*hidden, status=0)
    row = checks["kernel symbols"]
    assert row["verdict"] == "loss" and row["commands"] == ["record -p", "record -a"], row
    assert commands["record -p"]["losses"] == ["kernel symbols"] and commands["heap"]["outcome"] == "works", commands
    run = h.cprof("record", "-F", "999", "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=64k", "count=50000",
                  run_as=hidden).wait()
    said = [line for line in run.lines if "kernel functions have no names" in line]
    assert said == ["cprof: kernel functions have no names: kernel.kptr_restrict is 2: "
                    "sudo sysctl kernel.kptr_restrict=1."], run.lines
    run.profile()


@h.test
def no_tracefs():
    """Neither tracefs nor debugfs is needed, by any of the commands."""
    bare = p.mounted("for x in /sys/kernel/tracing /sys/kernel/debug/tracing /sys/kernel/debug; do "
                     "umount $x 2>/dev/null; done; ! grep -qE '^[^ ]+ [^ ]+ (tracefs|debugfs)' /proc/self/mounts")
    checks, commands = p.doctor(*bare, status=0)
    assert checks["tracefs"]["verdict"] == "ok" and "tracefs not mounted" in checks["tracefs"]["value"], checks["tracefs"]
    assert all(command["outcome"] != "cannot" for command in commands.values()), commands
    h.cprof("record", "-F", "999", "--", h.workload("hot"), "0.5", run_as=bare).wait().profile()
    h.cprof("heap", "--rate", "1", "--", h.workload("allocs"), "5", "now", run_as=bare).wait().profile()


h.main()
