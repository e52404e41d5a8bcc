# SPDX-License-Identifier: BSD-2-Clause
"""Ways to run cprof with less than root has: a set of capabilities, a namespace without something, a seccomp filter."""
import ctypes
import json
import os
import struct
import subprocess
import sys

import harness as h

CANNOT = 4
RECORD = ("bpf", "perfmon")
FILES = ("sys_ptrace", "dac_read_search", "checkpoint_restore")
WHOLE = (*RECORD, *FILES, "syslog")


def with_capabilities(*names, uid=h.NOBODY):
    """A command prefix: nobody (or another user), with these capabilities alone."""
    chosen = ",".join(["-all", *(f"+{name}" for name in names)])
    return ("setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups", "--bounding-set", chosen,
            "--inh-caps", chosen, "--ambient-caps", chosen)


def without(names, one):
    return tuple(name for name in names if name != one)


def as_nobody():
    return ("setpriv", "--reuid", str(h.NOBODY), "--regid", str(h.NOBODY), "--clear-groups")


def mounted(script):
    """A command prefix: a mount namespace of its own, after these shell commands."""
    return ("unshare", "-m", "sh", "-c", f'{script} && exec "$@"', "sh")


def own_pids():
    """A command prefix: a pid namespace of its own, as in a container."""
    return ("unshare", "-p", "-f", "--kill-child", "--mount-proc")


def refusing(*syscalls, error=1):
    """A command prefix: a seccomp filter under which these system calls fail with an errno (EPERM)."""
    return (sys.executable, os.path.abspath(__file__), str(error), *map(str, syscalls), "--")


REFUSE = r"""
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
steps = [(0x20, 0, 0, 0), (0x15, 3, 0, 317), (0x15, 0, 3, 157), (0x20, 0, 0, 16), (0x15, 0, 1, 22), (0x06, 0, 0, 0x00050001),
         (0x06, 0, 0, 0x7fff0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *step) for step in steps))
program = struct.pack("<HxxxxxxQ", len(steps), ctypes.addressof(code))
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.c_char_p(program)) == 0
os.execvp(sys.argv[1], sys.argv[1:])
"""


def refusing_filters():
    """A command prefix: prctl(PR_SET_SECCOMP) and seccomp(2) fail, as in some containers."""
    return (sys.executable, "-c", REFUSE)


HOLD_LOCKED_MEMORY = """
import ctypes, mmap, os, struct, sys
libc, held = ctypes.CDLL(None, use_errno=True), []
libc.syscall.restype = ctypes.c_long
for nr_pages in (65, 3):
    while True:
        attr = struct.pack("IIQ", 1, 112, 9) + bytes(24) + struct.pack("Q", 1 | 1 << 5 | 1 << 6) + bytes(64)
        fd = libc.syscall(298, ctypes.c_char_p(attr), 0, -1, -1, 0)
        if fd < 0:
            sys.exit("no perf event: " + os.strerror(ctypes.get_errno()))
        try:
            held.append((fd, mmap.mmap(fd, nr_pages * mmap.PAGESIZE)))
        except PermissionError:
            break
        if len(held) > 900:
            sys.exit("there is no limit")
print("held", flush=True)
sys.stdin.read()
"""


def holding_locked_memory(uid):
    """A process of this user that leaves no memory to lock, by dummy perf events with rings; ends with its stdin."""
    holder = subprocess.Popen(["prlimit", "--memlock=0:0", *with_capabilities("perfmon", uid=uid), sys.executable, "-c",
                               HOLD_LOCKED_MEMORY], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
    line = holder.stdout.readline()
    if line != "held\n":
        raise h.Skip(f"NOT RUN: {holder.communicate()[1].strip().splitlines()[-1]}")
    return holder


def doctor(*run_as, status=None):
    """What cprof doctor says: {check: row}, {command: row}."""
    done = subprocess.run([*run_as, h.CPROF, "doctor", "--json"], capture_output=True, text=True, timeout=h.HANGS,
                          check=False, stdin=subprocess.DEVNULL)
    assert done.returncode in (0, CANNOT) and not done.stderr, done
    said = json.loads(done.stdout)
    commands = {row["name"]: row for row in said["commands"]}
    cannot = any(row["outcome"] == "cannot" for row in commands.values())
    assert done.returncode == (CANNOT if cannot else 0), (done.returncode, commands)
    assert status is None or done.returncode == status, (done.returncode, commands)
    return {row["name"]: row for row in said["checks"]}, commands


BPF, PERF_EVENT_OPEN = 321, 298
ARCH_NR, NR, ARCH_X86_64 = 4, 0, 0xc000003e


def install_filter(error, syscalls):
    """prctl(PR_SET_SECCOMP): BPF of the classic kind, linux/filter.h and linux/seccomp.h."""
    allow, refuse = 0x7fff0000, 0x00050000 | error
    load, jump_if_equal, result = 0x20, 0x15, 0x06
    code = [(load, 0, 0, NR)]
    for i, number in enumerate(syscalls):
        code.append((jump_if_equal, len(syscalls) - i, 0, number))
    code += [(result, 0, 0, allow), (result, 0, 0, refuse)]
    packed = b"".join(struct.pack("HBBI", *each) for each in code)
    buffer = ctypes.create_string_buffer(packed)
    program = struct.pack("HxxxxxxQ", len(code), ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.c_char_p(program), 0, 0):
        sys.exit(f"no seccomp filter: {os.strerror(ctypes.get_errno())}")


if __name__ == "__main__":
    split = sys.argv.index("--")
    install_filter(int(sys.argv[1]), [int(word) for word in sys.argv[2:split]])
    os.execvp(sys.argv[split + 1], sys.argv[split + 1:])
