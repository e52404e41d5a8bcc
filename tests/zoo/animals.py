# SPDX-License-Identifier: BSD-2-Clause
"""The animals of the hostile zoo: each is a context in which programs do to cprof what they can.

    @animal
    def fifo(place):
        \"\"\"what it does, in a line\"\"\"
        ...
        yield lambda: "what became of it"

place has the folder that everybody may enter, how long it is to last, and how much of it there is to be. An animal may ask there
for functions that have to have their names, and for capabilities that cprof is to do without. All programs but those that need
root run as nobody, with the lowest priority: what an innocent neighbour gets of the machine is not the subject. Nothing of a
file whose names hold SECRET may be seen anywhere.
"""
import contextlib
import ctypes
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(FOLDER), "e2e"))
import harness as h  # noqa: E402 (its folder is known only now)
import crafted  # noqa: E402
import fusefs  # noqa: E402
import turns  # noqa: E402

SECRET = "cprof_secret_marker"
SPARSE_BYTES = 1 << 40
LIMITS = ("prlimit", "--core=0", "--")
AS_NOBODY = ("setpriv", "--reuid", str(h.NOBODY), "--clear-groups", "--")
NR_SWAPS, NR_CRAFTED = 10000, 10000  # in a minute
LONG = 30  # seconds, from which on it is asserted that all of it has happened

animals = {}
busy = set()  # pids of the programs of an animal that run code all the time
IDLE = {"exchange", "cut"}


class Place:
    def __init__(self, seconds):
        self.seconds, self.is_long = seconds, seconds >= LONG
        self.folder = h.folder()
        self.shows = set()    # functions that a profile of so much time holds
        self.without = ()     # capabilities
        os.chmod(self.folder, 0o755)
        busy.clear()

    def part(self, nr_in_a_minute):
        return max(int(nr_in_a_minute * min(self.seconds, 60) / 60), 1)

    def path(self, name):
        return os.path.join(self.folder, name)

    def library(self, name, function="innocent"):
        return crafted.library(self.path(name), function)

    def secret(self, name="secret"):
        """As a library, of root's alone."""
        path = self.library(name, SECRET)
        os.chmod(path, 0o600)
        return path


def animal(function):
    animals[function.__name__] = contextlib.contextmanager(function), function.__doc__.splitlines()[0]
    return function


def hostile(*arguments, as_nobody=True, within=()):
    who = AS_NOBODY if as_nobody else ()
    program = h.Workload("/usr/bin/prlimit", *LIMITS[1:], *who, *within, h.workload("hostile"), *arguments)
    program.says()
    if arguments[0] not in IDLE:
        busy.add(program.pid)
    return program


def nr_run(program):
    """In how many files it has run."""
    program.process.send_signal(signal.SIGUSR1)
    return program.says()["files"]


def lives(*programs):
    for program in programs:
        assert program.process.poll() is None, f"{program.process.args} has ended: {program.process.returncode}"


# What takes the place of a file -------------------------------------------------------------------

def make_fifo(path, _):
    os.mkfifo(path, 0o666)


def make_device(path, _):
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 5))  # /dev/zero: it never ends
    except PermissionError:
        raise h.Skip("no device can be made here") from None


def make_socket(path, _):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)


def make_folder(path, _):
    os.mkdir(path)


def make_sparse(path, _):
    with open(path, "wb") as file:
        file.truncate(SPARSE_BYTES)


def make_link(path, secret):
    os.symlink(secret, path)


KINDS = {"fifo": make_fifo, "device": make_device, "socket": make_socket, "directory": make_folder,
         "1 TB sparse": make_sparse, "link": make_link}


@animal
def shapes(place):
    """a FIFO, a device, a socket, a directory, a sparse file of 1 TB and a link to a secret in place of a program's file"""
    secret, programs = place.secret(), []
    for i, (kind, make) in enumerate(KINDS.items()):
        path = place.library(f"shape{i}.so")
        programs.append(hostile("stay", path, crafted.CODE))
        os.unlink(path)
        make(path, secret)
    sparse = place.library("sparse.so")
    os.truncate(sparse, SPARSE_BYTES)
    programs += [hostile("stay", sparse, crafted.CODE), hostile("stay", "/dev/zero", 0)]
    yield lambda: lives(*programs) or f"{len(programs)} programs: {', '.join(KINDS)}; mapped: 1 TB sparse, /dev/zero"


@animal
def perf_maps(place):
    """the same in place of /tmp/perf-PID.map"""
    secret = place.path("secret.map")
    with open(secret, "w", encoding="ascii") as file:
        file.write(f"1000 7fffffffffff {SECRET}\n")
    os.chmod(secret, 0o600)
    programs, paths = [], []
    try:
        for make in KINDS.values():
            programs.append(hostile("stay", "", 0))
            paths.append(f"/tmp/perf-{programs[-1].pid}.map")
            make(paths[-1], secret)
            os.lchown(paths[-1], h.NOBODY, h.NOBODY)
        yield lambda: lives(*programs) or f"{len(programs)} programs with code in anonymous memory"
    finally:
        for path in paths:
            with contextlib.suppress(FileNotFoundError):
                os.rmdir(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)


def exchanges(place):
    """Two folders that a program maps a file of again and again: a new copy, or what is there instead."""
    secret, original, pairs = place.secret(), place.library("public.so"), []
    for i in range(2):
        folder = place.path(f"mapped{i}")
        os.mkdir(folder)
        shutil.copy(original, os.path.join(folder, "lib.so"))
        other = place.path(f"other{i}")
        if i:
            os.symlink(secret, other)
        else:
            os.rename(shutil.copy(secret, other + ".new"), other)
            os.chmod(other, 0o600)
        pairs.append((folder, os.path.join(folder, "lib.so"), other))
    programs = [hostile("files", folder, crafted.CODE) for folder, _, _ in pairs]
    programs += [hostile("stay", path, crafted.CODE) for _, path, _ in pairs]
    nr = place.part(NR_SWAPS) // 2
    loops = [hostile("exchange", path, other, nr, place.seconds / 2, original, as_nobody=False) for _, path, other in pairs]
    place.shows.add("innocent")

    def seen():
        lives(*programs, *loops)
        done = sum(loop.says()["exchanged"] for loop in loops)
        assert done == 2 * nr, done
        files = sum(map(nr_run, programs[:2]))
        assert files or not place.is_long, "no copy was ever run"
        return f"{done:,} exchanges, {files:,} times a copy was run"
    return seen


@animal
def swaps(place):
    """a loop of 10,000 exchanges in a minute between a program's file, a new copy each time, and a link to a secret or the secret"""
    yield exchanges(place)


@animal
def swaps_by_path(place):
    """the same, and cprof may not follow /proc/PID/map_files: it opens what has the name now"""
    place.without = ("checkpoint_restore", "sys_admin")
    yield exchanges(place)


@animal
def cuts(place):
    """files that are cut and restored all the time while they are read"""
    folder = place.path("cut")
    os.mkdir(folder)
    original = place.library("whole.so")
    with open(original, "ab") as file:  # it takes a while to read
        file.write(bytes(512 << 10))
    paths = [shutil.copy(original, os.path.join(folder, f"cut{i}.so")) for i in range(4)]
    cutters = [hostile("cut", path, original, as_nobody=False) for path in paths]
    programs = [hostile("files", folder, crafted.CODE)]
    yield lambda: lives(*programs, *cutters) or f"{len(paths)} files"


# Memory and files that do not answer --------------------------------------------------------------

SYS_USERFAULTFD = 323


def needs_userfaultfd():
    fd = ctypes.CDLL(None, use_errno=True).syscall(SYS_USERFAULTFD, os.O_CLOEXEC)
    if fd < 0:
        raise h.Skip("no userfaultfd(2) here")
    os.close(fd)


@animal
def hidden_memory(place):
    """code, a stack, and a library with a malloc in userfaultfd memory, of which pages never come"""
    needs_userfaultfd()
    programs = [hostile("hidden", as_nobody=False) for _ in range(2)]
    programs.append(hostile("memfd", place.library("lib.so"), "-", as_nobody=False))
    yield lambda: lives(*programs) or f"{len(programs)} programs"


JVM = ("gHotSpotVMStructs gHotSpotVMStructEntryArrayStride gHotSpotVMStructEntryTypeNameOffset "
       "gHotSpotVMStructEntryFieldNameOffset gHotSpotVMStructEntryTypeStringOffset gHotSpotVMStructEntryIsStaticOffset "
       "gHotSpotVMStructEntryOffsetOffset gHotSpotVMStructEntryAddressOffset gHotSpotVMTypes "
       "gHotSpotVMTypeEntryArrayStride gHotSpotVMTypeEntryTypeNameOffset gHotSpotVMTypeEntrySizeOffset").split()


@animal
def forged_jvms(place):
    """a libjvm.so whose structures lie: garbage, endless, and in userfaultfd memory whose pages never come"""
    needs_userfaultfd()
    path = place.path("libjvm.so")
    source = "".join(f"unsigned long {name} = 1;\n" for name in JVM) + "void code(void) {}\n"
    subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", path], input=source, text=True, check=True)
    programs = [hostile("jvm", path, how, as_nobody=how != "hidden") for how in ("garbage", "endless", "hidden")]
    yield lambda: lives(*programs) or f"{len(programs)} programs"


@contextlib.contextmanager
def silent_server(place):
    """A FUSE file system: (its server, its folder). The server stops to answer after go()."""
    folder = place.path("mounted")
    os.mkdir(folder)
    server = h.Workload("/usr/bin/python3", os.path.join(FOLDER, "silentfs.py"), folder, place.library("lib.so"))
    try:
        server.says()
    except AssertionError:
        if server.wait() == 77:
            raise h.Skip("no FUSE file system can be mounted here") from None
        raise
    try:
        yield server, folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)
        server.process.kill()  # who waits is released


@animal
def silent_files(place):
    """a FUSE file system that stops answering; a program runs in a file of it"""
    with silent_server(place) as (server, folder):
        program = hostile("stay", os.path.join(folder, "file"), crafted.CODE)
        server.go()
        server.says()
        yield lambda: lives(program, server) or "1 program"


@animal
def silent_overlay(place):
    """the same in mid-run, below an overlay that nobody mounted, in a user namespace of his own: the file seems to be local"""
    if not fusefs.has_overlays(*AS_NOBODY):
        raise h.Skip("no user can mount an overlay here")
    merged, empty = place.path("merged"), place.path("empty")
    os.mkdir(merged)
    os.mkdir(empty)
    with silent_server(place) as (server, folder):
        program = hostile("stay", os.path.join(merged, "file"), crafted.CODE,
                          within=fusefs.in_overlay(folder, empty, merged))
        later = threading.Timer(0.8 * place.seconds, server.go)
        later.start()

        def seen():
            later.join()
            server.says()
            lives(program, server)
            return "1 program"
        yield seen


HELD_S, FREE_S = 1, 0.5  # while it is held the kernel may let nobody fork


def keep_locks(library, server, is_over, counts):
    """One process after the other keeps the lock of its mappings: by a page of a file that it is not sent."""
    while not is_over.is_set():
        locker = h.Workload("locker", library, server.path)
        locker.says()
        server.stops_answering()
        locker.go()
        is_over.wait(HELD_S)
        server.answers_again()
        locker.says()
        locker.go()
        counts[locker.wait() == 0] += 1
        is_over.wait(FREE_S)


@animal
def locks(place):
    """processes that map an allocator and keep the lock of their mappings, which the kernel takes to place probes there"""
    library = place.library("allocator.so")
    is_over, counts = threading.Event(), [0, 0]
    with turns.alone(), fusefs.serving(library) as server:
        thread = threading.Thread(target=keep_locks, args=(library, server, is_over, counts))
        thread.start()
        try:
            def seen():
                assert thread.is_alive() and not counts[0], counts
                return f"{counts[1]} locks kept for {HELD_S} s"
            yield seen
        finally:
            is_over.set()
            thread.join()


# Files that lie -----------------------------------------------------------------------------------

LYING = "lying-libraries", "lying-programs"  # the folders of such files; tests/contract.py knows their names


def run_programs(folder, names, is_over, counts):
    """Each as nobody, for a second of CPU time at most; counts those that ran to their end."""
    for name in names:
        if is_over.is_set():
            return
        with contextlib.suppress(OSError):  # the kernel refuses some
            done = subprocess.run(["nice", "-n", "19", *LIMITS[:1], "--core=0", "--cpu=1", "--as=1000000000", "--", *AS_NOBODY,
                                   os.path.join(folder, name)], check=False, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            counts[done.returncode == 0] += 1


@animal
def crafted_files(place):
    """10,000 crafted ELF files in a minute: 9,000 mapped and run by a process of nobody, 1,000 run as programs"""
    libraries, programs = map(place.path, LYING)
    for folder in libraries, programs:
        os.mkdir(folder)
    nr = place.part(NR_CRAFTED)
    crafted.make_libraries(libraries, nr * 9 // 10)
    crafted.make_programs(programs, nr - nr * 9 // 10)
    names, is_over, counts = sorted(os.listdir(programs)), threading.Event(), [0, 0]
    thread = threading.Thread(target=run_programs, args=(programs, names, is_over, counts))
    mapper = hostile("files", libraries, crafted.CODE)
    thread.start()
    try:
        def seen():
            lives(mapper)
            nr_started, nr_mapped = sum(counts), nr_run(mapper)
            said = f"{nr_mapped:,} of {nr * 9 // 10:,} mapped; {nr_started:,} of {len(names):,} started, {counts[1]:,} ran to their end"
            assert not place.is_long or (nr_mapped >= nr * 9 // 10 and nr_started >= len(names)), said
            return said
        yield seen
    finally:
        is_over.set()
        thread.join()
