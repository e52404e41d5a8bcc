#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The commands that read profiles: what each may still do when it reads the first byte of one, and what that breaks."""
import errno
import json
import os
import re
import shutil
import stat
import subprocess
import time

import harness as h
import helpers
import privileges as p

PROFILE = os.path.join(h.ROOT, "tests", "e2e", "recorded", "steps.1.pb.gz")
NOT_READERS = {"record", "heap", "doctor"}
DAC_READ_SEARCH = 1 << 2
LANDLOCK_CREATE_RULESET, FACCESSAT2 = 444, 439


def readers():
    """All commands but those that are known not to read profiles, so that a new one is tried as well."""
    text = h.run_cprof("--list-options").stdout
    rows = [line.split("\t") for line in text.splitlines()]
    names = {name for name, about in rows if not about.startswith("alias of")} - {"help", "version"}
    assert NOT_READERS < names and {"top", "merge", "flame", "bench"} <= names, names
    return sorted(names - NOT_READERS)


def arguments(command, path):
    """A command line that reads the profile; a command that is not here reads its operand."""
    files = {"peek": ["parse", path], "diff": [path, PROFILE], "check": ["--single", "--base", path, "--head", PROFILE]}
    outputs = {"merge": ["-o", "-"], "symbolize": ["-o", "-"], "convert": ["-o", "-"], "flame": ["-o", "-"]}
    return [h.CPROF, command, *files.get(command, [path]), *outputs.get(command, [])]


def starts(command, **options):
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    h.running.append(process)
    return process


def opened(path, process):
    """The writing end of a FIFO once somebody has opened it to read; None: the process has ended."""
    end = time.monotonic() + h.HANGS
    while process.poll() is None:
        assert time.monotonic() < end, "it does not read"
        try:
            return os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            assert error.errno == errno.ENXIO, error
            time.sleep(0.005)
    return None


def while_reading(command, **options):
    """/proc/PID/status when a FIFO has been opened for reading, which then is the profile; what becomes of it."""
    fifo = os.path.join(h.folder(), "fifo")
    os.mkfifo(fifo)
    process, found = starts(command(fifo), **options), None
    if (fd := opened(fifo, process)) is not None:
        found = helpers.status(process.pid)
        os.set_blocking(fd, True)
        with open(PROFILE, "rb") as file:
            os.write(fd, file.read())
        os.close(fd)
    out, err = process.communicate(timeout=h.HANGS)
    return found, process.returncode, out, err.decode()


def is_confined(found, capabilities=0):
    assert found["NoNewPrivs"] == "1" and found["Seccomp"] == "2", found
    for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(found[kind], 16) & ~capabilities == 0, (kind, found)


@h.test
@h.confined
def each_is_confined_before_it_reads():
    """As root: no capability, no new privileges, a filter; and it does what it is there for."""
    for command in readers():
        if command == "bench":
            continue
        found, code, out, err = while_reading(lambda path, command=command: arguments(command, path))
        assert found, (command, err)
        is_confined(found)
        codes = {"check": (0, 3), "lint": (0, 1)}.get(command, (0,))  # of one run a side; of what it finds
        said = [line for line in err.splitlines() if command != "symbolize" or " addresses have " not in line]
        assert code in codes and (out or command == "lint") and not said, (command, code, err)


@h.test
@h.confined
def bench_is_confined():
    """The process that reads the profiles is; the one that records keeps what it needs."""
    folder, temporary = h.folder(), h.folder()
    marks = [os.path.join(folder, side) for side in ("base", "head")]
    gate = os.path.join(folder, "gate")
    os.mkfifo(gate)
    commands = [f"touch {mark}; {h.workload('hot')} 0.2; cat {gate}" for mark in marks]
    process = starts([h.CPROF, "bench", "--warm-up", "0", "--reps", "1", "--min-samples", "1", "--single", "--base",
                      commands[0], "--head", commands[1]], env={**os.environ, "TMPDIR": temporary})
    nr_opened = 0
    while (fd := opened(gate, process)) is not None:
        if not nr_opened:
            is_confined(helpers.status(process.pid))
            launcher, = [pid for pid in h.children(process.pid) if helpers.status(pid)["PPid"] == str(process.pid)]
            found = helpers.status(launcher)
            assert found["Seccomp"] == helpers.status("self")["Seccomp"] and int(found["CapEff"], 16), found
        nr_opened += 1
        os.close(fd)
        time.sleep(0.05)
    out, err = process.communicate(timeout=h.HANGS)
    assert nr_opened and all(os.path.exists(mark) for mark in marks), err
    assert process.returncode in (0, 1, 3) and b"verdict" in out, (process.returncode, out, err)
    assert not os.listdir(temporary), "its folder is left"


FORBIDDEN = {"execve", "execveat", "fork", "vfork", "socket", "socketpair", "connect", "bind", "sendto", "sendmsg",
             "ptrace", "kill", "mount", "umount2", "bpf", "perf_event_open", "process_vm_readv", "process_vm_writev",
             "io_uring_setup", "keyctl", "add_key", "setuid", "setresuid", "setns", "unshare", "chroot", "pidfd_open",
             "init_module", "finit_module", "memfd_create", "userfaultfd"}


def calls_after_filter(trace):
    """Lines of strace -f: those of threads of the process that has installed a filter."""
    is_behind, found = False, []
    with open(trace, encoding="utf-8", errors="replace") as file:
        for line in file:
            text = re.sub(r"^\d+ +", "", line).strip()
            if is_behind and re.match(r"\w+\(", text):
                found.append(text)
            is_behind |= text.startswith("prctl(PR_SET_SECCOMP")
    return found


@h.test
@h.confined
def their_system_calls():
    """None that is forbidden is tried, and none that is needed fails: of what is refused, libc knows clone3 alone."""
    if not shutil.which("strace"):
        raise h.Skip("no strace")
    path, folder = shutil.copy(PROFILE, h.folder()), h.folder()
    second = shutil.copy(PROFILE, h.folder())
    lines = {command: [arguments(command, path)] for command in readers() if command != "bench"}
    lines["merge"] += [[h.CPROF, "merge", path, second, "-o", f"{folder}/merged.pb.gz"],
                       [h.CPROF, "merge", "--split", "pid", path, "-o", f"{folder}/parts"]]
    lines["diff"].append([h.CPROF, "diff", path, second, "-o", f"{folder}/diff.pb.gz"])
    lines["flame"] += [[h.CPROF, "flame", path, "-b", second, "-o", f"{folder}/flame.{kind}"] for kind in ("html", "svg")]
    for name in h.formats():
        lines["convert"].append([h.CPROF, "convert", path, "--to", name, "-o", f"{folder}/converted.{name}"])
    lines["check"].append([h.CPROF, "check", "--single", "--base", path, "--head", second, f"--json={folder}/x.json",
                           f"--markdown={folder}/x.md", f"--junit={folder}/x.xml", f"--sarif={folder}/x.sarif"])
    trace = os.path.join(h.folder(), "trace")
    for command, each in lines.items():
        for line in each:
            # its worker has a filter of its own, and may use the sockets
            follow, allowed = ([], {"sendmsg", "socketpair"}) if command == "symbolize" else (["-f"], set())
            done = subprocess.run(["strace", *follow, "-qq", "-o", trace, *line], capture_output=True, timeout=h.HANGS,
                                  stdin=subprocess.DEVNULL, check=False)
            # the profile has no source lines, so it cannot be written as afdo
            assert done.returncode in (0, 1, 3) or (line[-1].endswith(".afdo") and done.returncode == 2), (line, done.stderr)
            calls = calls_after_filter(trace)
            assert any("exit_group" in call for call in calls), (line, calls[-5:])
            for call in calls:
                name = call.split("(")[0]
                is_process = name == "clone" and "CLONE_THREAD" not in call
                assert name not in FORBIDDEN - allowed and not is_process, (line, call)
                assert name == "clone3" or not re.search(r"= -1 (ENOSYS|EPERM|EACCES)", call), (line, call)


def sudo(**others):
    return {**os.environ, "SUDO_UID": str(h.NOBODY), "SUDO_GID": str(h.NOBODY), **others}


def folder_of_nobody():
    """One that only nobody may enter, with a profile in it that only nobody may read."""
    folder = h.folder()
    path = shutil.copy(PROFILE, os.path.join(folder, "p.pb.gz"))
    for each in (path, folder):
        os.chown(each, h.NOBODY, h.NOBODY)
    os.chmod(path, 0o600)
    os.chmod(folder, 0o700)
    return folder


@h.test
@h.confined
def files_of_the_user_behind_sudo():
    """Root reads and writes in a folder of another user, with no more capabilities than that takes."""
    folder = folder_of_nobody()
    options = {"env": sudo(), "cwd": folder}
    for line in (["top", "p.pb.gz"], ["top"], ["info", "p.pb.gz"], ["diff", "p.pb.gz", f"{folder}/p.pb.gz"]):
        done = subprocess.run([h.CPROF, *line], capture_output=True, text=True, timeout=h.HANGS, check=False, **options)
        assert done.returncode == 0 and done.stdout, (line, done)
    found, code, out, err = while_reading(
        lambda path: [h.CPROF, "merge", "p.pb.gz", path, "-o", "-"], **options)
    assert code == 0 and out, err
    is_confined(found, DAC_READ_SEARCH)
    for line in (["flame", "p.pb.gz", "-o", "x.html"], ["convert", "p.pb.gz", "-o", "x.folded", "-o", f"{folder}/x.svg"],
                 ["merge", "p.pb.gz", "-o", "x.pb.gz"], ["merge", "p.pb.gz", "--split", "pid", "-o", "parts"],
                 ["flame", "p.pb.gz", "-o", "x.html"],
                 ["check", "--single", "--base", "p.pb.gz", "--head", "p.pb.gz", "--markdown=x.md"]):
        done = subprocess.run([h.CPROF, *line], capture_output=True, text=True, timeout=h.HANGS, check=False, **options)
        assert done.returncode in (0, 3) and "cannot" not in done.stderr, (line, done)
    made = {"x.html", "x.folded", "x.svg", "x.pb.gz", "x.md", "parts"}
    assert made <= set(os.listdir(folder)), os.listdir(folder)
    for name in made:
        assert os.stat(os.path.join(folder, name)).st_uid == h.NOBODY, name


@h.test
def bench_for_the_user_behind_sudo():
    folder = folder_of_nobody()
    done = h.run_cprof("bench", "--warm-up", "0", "--reps", "1", "--single", "--keep", "kept", "--json", "-", "--base",
                       f"{h.workload('hot')} 0.3", "--head", f"{h.workload('hot')} 0.3", "--min-samples", "1",
                       status=(0, 1, 3), env=sudo(), cwd=folder)
    assert json.loads(done.stdout)["base"]["runs"] == 1, done
    kept = os.stat(os.path.join(folder, "kept", "run.head.1.pb.gz"))
    assert kept.st_uid == h.NOBODY and stat.S_IMODE(kept.st_mode) == 0o600, kept


@h.test
def an_output_that_is_there():
    """Where it is replaced the command is confined as elsewhere: it writes in that folder alone."""
    out = os.path.join(h.folder(), "x.pb.gz")
    for _ in range(2):
        done = h.run_cprof("merge", "-v", PROFILE, "-o", out)
        assert "sandbox" not in done.stderr, done.stderr


def top(*options, run_as=()):
    return subprocess.run([*run_as, h.CPROF, "top", *options, PROFILE], capture_output=True, text=True, timeout=h.HANGS,
                          stdin=subprocess.DEVNULL, check=False)


@h.test
def without_a_sandbox():
    """Asked for, nothing is given up, and that is said."""
    found, code, out, err = while_reading(lambda path: [h.CPROF, "top", "--no-sandbox", path])
    assert code == 0 and out and found["Seccomp"] == helpers.status("self")["Seccomp"], (err, found)
    assert found["CapEff"] == helpers.status("self")["CapEff"], found
    assert err.startswith("cprof: --no-sandbox: profiles are parsed with all privileges") and err.count("\n") == 1, err


@h.test
def a_kernel_without_landlock():
    """The filter is there; -v tells of the loss, in one line."""
    for error in (errno.ENOSYS, errno.EOPNOTSUPP):
        run_as = p.refusing(LANDLOCK_CREATE_RULESET, error=error)
        quiet, told = top(run_as=run_as), top("-v", run_as=run_as)
        assert quiet.returncode == told.returncode == 0 and quiet.stdout == told.stdout, (quiet, told)
        assert not quiet.stderr and told.stderr.count("\n") == 1 and "landlock" in told.stderr, (quiet, told)


@h.test
def a_kernel_that_does_not_tell_of_access():
    """faccessat2 came with Linux 5.8: without it capabilities for files stay, and all works."""
    done = top(run_as=p.refusing(FACCESSAT2, error=errno.ENOSYS))
    assert done.returncode == 0 and done.stdout and not done.stderr, done


@h.test
@h.confined
def a_container_that_refuses_filters():
    """Root is refused, in one line that says what to type; another user, who has less to lose, gets a warning and goes on."""
    done = top(run_as=p.refusing_filters())
    assert done.returncode == p.CANNOT and not done.stdout and done.stderr.count("\n") == 1, done
    assert "(seccomp is refused)" in done.stderr and "--no-sandbox" in done.stderr, done
    done = top("--no-sandbox", run_as=p.refusing_filters())
    assert done.returncode == 0 and done.stdout, done
    done = top(run_as=(*p.as_nobody(), *p.refusing_filters()))
    assert done.returncode == 0 and done.stdout, done
    assert "(seccomp is refused)" in done.stderr and done.stderr.count("\n") == 1, done


h.main()
