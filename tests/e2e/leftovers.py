# SPDX-License-Identifier: BSD-2-Clause
"""What a case of an end-to-end test has left behind: BPF objects, uprobes, bytes in code, processes.

Other people trace this machine, too. Only what is of cprof's kind, is new since the case began, stays,
and is held by no process of somebody else counts as left.
"""
import ctypes
import errno
import functools
import glob
import json
import os
import shutil
import signal
import struct
import time

from judges import HANGS, ROOT, silent

BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build"))

# In the kernel -----------------------------------------------------------------------------------

def listed(kind, tries=10):
    """What bpftool lists. It fails if something of it goes while it looks: then it looks again."""
    bpftool = shutil.which("bpftool", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    try:
        return json.loads(silent([bpftool, "-j", kind, "list"], kind) or "[]")
    except AssertionError:
        if tries == 1:
            raise
        time.sleep(0.05)
        return listed(kind, tries - 1)


libc = ctypes.CDLL(None, use_errno=True)
SYS_BPF, GET_INFO, PROG_ARRAY = 321, 15, 3
# bpf(2)'s commands for the next id and for a descriptor of one, how struct bpf_*_info begins, and what of it is looked at.
KINDS = {"prog": (11, 13, struct.Struct("<64x16s"), ("name",)),
         "map": (12, 14, struct.Struct("<I20x16s"), ("type", "name")),
         "link": (31, 30, struct.Struct("<8xI"), ("prog_id",))}


def bpf(command, attributes):
    """bpf(2). -1: there is no such object, or no more, or (EAGAIN) a link that is not made yet."""
    result = libc.syscall(SYS_BPF, command, attributes, len(attributes))
    if result < 0 and ctypes.get_errno() not in (errno.ENOENT, errno.EAGAIN):
        raise OSError(ctypes.get_errno(), f"bpf(2), command {command}")
    return result


def objects(kind):
    """(id, {what: value}) of each object of a kind: for what is asked before and behind each case bpftool is too slow."""
    next_id, open_id, layout, names = KINDS[kind]
    attributes = ctypes.create_string_buffer(12)
    while bpf(next_id, attributes) >= 0:
        number = struct.unpack_from("<I", attributes, 4)[0]
        info = ctypes.create_string_buffer(layout.size)
        fd = bpf(open_id, ctypes.create_string_buffer(struct.pack("<3I", number, 0, 0), 12))
        if fd >= 0:
            try:
                bpf(GET_INFO, ctypes.create_string_buffer(struct.pack("<IIQ", fd, layout.size, ctypes.addressof(info)), 16))
            finally:
                os.close(fd)
            yield number, {name: value.rstrip(b"\0").decode("ascii", "replace") if isinstance(value, bytes) else value
                           for name, value in zip(names, layout.unpack(info))}
        struct.pack_into("<I", attributes, 0, number)


@functools.cache
def names_of_ours():
    """What cprof's programs and maps are called in the kernel, which keeps 15 bytes of a name."""
    objects_of_ours = sorted(glob.glob(os.path.join(BUILD, "gen", "*.bpf.o")))
    symbols = silent(["nm", "--format=just-symbols", "--defined-only", *objects_of_ours], "BPF objects")
    return {name[:15] for name in [*symbols.split(), "slab"] if not name.endswith(":")}


def is_ours(item, programs):
    """Other people's objects come and go, and not all are held by a process: systemd has programs for
    its control groups. A link has no name, but a program."""
    name = item.get("name", "")
    return (name in names_of_ours() or name.startswith(("cprof_bp", ".rodata", ".bss"))
            or item.get("prog_id") in programs)


def kernel_objects():
    """The BPF programs, maps and links of cprof's kind that there are, and the uprobe events, as a set of
    names."""
    found, programs = set(), set()
    for kind in ("prog", "map", "link"):
        ours = {number for number, item in objects(kind) if is_ours(item, programs)}
        programs = ours if kind == "prog" else programs
        found |= {f"{kind}_id:\t{number}" for number in ours}
    try:
        with open("/sys/kernel/tracing/uprobe_events", encoding="utf-8") as file:
            found |= {f"uprobe event {line.strip()}" for line in file}
    except OSError:
        pass  # not mounted: libbpf has no such events then
    return found


def held_by_others(found):
    """Those of them that a process of somebody else holds: other people trace, too."""
    ours = {os.getpid(), *children(os.getpid())}
    others = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if int(pid) in ours:
            continue
        try:
            for fd in os.listdir(f"/proc/{pid}/fdinfo"):
                with open(f"/proc/{pid}/fdinfo/{fd}", encoding="utf-8", errors="replace") as file:
                    others |= found & set(file.read().splitlines())
        except OSError:
            continue  # gone meanwhile
    return others


def other_cprofs():
    """Processes that run a cprof of somebody else: what their maps hold, nobody's descriptor shows."""
    ours = {os.getpid(), *children(os.getpid())}
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
                if file.read().strip() == "cprof" and int(pid) not in ours:
                    found.add(int(pid))
        except OSError:
            continue
    return found


PROGRAM_ARRAYS = 9  # of one run: three of keepstack.bpf.h, one of runtime.bpf.c, one of shadow.bpf.h for each of five runtimes
SECONDS_TO_FREE = 2  # program arrays that stay longer are lost


def are_program_arrays(found):
    """And nothing else: what of cprof's would hold one is not there."""
    return set(found) <= {f"map_id:\t{number}" for number, item in objects("map") if item["type"] == PROG_ARRAY}


def are_lost(found, nr_lost):
    """The kernel can lose a reference to a program array if somebody lists maps at the moment it goes: each last
    descriptor, cprof's and the lister's, takes one for work (prog_array_map_clear()) that is queued only once."""
    return 0 < len(found) <= nr_lost and are_program_arrays(found)


def stray_objects(before, seconds, nr_lost=0):
    """What is there after a case, stays, and is held by nobody: the kernel frees in its own time, and
    what another tracer of this machine has made meanwhile is none of ours. And who ran a cprof beside
    us: then the owner of a map without a descriptor is not known. Nobody waits for what is lost."""
    start = time.monotonic()
    left = kernel_objects() - before
    crowd = other_cprofs() if left else set()
    while left and not crowd and time.monotonic() < start + seconds:
        left -= held_by_others(left)
        crowd |= other_cprofs()
        time.sleep(0.1)
        left &= kernel_objects()
        if time.monotonic() > start + SECONDS_TO_FREE and are_lost(left, nr_lost):
            break
    return sorted(left), sorted(crowd)


def left_objects(before, seconds=HANGS, nr_lost=PROGRAM_ARRAYS):
    """What a case has left in the kernel."""
    return problems_of(*stray_objects(before, seconds, nr_lost), nr_lost)


unjudged = []  # what was left in a crowd


def problems_of(left, crowd, nr_lost=PROGRAM_ARRAYS):
    """In a crowd what is left is said, not judged. So are up to nr_lost program arrays that are lost."""
    if are_lost(left, nr_lost):
        print(f"# the kernel has lost program arrays: {left}")
        return []
    if left and crowd:
        print(f"# other cprofs ran beside this ({crowd}): {len(left)} objects may be theirs, {left[0]} ...")
        unjudged.append(left)
        return []
    return [f"{name} is left" for name in left]


# In code -----------------------------------------------------------------------------------------

def code_of(pid):
    """The code that a process has mapped: (address, length, offset in the file, path of the file)."""
    try:
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="surrogateescape") as file:
            rows = [line.split(maxsplit=5) for line in file]
    except OSError:
        return
    for span, access, offset, _, inode, *_ in rows:
        start, end = (int(word, 16) for word in span.split("-"))
        path = f"/proc/{pid}/map_files/{start:x}-{end:x}"
        if "x" not in access or inode == "0" or not os.path.isfile(path):
            continue
        yield start, end - start, int(offset, 16), path


def changed_bytes(pid):
    """How many bytes of a process's code are not those of its files: a probe is a breakpoint, or a call."""
    count = 0
    for start, length, offset, path in code_of(pid):
        try:
            with open(path, "rb") as file, open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
                file.seek(offset)
                memory.seek(start)
                code, now = file.read(length), memory.read(length)
        except OSError:
            continue  # it has ended, or its file is shorter by now
        if code != now[:len(code)]:
            count += sum(a != b for a, b in zip(code, now))
    return count


def left_probes(pids, seconds=HANGS):
    """What of a case's probes stays in the code of processes that live. In a crowd that is said, not judged."""
    end = time.monotonic() + seconds
    while True:
        left, crowd = {pid: nr for pid in pids if (nr := changed_bytes(pid))}, other_cprofs()
        if not left:
            return []
        if crowd:
            print(f"# other cprofs run beside this ({sorted(crowd)}): the probes in {sorted(left)} may be theirs")
            return []
        if time.monotonic() > end:
            return [f"{nr} bytes of the code of {command_line(pid)} are not those of its files" for pid, nr in left.items()]
        time.sleep(0.05)


# Processes ---------------------------------------------------------------------------------------

outliving = set()  # what serves more than one case, with all that it has started: it is not left, and ends with us


def children_of(pid):
    """Those that the kernel lists of each of its threads."""
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", encoding="utf-8") as file:
                yield from map(int, file.read().split())
    except (FileNotFoundError, ProcessLookupError):
        assert os.path.exists(f"/proc/self/task/{os.getpid()}/children"), "the kernel does not list children"


def lives(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def children(pid, without=()):
    """All descendants of a process that live (zombies do not), but for some and theirs."""
    found, front = [], [pid]
    while front:
        front = [child for parent in front for child in children_of(parent) if child not in without and lives(child)]
        found += front
    return found


def command_line(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return f"{pid} ({file.read().replace(bytes(1), b' ').decode('utf-8', 'replace').strip()})"
    except OSError:
        return f"{pid} (gone)"


def kill_and_reap(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0]:
                continue
        except ChildProcessError:
            break
        if not any(os.path.exists(f"/proc/{pid}") for pid in pids):
            break
        time.sleep(0.01)


def left_processes(seconds=HANGS):
    """What a case has left running. Being orphaned, they are our children: we are a subreaper."""
    end = time.monotonic() + seconds
    while (left := children(os.getpid(), outliving)) and time.monotonic() < end:
        time.sleep(0.05)
    names = [command_line(pid) for pid in left]
    kill_and_reap(left)
    return [f"process {name} is left" for name in names]
