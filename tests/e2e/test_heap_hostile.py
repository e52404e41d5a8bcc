#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cprof heap and targets that map what they like: a file costs itself at most, and no time to speak of."""
import fcntl
import os
import re
import shutil
import signal
import subprocess

import harness as h
import heaps

SIZE, COUNT, RATE = 1000, 1000, 1000  # what the workload mapalloc allocates, and how it is sampled
PROBING = r"^cprof: probing malloc\+\d+ at offset \S+ of "
EXAMINED = r"^cprof: every mapped file is examined$"
SAMPLING = r"^cprof: sampling malloc and free$"
NOT_PROBED = re.compile(r"^cprof: not probed: (.*)\. What is allocated there is not in the profile\.$")



def build(folder, name, source):
    path = os.path.join(folder, name)
    subprocess.run(["gcc", "-shared", "-nostdlib", "-x", "assembler", "-", "-o", path], check=True,
                   input=source, text=True)
    return path


def library(folder, name, first="push %rbx; pop %rbx"):
    """A shared object with a malloc that begins with an instruction of our choice."""
    return build(folder, name, heaps.SMALL.format(first=first))


def copies(path, nr):
    for i in range(nr - 1):
        shutil.copy(path, f"{path}.{i}")
    return os.path.dirname(path)


kept = {}


def thousand():
    """A folder with a thousand files that define malloc, for several cases."""
    if not kept:
        path = h.kept_folder()
        os.chmod(path, 0o755)
        kept["thousand"] = copies(library(path, "small.so"), 1000)
    return kept["thousand"]


def open_folder():
    path = h.folder()
    os.chmod(path, 0o755)
    return path


class Mapper(h.Workload):
    """The workload mapalloc, run by a user without any power."""

    def __init__(self, folder):
        super().__init__("/usr/bin/setpriv", "--reuid", h.NOBODY, "--clear-groups", h.workload("mapalloc"), folder)
        self.says()


def neighbour():
    target = h.Workload("mapalloc", h.folder())
    target.says()
    return target


def neighbour_is_sampled(run, target):
    """It allocates while cprof runs, which then ends; its profile is whole."""
    run.awaits(SAMPLING)
    run.awaits(EXAMINED)
    target.go()
    target.says()
    ended = run.stop()
    assert ended.code == 0, ended.code
    profiles = [profile for profile in ended.profiles().values() if h.labels(profile, "pid") == {target.pid}]
    if ended.closing.lost:
        print(f"# others allocate more than is read in time: lost {ended.closing.reasons}", flush=True)
        return ended
    assert len(profiles) == 1, list(ended.files)
    heaps.site_is(profiles[0], "mapalloc", "alloc", COUNT, SIZE, RATE)
    return ended


def not_probed(ended):
    found = ended.matches(NOT_PROBED)
    assert len(found) == 1, ended.lines
    return found[0][1]


@h.test
def a_malloc_that_cannot_be_probed():
    """int3, a lock prefix: the kernel refuses both. Everybody else is profiled all the same."""
    folder = open_folder()
    library(folder, "int3.so", "int3")
    library(folder, "lock.so", "lock incl (%rsp)")
    target = neighbour()
    mapper = Mapper(folder)
    run = h.cprof("heap", "-a", "--max-overhead", 100, "--rate", RATE, "--limit", "events=134217728", output=h.folder())
    words = not_probed(neighbour_is_sampled(run, target))
    assert re.fullmatch(rf"2 files that cannot be probed \(such as '{folder}/(int3|lock)\.so': "
                        r"an instruction there cannot be replaced by a probe\)"
                        r"(, \d+ files? not examined in time)?", words), words  # of others, on a busy machine
    run = h.cprof("heap", "-p", mapper.pid, "--allow-empty")
    run.awaits(SAMPLING)
    run.awaits(EXAMINED)
    ended = run.stop()
    assert "2 files that cannot be probed" in not_probed(ended)


@h.test
def only_an_allocator_that_cannot_be_probed():
    """A static program: there is nothing else to probe, and the reason is said."""
    folder = h.folder()
    path = os.path.join(folder, "static")
    subprocess.run(["gcc", "-static", "-nostdlib", "-x", "assembler", "-", "-o", path], check=True, text=True,
                   input="\t.globl _start\n_start:\tmov $34, %eax\n\tsyscall\n" + heaps.SMALL.format(first="int3"))
    target = h.Workload(path)
    ended = h.cprof("heap", "-p", target.pid).wait()
    assert ended.code == 4, ended.code
    assert re.search(rf"^cprof: no allocator can be probed: 1 file that cannot be probed \('{path}': an instruction "
                     r"there cannot be replaced by a probe\)\.$", "\n".join(ended.lines), re.M), ended.lines


@h.test
def static_programs_without_an_allocator():
    """Stripped, nothing tells whether it has one; with symbols it has none."""
    folder = h.folder()
    path = os.path.join(folder, "static")
    subprocess.run(["gcc", "-static", "-nostdlib", "-x", "assembler", "-", "-o", path], check=True, text=True,
                   input="\t.globl _start\n\t.type _start, @function\n_start:\tmov $34, %eax\n\tsyscall\n"
                         "\t.size _start, . - _start\n")
    for stripped in (False, True):
        if stripped:
            subprocess.run(["strip", "-o", path + "s", path], check=True)
        target = h.Workload(path + "s" * stripped)
        ended = h.cprof("heap", "-p", target.pid).wait()
        reason = ("malloc cannot be found in a static program without symbols" if stripped
                  else "none of the target's files defines malloc and free")
        assert ended.code == 3 and any(reason in line for line in ended.lines), (ended.code, ended.lines)


@h.test
def a_thousand_files_that_define_malloc():
    """One user has half of the probes at most, and the most used files come first. It takes no minutes to
    attach and detach them: what the kernel would need for one after the other is more than a case may take."""
    mapper = Mapper(thousand())
    target = neighbour()
    run = h.cprof("heap", "-a", "--max-overhead", 100, "--rate", RATE, "--limit", "events=134217728", output=h.folder())
    ended = neighbour_is_sampled(run, target)
    assert re.search(r"\b488 files beyond the limit of 1,024 \(512 for one user\)", not_probed(ended)), not_probed(ended)
    text = "\n".join(ended.lines)
    assert len(re.findall(PROBING + r"\S+/small\.so", text, re.M)) == 512
    assert re.search(PROBING + r"\S+/libc\.so\.6", text, re.M).start() < re.search(PROBING + r"\S+/small\.so", text,
                                                                                 re.M).start()
    mapper.go()


@h.test
def who_allocates_without_end():
    """Others fill the ring as fast as it is read: files are examined all the same, and it ends at SIGINT."""
    busy = [h.Workload("churn", 0, 2) for _ in range(2)]
    for target in busy:
        target.says()
    run = h.cprof("heap", "-a", "--max-overhead", 100, "--rate", 1, "--limit", "events=134217728", output=h.folder())
    run.awaits(PROBING)
    for target in busy:
        target.go()
    run.awaits(SAMPLING)
    late = h.Workload(h.workload("mapalloc"), h.folder())
    late.says()
    run.awaits(EXAMINED)
    ended = run.stop()
    assert ended.code == 0, ended.code


@h.test
def a_signal_while_a_thousand_files_are_probed():
    """At the start, and in the middle of it."""
    mapper = Mapper(thousand())
    for pattern in (None, PROBING, SAMPLING):
        run = h.cprof("heap", "-a", "--max-overhead", 100, "--allow-empty", output=h.folder())
        if pattern:
            run.awaits(pattern)
        run.signal(signal.SIGTERM)
        assert run.wait().code in (0, 3, -signal.SIGTERM), pattern
    mapper.go()


@h.test
def a_killed_cprof_leaves_no_probe():
    """1,024 links: the kernel would take 80 ms for each. The case fails if any stays."""
    mapper = Mapper(thousand())
    before = h.kernel_objects()
    run = h.cprof("heap", "-a", "--max-overhead", 100, output=h.folder())
    run.awaits(EXAMINED)
    run.signal(signal.SIGKILL)
    run.process.wait()
    left, crowd = h.stray_objects(before, h.HANGS)
    assert crowd or not left, left[:3]
    mapper.go()


@h.test
def what_is_slow_to_examine_does_not_delay_the_start():
    """200 files of 40,000 symbols each: sampling begins before they are read, with the C library's malloc."""
    folder = open_folder()
    path = build(folder, "large.so", "".join(f".type f{i}, @function\nf{i}: ret\n.size f{i}, . - f{i}\n"
                                             for i in range(40000)))
    copies(path, 200)
    target = h.Workload("mapalloc", folder)
    target.says()
    run = h.cprof("heap", "--rate", RATE, "-p", target.pid)
    run.awaits(SAMPLING)
    said = run.said()
    late = re.search(r"^cprof: (\d+) files are examined later$", said, re.M)
    assert late and int(late[1]) > 0, said
    assert re.search(PROBING + r"\S+/libc\.so\.6", said[:late.start()], re.M), said
    run.signal(signal.SIGSTOP)  # so that it does not read on while the target waits for a CPU
    target.go()
    target.says()
    run.signal(signal.SIGINT)
    run.signal(signal.SIGCONT)
    ended = run.wait()
    heaps.site_is(ended.profile(), "mapalloc", "alloc", COUNT, SIZE, RATE)
    if re.search(EXAMINED, "\n".join(ended.lines), re.M):  # before we came to stop it
        assert not ended.matches(NOT_PROBED), ended.lines
    else:
        assert re.fullmatch(r"\d+ files not examined in time", not_probed(ended)), not_probed(ended)
    again = h.cprof("heap", "-p", target.pid)
    again.signal(signal.SIGINT)
    assert again.wait().code in (3, -signal.SIGINT)


@h.test
def fewer_descriptors_than_files():
    """200 files and 150 descriptors: the C library is found and probed all the same."""
    folder = open_folder()
    copies(build(folder, "none.so", ".globl none\nnone: ret\n"), 200)
    target = h.Workload("mapalloc", folder)
    target.says()
    run = h.cprof("heap", "--rate", RATE, "-p", target.pid, run_as=("prlimit", "--nofile=150:150"))
    ended = neighbour_is_sampled(run, target)
    assert not ended.matches(NOT_PROBED), ended.lines


# What heap -a says it left out is of the whole machine: no other of these tests runs on it meanwhile.
with open("/run/cprof-e2e-heap-hostile", "w", encoding="utf-8") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    h.main()
