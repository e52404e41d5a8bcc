#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cprof heap --inject: a running process gets the library that samples, and is as before when cprof has ended, however
that was."""
import os
import random
import re
import signal
import socket
import subprocess
import time

import harness as h
import heaps
import test_heap_allocators

LIBRARY = "libcprof-heap.so"
h.cases.clear()  # those of the allocators
kept = {}


def busy(threads):
    """Threads that check what they have allocated; none of them may ever find a wrong block."""
    if "busy" not in kept:
        kept["folder"] = h.kept_folder()
        os.chmod(kept["folder"], 0o755)
        kept["busy"] = os.path.join(kept["folder"], "busy")
        subprocess.run(["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O1", "-g", "-fno-omit-frame-pointer", "-fno-builtin",
                        "-pthread", "-o", kept["busy"],
                        os.path.join(test_heap_allocators.SOURCES, "heap", "busy.c")], check=True)
    target = h.Workload(kept["busy"], threads)
    target.says()
    return target


def ends_well(target):
    target.go()
    assert target.says() == {"errors": 0}
    assert target.wait() == 0


def built(name, source, *options):
    """A program, or a library, of a text, in a folder that all users may read."""
    folder = h.folder()
    os.chmod(folder, 0o755)
    path = os.path.join(folder, name)
    subprocess.run(["gcc", "-O0", "-w", "-pthread", *options, "-x", "c", "-o", path, "-"], input=source, text=True, check=True)
    return path


def live_thread(pid):
    """The files of one that has not ended."""
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/stat", encoding="utf-8") as file:
            if file.read().rpartition(")")[2].split()[0] != "Z":
                return f"/proc/{pid}/task/{tid}"
    raise AssertionError(f"process {pid} has ended")


def left_slots(pid):
    """Words in the data of its files that lead to the library."""
    thread = live_thread(pid)
    with open(f"{thread}/maps", encoding="utf-8") as file:
        lines = [line.split(None, 5) for line in file if line.count("/")]
    ranges = [[int(word, 16) for word in line[0].split("-")] + line[1:] for line in lines]
    code = [(start, end) for start, end, *rest in ranges if LIBRARY in rest[-1]]
    found = 0
    with open(f"{thread}/mem", "rb", buffering=0) as memory:
        for start, end, access, *rest in ranges:
            if access[0] != "r" or access[2] == "x" or LIBRARY in rest[-1] or end - start > 1 << 24:
                continue
            memory.seek(start)
            data = memory.read(end - start)
            words = memoryview(data[:len(data) // 8 * 8]).cast("Q")
            found += sum(1 for word in words if word > 1 << 40 and any(low <= word < high for low, high in code))
    return found


def slots_are_as_before(pid):
    end = time.monotonic() + h.HANGS
    while left_slots(pid):
        assert time.monotonic() < end, f"{left_slots(pid)} slots still lead to the library"
        time.sleep(0.2)


def injected(target, *options):
    """A cprof whose library is in use; it may have found no moment on a busy machine."""
    for _ in range(5):
        run, end = h.cprof("heap", "--inject", "-p", target.pid, *options), time.monotonic() + h.HANGS
        while run.process.poll() is None and not re.search(r"\d+ slots lead to ", run.said()):
            assert time.monotonic() < end, run.said()
            time.sleep(0.02)
        if run.process.poll() is None:
            return run.attached()
        assert "none of its threads was outside" in run.said(), run.said()
        run.wait()
    raise h.Skip("this machine is too busy: no thread was ever outside of the allocator")


@h.test
def exact_at_rate_1():
    target = busy(2)
    run = injected(target, "--rate", "1")
    assert left_slots(target.pid) > 0
    target.go()
    expected = target.says()
    ended = run.stop()
    heaps.exact(ended.profile(), expected)
    assert any("gets libcprof-heap.so" in line for line in ended.lines), ended.lines
    slots_are_as_before(target.pid)
    ends_well(target)


@h.test
def a_second_time():
    """The library is there already."""
    target = busy(4)
    for _ in range(200 if h.IS_LONG else 4):
        run = injected(target, "--rate", "4096", "--alloc")
        time.sleep(0.2)
        assert any("allocate" in sample["stack"] for sample in run.stop().profile()["samples"])
        slots_are_as_before(target.pid)
    with open(f"/proc/{target.pid}/maps", encoding="utf-8") as file:
        assert sum(LIBRARY in line and " 00000000 " in line for line in file) == 1
    target.go()
    target.says()
    ends_well(target)


@h.test
def a_second_time_at_a_lower_rate():
    """What was left to a sample once in a terabyte is no distance to one at each block."""
    target = busy(1)
    for _ in range(2):
        run = injected(target, "--rate", str(1 << 40), "--alloc", "--allow-empty")
        target.uses(0.05)
        run.stop()
        run = injected(target, "--rate", "1", "--alloc")
        target.uses(0.05)
        assert any("allocate" in sample["stack"] for sample in run.stop().profile()["samples"])
    target.go()
    target.says()
    ends_well(target)


@h.test
def cprof_is_killed():
    """At any moment: the target goes on, and the injector leads its calls back."""
    target = busy(16)
    for _ in range(200 if h.IS_LONG else 6):
        run = h.cprof("heap", "--inject", "--rate", "4096", "-p", target.pid)
        time.sleep(random.uniform(0.05, 2))
        run.signal(signal.SIGKILL)
        run.process.wait()
        assert target.process.poll() is None
        time.sleep(random.uniform(0, 0.5))  # the injector of the last one may be at work
    slots_are_as_before(target.pid)
    target.go()
    target.says()
    ends_well(target)


VFORKS = """
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void *allocate(void *arg)
{
	for (;;) {
		free(malloc(1000));
		usleep(1000);
	}
	return arg;
}

int main(void)
{
	pthread_t thread;
	char c;

	pthread_create(&thread, NULL, allocate, NULL);
	if (!vfork()) {
		write(STDOUT_FILENO, "{}\\n", 3);
		read(STDIN_FILENO, &c, 1);
		_exit(0);
	}
	_exit(0);
}
"""


@h.test
def a_thread_cannot_be_stopped():
    """It waits in vfork() until its child executes a program, which this one never does: others are there."""
    target = h.Workload(built("vforks", VFORKS))
    target.says()
    run = injected(target, "--rate", "1", "--alloc")
    time.sleep(0.2)
    assert run.stop().profile()["samples"]
    slots_are_as_before(target.pid)
    assert target.process.poll() is None
    target.go()
    assert target.wait() == 0


WAITS = """
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct timeval timeout = {.tv_sec = 1000};
	struct sembuf wait = {.sem_op = -1};
	int sockets[2], id, result;
	char c;

	free(malloc(10));
	id = semget(IPC_PRIVATE, 1, 0600);
	socketpair(AF_UNIX, SOCK_STREAM, 0, sockets);
	setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	printf("{\\"id\\": %d, \\"ready\\": %d}\\n", id, getpid());
	fflush(stdout);
	if (!strcmp(argv[1], "semop"))
		result = semop(id, &wait, 1);
	else
		result = recv(sockets[0], &c, 1, 0);
	printf("{\\"result\\": %d, \\"interrupted\\": %d}\\n", result, errno == EINTR);
	return 0;
}
"""


@h.test
def a_wait_goes_on():
    """Also one that the kernel ends with EINTR whenever a thread is stopped."""
    path = built("waits", WAITS)
    for call in ("semop", "recv"):
        target = h.Workload(path, call)
        semaphore = target.says()["id"]
        try:
            injected(target, "--rate", "1", "--alloc", "--allow-empty").stop()
            assert target.process.poll() is None, target.says()
        finally:
            target.process.kill()
            subprocess.run(["ipcrm", "-s", str(semaphore)], check=True)


ENDS_FIRST = """
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void *allocate(void *arg)
{
	for (;;) {
		free(malloc(1000));
		usleep(1000);
	}
	return arg;
}

int main(void)
{
	pthread_t thread;
	char c;

	pthread_create(&thread, NULL, allocate, NULL);
	write(STDOUT_FILENO, "{}\\n", 3);
	read(STDIN_FILENO, &c, 1);
	pthread_exit(NULL);
}
"""


@h.test
def its_first_thread_has_ended():
    """While cprof ran, or before: /proc/PID/maps is empty then, but the process goes on."""
    target = h.Workload(built("ends-first", ENDS_FIRST))
    target.says()
    run = injected(target, "--rate", "1", "--alloc")
    target.go()
    while live_thread(target.pid).endswith(f"/{target.pid}"):
        time.sleep(0.01)
    assert left_slots(target.pid) > 0
    assert not any("could not be led back" in line for line in run.stop().lines)
    assert not left_slots(target.pid)
    injected(target, "--rate", "1", "--alloc", "--allow-empty").stop()
    assert not left_slots(target.pid)
    assert target.process.poll() is None


@h.test
def another_cprof_injects_it():
    """The second one is told so, and the first one's slots stay; a stranger who takes a name of the kind that is
    everybody's prevents nothing."""
    target = busy(1)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as stranger:
        stranger.bind(f"\0cprof-inject.{target.pid}")
        run = injected(target, "--rate", "1", "--alloc")
    slots = left_slots(target.pid)
    other = h.cprof("heap", "--inject", "-p", target.pid).wait()
    assert other.code == 4 and any("another cprof injects it" in line for line in other.lines), other.lines
    assert left_slots(target.pid) == slots > 0
    run.stop()
    slots_are_as_before(target.pid)
    target.go()
    target.says()
    ends_well(target)


CONSTRUCTS = """
#include <unistd.h>

static void __attribute__((constructor)) construct(void)
{
	write(STDOUT_FILENO, "{}\\n", 3);
	for (;;)
		;
}
"""


@h.test
def another_user_is_in_the_loader():
    """A constructor is called by the loader, which holds its lock. Files of /proc that tell where the loader is are the
    user's own."""
    library = built("constructs.so", CONSTRUCTS, "-shared", "-fPIC")
    path = built("loads", "#include <stdlib.h>\nint main(void) { free(malloc(1)); }", "-Wl,--no-as-needed", library)
    target = h.Workload("/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", path)
    target.says()
    run = h.cprof("heap", "--inject", "-d", "1s", "-p", target.pid).wait()
    assert run.code == 4 and any("outside of the loader" in line for line in run.lines), run.lines


@h.test
def refused():
    """With the reason, and the target goes on."""
    folder = h.folder()
    os.chmod(folder, 0o755)
    source = os.path.join(folder, "waits.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write("#include <stdlib.h>\n#include <unistd.h>\nint main(void) { for (;;) { free(malloc(10)); usleep(1000); } }\n")
    for compiler, words, reason in (("gcc", ["-static"], "it is static, or its C library is not the one"),
                                    ("musl-gcc", [], "its C library is not the one")):
        path = os.path.join(folder, f"waits-{compiler}")
        try:
            subprocess.run([compiler, *words, "-o", path, source], check=True)
        except FileNotFoundError:
            continue
        target = subprocess.Popen([path])
        h.running.append(target)
        run = h.cprof("heap", "--inject", "-p", target.pid).wait()
        assert run.code == 4 and any(reason in line for line in run.lines), (compiler, run.lines)
        assert target.poll() is None


@h.test
def wrong_usage():
    for options in (["-a"], ["-p", "init"], ["--", "true"], ["-p", "1,2"], ["-p", "1", "--follow-fork"]):
        run = h.cprof("heap", "--inject", *options).wait()
        assert run.code == 2 and "--inject is for one process" in "\n".join(run.lines), (options, run.lines)
    run = h.cprof("heap", "--inject", "--mode", "probe", "-p", "1").wait()
    assert run.code == 2 and "--mode probe cannot be combined" in "\n".join(run.lines), run.lines


h.main()
