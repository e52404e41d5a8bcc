#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Programs on a FUSE file system: their names are found while its server answers, and a server that stops keeps nobody."""
import contextlib
import os
import re
import subprocess
import time

import fusefs
import harness as h
import tracing

# Stopped servers: a process that waits for one waits forever, so these are not limits on how fast anything is.
ENDS = 60


def is_named(done, target):
    samples = [s for s in done.profile()["samples"] if s["labels"].get("pid") == target.pid]
    named = [s for s in samples if {"hot", "main"} <= set(s["stack"])]
    # its loader has samples, too, and what others probe on this machine
    assert h.count_of(named) >= 0.5 * h.count_of(samples) > 0, [s["stack"] for s in samples]


def files_of(pid):
    """Where its descriptors lead; {} once it has ended."""
    try:
        return {os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")}
    except FileNotFoundError:
        return set()


def family(pid):
    return [pid, *(member for child in h.children(pid) for member in family(child))]


@contextlib.contextmanager
def serving_a_command(content, is_below):
    """(a server, what runs its file): itself, or through an overlay above it."""
    if is_below and not fusefs.has_overlays():
        raise h.Skip("no user can mount an overlay here")
    with fusefs.serving(content) as server:
        yield server, server.in_overlay() if is_below else (server.path,)


def path_of(target):
    """Of the program that it runs, as it sees it."""
    return os.readlink(f"/proc/{target.pid}/exe")


def names_are_found_in(is_below):
    with serving_a_command(h.workload("hot"), is_below) as (_, command):
        target = h.Workload(*command, 60)
        target.uses(0.1)
        run = h.cprof("record", "-F", "499", "-p", target.pid).attached()
        target.uses(0.5)
        held = {pid: path_of(target) for pid in family(run.pid) if path_of(target) in files_of(pid)}
        assert not held, held
        assert any(path.startswith("/memfd:cprof") for path in files_of(run.pid)), files_of(run.pid)
        is_named(run.stop(), target)


@h.test
def names_are_found():
    """In a copy: of cprof's processes none has the file itself open for longer than it takes to copy it."""
    names_are_found_in(is_below=False)


@h.test
def names_are_found_below_an_overlay():
    """The same, where an overlay that a user has mounted hides the FUSE file system."""
    names_are_found_in(is_below=True)


def a_stop_in_mid_run(is_below):
    with serving_a_command(h.workload("hot"), is_below) as (server, command):
        target, neighbour = h.Workload(*command, 60), h.Workload("hot", 60)
        target.uses(0.1)
        run = h.cprof("record", "-F", "499", "-p", f"{target.pid},{neighbour.pid}").attached()
        target.uses(0.3)
        neighbour.uses(0.3)
        server.stops_answering()
        run.signal(h.signal.SIGINT)
        done = run.wait(ENDS)
    # only now: the judge of the profile looks for the files that it names
    is_named(done, target)
    is_named(done, neighbour)


@h.test
def a_server_that_stops_in_mid_run():
    """It has answered, so the program is known; then it does not, and the run ends as any other."""
    a_stop_in_mid_run(is_below=False)


@h.test
def a_server_below_an_overlay_that_stops_in_mid_run():
    a_stop_in_mid_run(is_below=True)


@h.test
def killed_while_a_server_is_stopped():
    with fusefs.serving(h.workload("hot")) as server:
        target = h.Workload(server.path, 60)
        run = h.cprof("record", "-F", "499", "-p", target.pid).attached()
        target.uses(0.3)
        server.stops_answering()
        run.signal(h.signal.SIGKILL)
        run.process.wait(ENDS)


@h.test
def what_others_start_is_not_opened():
    """Where the targets are given by their pids, a program that somebody else starts costs nothing."""
    with fusefs.serving(h.workload("hot")) as server:
        target = h.Workload("hot", 60)
        run = h.cprof("record", "-F", "499", "-p", target.pid).attached()
        other = h.Workload(server.path, 60)
        other.uses(0.1)
        target.uses(0.3)
        assert not [path for path in files_of(run.pid) if path.startswith("/memfd:cprof")]
        done = run.stop()
    is_named(done, target)


def is_given_up(run):
    """It samples, though what it launched has never begun; interrupted twice, it ends."""
    run.attached()
    run.signal(h.signal.SIGINT)
    run.awaits("^cprof: waiting for ")
    time.sleep(tracing.APART)
    run.signal(h.signal.SIGINT)
    return run.wait(ENDS)


@h.test
def a_command_on_a_server_that_has_stopped():
    """It keeps nobody but itself."""
    for command in "record", "heap":
        with fusefs.serving(h.workload("allocs")) as server:
            server.stops_answering()
            done = is_given_up(h.cprof(command, "--", server.path))
            assert (command == "heap") == any("a file system did not answer" in line for line in done.lines), done.lines


@h.test
def a_loader_on_a_server_that_swallows_requests():
    """The program names it; who lists the program's libraries cannot be killed, and is not waited for."""
    place = h.folder()
    loader, program = os.path.join(place, "ld-linux-own.so"), os.path.join(place, "program")
    subprocess.run(["gcc", "-x", "c", "-", "-o", program, f"-Wl,--dynamic-linker={loader}"], check=True, text=True,
                   input="int main(void) { return 0; }")
    with fusefs.serving(h.workload("allocs")) as server:
        os.symlink(server.path, loader)
        server.swallows()
        is_given_up(h.cprof("heap", "--", program))


def allocates():
    """A static program that allocates all the time."""
    path = os.path.join(h.folder(), "static")
    subprocess.run(["gcc", "-static", "-x", "c", "-", "-o", path], check=True, text=True, input="""
        #include <stdlib.h>
        int main(void) { for (;;) free(malloc(1000)); }""")
    return path


def is_not_probed(is_below):
    with serving_a_command(allocates(), is_below) as (_, command):
        target = h.Workload(*command)
        target.uses(0.1)
        done = h.cprof("heap", "-p", target.pid).wait(ENDS)
        assert done.code == 4, done.code
        assert re.search(rf"^cprof: no allocator can be probed: 1 file that cannot be probed \('{path_of(target)}': it is on a "
                         r"FUSE file system, or an overlay that a user mounted, which may keep a probe waiting for ever\)\.$",
                         "\n".join(done.lines), re.M), done.lines


@h.test
def it_is_not_probed():
    """The kernel reads the instruction that it replaces, and nobody can end its waiting. The reason is said."""
    is_not_probed(is_below=False)


@h.test
def it_is_not_probed_below_an_overlay():
    is_not_probed(is_below=True)


@h.test
def an_overlay_that_root_mounted():
    """Its files are local, as those of containers are, which have a mount namespace of their own: they are probed."""
    place = h.folder()
    made = subprocess.run(["sh", "-ec", "mkdir lower upper work merged; cp $0 lower/file; "
                           "mount -t overlay none -o lowerdir=lower,upperdir=upper,workdir=work merged", allocates()], cwd=place,
                          check=False)
    if made.returncode:
        raise h.Skip("no overlay can be mounted here")
    try:
        target = h.Workload("/usr/bin/unshare", "-m", f"{place}/merged/file")
        target.uses(0.1)
        run = h.cprof("heap", "-p", target.pid).attached()
        assert path_of(target) in files_of(run.pid), files_of(run.pid)
        target.uses(0.3)
        done = run.stop()
        assert done.code == 0, done.code
    finally:
        subprocess.run(["umount", "-l", f"{place}/merged"], check=True)


h.main()
