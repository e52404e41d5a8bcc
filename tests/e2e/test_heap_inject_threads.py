#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# NOT_SANITIZED: --inject needs a cprof whose C library is as the target's
"""cprof heap --inject: where the threads of the process are, and what happens to them, when one is to make a call."""
import os
import signal
import subprocess
import threading
import time

import harness as h
import injecting


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
    target = h.Workload(injecting.built("vforks", VFORKS))
    target.says()
    run = injecting.injected(target, "--rate", "1", "--alloc")
    target.uses(0.01)  # in which it allocates many times
    assert run.stop().profile()["samples"]
    injecting.slots_are_as_before(target.pid)
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
    path = injecting.built("waits", WAITS)
    for call in ("semop", "recv"):
        target = h.Workload(path, call)
        semaphore = target.says()["id"]
        try:
            injecting.injected(target, "--rate", "1", "--alloc", "--allow-empty").stop()
            assert target.process.poll() is None, target.says()
        finally:
            target.process.kill()
            subprocess.run(["ipcrm", "-s", str(semaphore)], check=True)


STOPPED_BEFORE = """
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void *allocate(void *arg)
{
	for (;;) {
		free(malloc(1000));
		usleep(1000);
	}
	return arg;
}

int main(int argc, char **argv)
{
	struct timespec rest = {.tv_sec = 1000};
	volatile char clean[16384]; /* nothing is left over on the stack that is looked at */
	pthread_t thread;
	int result;

	pthread_create(&thread, NULL, allocate, NULL);
	memset((char *)clean, 0, sizeof(clean));
	write(STDOUT_FILENO, "{}\\n", 3);
	result = strcmp(argv[1], "poll") ? nanosleep(&rest, NULL) : poll(NULL, 0, 1000000);
	printf("{\\"result\\": %d, \\"interrupted\\": %d}\\n", result, errno == EINTR);
	return clean[argc];
}
"""


@h.test
def a_wait_that_was_stopped_before():
    """By SIGSTOP and SIGCONT: the kernel alone knows what it waits for, and another thread makes the call."""
    path = injecting.built("stopped-before", STOPPED_BEFORE)
    for call in ("nanosleep", "poll"):
        target = h.Workload(path, call)
        target.says()
        waits_in(target, "230 ", "35 ", "7 ")  # clock_nanosleep, nanosleep, poll
        target.process.send_signal(signal.SIGSTOP)
        assert state_when(target.pid, "T") == "T"
        target.process.send_signal(signal.SIGCONT)
        waits_in(target, "219 ")  # restart_syscall
        injecting.injected(target, "--rate", "1", "--alloc").stop()
        assert target.process.poll() is None, target.says()
        waits_in(target, "219 ")
        injecting.slots_are_as_before(target.pid)
        target.process.kill()


def waits_in(target, *calls):
    """Until its first thread waits in one of the system calls."""
    with open(f"/proc/{target.pid}/syscall", encoding="utf-8") as file:
        while not file.read().startswith(calls):
            assert target.process.poll() is None
            time.sleep(0.002)
            file.seek(0)


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
    """While cprof ran, or before: /proc/PID/maps is empty then, but the process goes on. Probes are placed, too."""
    target = h.Workload(injecting.built("ends-first", ENDS_FIRST))
    target.says()
    run = injecting.injected(target, "--rate", "1", "--alloc")
    target.go()
    while injecting.live_thread(target.pid).endswith(f"/{target.pid}"):
        time.sleep(0.01)
    assert injecting.left_slots(target.pid) > 0
    assert not any("could not be restored" in line for line in run.stop().lines)
    assert not injecting.left_slots(target.pid)
    options = "--rate", "1", "--alloc"
    for start in (lambda: injecting.injected(target, *options),
                  lambda: h.cprof("heap", *options, "-p", target.pid).attached()):
        run = start()
        target.uses(0.005)
        assert any("allocate" in sample["stack"] for sample in run.stop().profile()["samples"])
        assert not injecting.left_slots(target.pid)
    assert target.process.poll() is None


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
    library = injecting.built("constructs.so", CONSTRUCTS, "-shared", "-fPIC")
    path = injecting.built("loads", "#include <stdlib.h>\nint main(void) { free(malloc(1)); }", "-Wl,--no-as-needed", library)
    target = h.Workload("/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", path)
    target.says()
    run = h.cprof("heap", "--inject", "-d", "1s", "-p", target.pid).wait()
    assert run.code == 4 and any("outside the loader" in line for line in run.lines), run.lines


@h.test
def it_is_stopped():
    """By SIGSTOP, in the loader: that is what is said, and it stays so."""
    target = h.Workload(injecting.built("loads", "int main(void) { return 0; }", "-Wl,--no-as-needed",
                              injecting.built("constructs.so", CONSTRUCTS, "-shared", "-fPIC")))
    target.says()
    target.process.send_signal(signal.SIGSTOP)
    assert state_when(target.pid, "T") == "T"
    run = h.cprof("heap", "--inject", "-d", "1s", "-p", target.pid).wait()
    assert run.code == 4 and any("it is stopped (SIGSTOP)" in line for line in run.lines), run.lines
    assert state_when(target.pid, "T") == "T"


STOPS = """
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void *load(void *library)
{
	dlopen(library, RTLD_NOW);
	return library;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	free(malloc(1));
	pthread_create(&thread, NULL, load, argv[1]);
	poll(NULL, 0, -1);
}
"""
HOLDS = """
#include <unistd.h>

static void __attribute__((constructor)) construct(void)
{
	char c;

	write(STDOUT_FILENO, "{}\\n", 3);
	read(STDIN_FILENO, &c, 1);
	write(STDOUT_FILENO, "{}\\n", 3);
}
"""


def state_when(task, wanted, is_over=None):
    """The state of a task, when it is the wanted one at last, or when that will not be."""
    state, end = "", time.monotonic() + h.HANGS
    while state != wanted and time.monotonic() < end and not (is_over and is_over()):
        with open(f"/proc/{task}/stat", encoding="utf-8") as file:
            state = file.read().rpartition(")")[2].split()[0]
        time.sleep(0.01)
    return state


@h.test
def it_is_stopped_meanwhile():
    """SIGSTOP reaches a thread that makes a call for cprof, which waits for a lock of the loader: the process stops, and
    continues as the signal requires."""
    target = h.Workload(injecting.built("stops", STOPS), injecting.built("holds.so", HOLDS, "-shared", "-fPIC"))
    target.says()
    other, = [tid for tid in os.listdir(f"/proc/{target.pid}/task") if int(tid) != target.pid]
    run = h.cprof("heap", "--inject", "-d", "1s", "-p", target.pid)
    with open(f"/proc/{target.pid}/syscall", encoding="utf-8") as file:
        while not file.read().startswith("202 "):  # futex
            assert run.process.poll() is None, run.said()
            time.sleep(0.002)
            file.seek(0)
    target.process.send_signal(signal.SIGSTOP)
    assert state_when(other, "T", lambda: run.process.poll() is not None) == "T"
    run.wait()
    assert state_when(target.pid, "T") == "T"
    target.process.send_signal(signal.SIGCONT)
    target.go()
    target.says()
    assert target.process.poll() is None


LATE = """
#include <dlfcn.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char c;

	free(malloc(1));
	write(STDOUT_FILENO, "{}\\n", 3);
	read(STDIN_FILENO, &c, 1);
	dlopen(argv[1], RTLD_NOW);
	poll(NULL, 0, -1);
}
"""


@h.test
def a_file_is_mapped_where_no_thread_can_call():
    """It is tried again, though nothing more is mapped."""
    library = injecting.built("holds.so", HOLDS + "#include <stdlib.h>\nvoid *late(void) { return malloc(1); }", "-shared", "-fPIC")
    target = h.Workload(injecting.built("late", LATE), library)
    target.says()
    run = injecting.injected(target, "--allow-empty")
    slots = injecting.left_slots(target.pid)
    target.go()
    target.says()
    nr_idle, was_traced = 0, False
    with open(f"/proc/{target.pid}/status", encoding="utf-8") as file:
        while nr_idle < 100:  # until one look for more has ended
            is_traced = "TracerPid:\t0\n" not in file.read()
            was_traced |= is_traced
            nr_idle = 0 if is_traced or not was_traced else nr_idle + 1
            time.sleep(0.002)
            file.seek(0)
    target.go()
    target.says()
    end = time.monotonic() + h.HANGS
    while injecting.left_slots(target.pid) <= slots:
        assert time.monotonic() < end, "the slots of the file are as they were"
        time.sleep(0.1)
    run.stop()
    injecting.slots_are_as_before(target.pid)


FAULTS = """
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void handle(int signal)
{
	_exit(42);
}

/* The loader's data. */
static void protect(int access)
{
	unsigned long start, limit;
	char line[512], *lines[64], found[5];
	int nr = 0, fd = -1;
	FILE *maps = fopen("/proc/self/maps", "r");

	while (fgets(line, sizeof(line), maps))
		if (strstr(line, "/ld-linux") && (strstr(line, " rw-p") || strstr(line, " ---p")) &&
		    sscanf(line, "%lx-%lx", &start, &limit) == 2)
			mprotect((void *)start, limit - start, access);
	fclose(maps);
}

int main(void)
{
	struct sigaction action = {.sa_handler = handle}, now;
	struct pollfd line = {.fd = STDIN_FILENO, .events = POLLIN};

	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGSEGV, NULL, &now);
	mprotect(NULL, 0, 0);
	poll(NULL, 0, 0);
	puts("{}");
	fflush(stdout);
	protect(PROT_NONE);
	poll(&line, 1, -1);
	protect(PROT_READ | PROT_WRITE);
	sigaction(SIGSEGV, NULL, &now);
	printf("{\\"is_mine\\": %d}\\n", now.sa_handler == handle);
	return 0;
}
"""


@h.test
def a_fault_in_the_loader():
    """The thread is put back where it was, and the handler of the program for faults is still there."""
    target = h.Workload(injecting.built("faults", FAULTS, "-Wl,-z,now"))
    target.sleeps()
    run = h.cprof("heap", "--inject", "-d", "1s", "-p", target.pid).wait()
    assert run.code == 4 and any("its loader failed" in line for line in run.lines), run.lines
    target.go()
    assert target.says() == {"is_mine": 1}
    assert target.wait() == 0


LOCAL_FAULTS = """
#include <dlfcn.h>
#include <link.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static struct pollfd line = {.fd = STDIN_FILENO, .events = POLLIN};

static void wait_for_line(void)
{
	char c;

	write(STDOUT_FILENO, "{}\\n", 3);
	poll(&line, 1, -1);
	read(STDIN_FILENO, &c, 1);
}

/* The library is of no other file's concern, so that the loader looks at it for nobody else. */
int main(int argc, char **argv)
{
	struct link_map *map = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	void *page = (void *)((unsigned long)map->l_ld & -4096ul);

	free(malloc(1));
	mprotect(NULL, 0, 0);
	mprotect(page, 4096, PROT_NONE);
	wait_for_line();
	mprotect(page, 4096, PROT_READ);
	wait_for_line();
	return 0;
}
"""


@h.test
def a_fault_while_slots_are_changed():
    """Those that were changed before are led back, and the next cprof is not refused."""
    library = injecting.built("local.so", "int local_function(void) { return 1; }", "-shared", "-fPIC")
    target = h.Workload(injecting.built("local-faults", LOCAL_FAULTS, "-Wl,-z,now"), library)
    target.says()
    run = h.cprof("heap", "--inject", "-d", "1s", "-p", target.pid).wait()
    assert run.code == 4 and any("its loader failed" in line for line in run.lines), run.lines
    with open(f"/proc/{target.pid}/maps", encoding="utf-8") as file:
        assert injecting.LIBRARY in file.read()
    injecting.slots_are_as_before(target.pid)
    target.go()
    target.says()
    run = injecting.injected(target, "--allow-empty")
    assert injecting.left_slots(target.pid) > 0
    run.stop()
    injecting.slots_are_as_before(target.pid)
    target.go()
    assert target.wait() == 0


CONFINED = """
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile int is_confined;

static void *confine(void *arg)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {sizeof(code) / sizeof(code[0]), code};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	is_confined = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) ? -1 : 1;
	for (;;)
		usleep(1000);
	return arg;
}

static void *allocate(void *arg)
{
	for (;;) {
		free(malloc(1000));
		usleep(1000);
	}
	return arg;
}

/* The first thread makes no call for cprof: it cannot be stopped. */
int main(void)
{
	pthread_t thread;
	char c;

	pthread_create(&thread, NULL, confine, NULL);
	while (!is_confined)
		usleep(1000);
	pthread_create(&thread, NULL, allocate, NULL);
	if (!vfork()) {
		write(STDOUT_FILENO, is_confined > 0 ? "[1]\\n" : "[0]\\n", 4);
		read(STDIN_FILENO, &c, 1);
		_exit(0);
	}
	_exit(0);
}
"""


@h.test
def a_thread_is_confined():
    """By seccomp, which kills the process if this thread opens a file: another one makes the call."""
    target = h.Workload(injecting.built("confined", CONFINED))
    if target.says() == [0]:
        raise h.Skip("seccomp is not to be had")
    injecting.injected(target, "--rate", "1", "--alloc", "--allow-empty").stop()
    injecting.slots_are_as_before(target.pid)
    assert target.process.poll() is None
    target.go()
    assert target.wait() == 0


SEQUENCES = """
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern const ptrdiff_t __rseq_offset;
extern const unsigned int __rseq_size;
long nr_wrong;

/* Works for a while within a restartable sequence. Is it in the middle of it, and the kernel does not know any more? */
static void sequence(uint64_t *known)
{
	asm volatile(".pushsection .data.sequences, \\"aw\\"\\n"
		     ".balign 32\\n"
		     "1: .long 0, 0\\n"
		     ".quad 2f, 3f - 2f, 4f\\n"
		     ".popsection\\n"
		     "jmp 4f\\n"
		     ".long 0x53053053\\n"
		     "4: leaq 1b(%%rip), %%rax\\n"
		     "movq %%rax, %0\\n"
		     "2: movl $100000, %%ecx\\n"
		     "5: decl %%ecx\\n"
		     "jnz 5b\\n"
		     "xorl %%eax, %%eax\\n"
		     "cmpq $0, %0\\n"
		     "sete %%al\\n"
		     "addq %%rax, nr_wrong(%%rip)\\n"
		     "3: movq $0, %0\\n"
		     : "+m"(*known) : : "rax", "rcx", "memory", "cc");
}

int main(void)
{
	struct pollfd line = {.fd = STDIN_FILENO, .events = POLLIN};
	uint64_t *known = (void *)((char *)__builtin_thread_pointer() + __rseq_offset + 8);

	free(malloc(1));
	printf("{\\"has_sequences\\": %d}\\n", __rseq_size > 0);
	fflush(stdout);
	while (__rseq_size && !poll(&line, 1, 0))
		for (int i = 0; i < 1000; i++) {
			sequence(known);
			for (volatile int j = 0; j < 2000; j++)
				;
		}
	printf("{\\"wrong\\": %ld}\\n", nr_wrong);
	return 0;
}
"""


@h.test
def a_restartable_sequence():
    """A thread within one (rseq(2)), which the kernel restarts where it is interrupted, makes no call."""
    target = h.Workload(injecting.built("sequences", SEQUENCES))
    if not target.says()["has_sequences"]:
        raise h.Skip("the C library has told the kernel of no restartable sequences")
    for _ in range(3):
        injecting.injected(target, "--rate", "1", "--alloc", "--allow-empty").stop()
    target.go()
    assert target.says() == {"wrong": 0}


SLEEPER = """
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char text[4096];
int main(void) {
	char path[64];
	signal(SIGCHLD, SIG_IGN);
	snprintf(path, sizeof(path), "/proc/%d/status", getpid());
	free(malloc(100));
	write(1, "{}\\n", 3);
	for (;;) {
		pid_t pid = vfork();
		if (!pid) { /* the parent sleeps until this process ends, and cannot be interrupted */
			int file = open(path, O_RDONLY), nr = read(file, text, sizeof(text) - 1);
			const char *tracer;
			text[nr > 0 ? nr : 0] = 0;
			close(file);
			tracer = strstr(text, "TracerPid:\\t");
			if (tracer && tracer[11] != '0')
				sleep(60);
			_exit(0);
		}
		for (volatile int i = 0; i < 20000; i++)
			;
	}
}
"""


@h.test
def a_thread_that_does_not_stop():
    """It sleeps as soon as it is traced: cprof ends all the same, and so do both processes."""
    for _ in range(3):
        target = h.Workload(injecting.built("sleeper", SLEEPER))
        target.says()
        began = time.monotonic()
        run = h.cprof("heap", "--inject", "-d", "0.2", "--allow-empty", "-p", target.pid).wait()
        assert run.code in (0, 3, 4) and time.monotonic() - began < h.HANGS, (run.code, run.lines)
        children = h.children(target.pid)
        target.process.kill()
        for child in children:
            subprocess.run(["kill", "-9", str(child)], check=False)
        target.process.wait()


FORKER = """
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *idle(void *nothing) {
	for (;;)
		pause();
	return nothing;
}
int main(void) {
	char *memory = malloc(100 << 20); /* so that it takes a while to copy the tables of its pages */
	pthread_t thread;
	setvbuf(stdout, NULL, _IOLBF, 0);
	memset(memory, 1, 100 << 20);
	signal(SIGCHLD, SIG_IGN);
	pthread_create(&thread, NULL, idle, NULL);
	for (int nr = 1;; nr++) {
		pid_t pid = fork();
		if (!pid)
			_exit(0);
		if (nr % 20 == 0)
			printf("{\\"forks\\": %d}\\n", nr);
		for (volatile int i = 0; i < 1000000; i++)
			;
	}
}
"""


@h.test
def a_process_that_forks():
    """Within fork() a thread holds all of the allocator's locks, though nothing of the allocator is on its stack."""
    target = h.Workload(injecting.built("forker", FORKER))
    for _ in range(2):
        target.says()
        h.cprof("heap", "--inject", "-d", "0.2", "--allow-empty", "-p", target.pid).wait()
        timer = threading.Timer(h.HANGS, target.process.kill)
        timer.start()
        before = target.says()["forks"]
        while target.says()["forks"] < before + 200:
            pass
        timer.cancel()
    target.process.kill()
    target.process.wait()


TIMEOUT = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
static int ends[2];
static void *answer(void *nothing) {
	getchar();
	write(ends[1], "x", 1);
	return nothing;
}
int main(void) {
	struct timeval timeout = {.tv_sec = 600};
	pthread_t thread;
	char byte;
	free(malloc(100));
	socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
	setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	pthread_create(&thread, NULL, answer, NULL);
	write(1, "{}\\n", 3);
	printf("{\\"got\\": %d}\\n", (int)read(ends[0], &byte, 1));
	fflush(stdout);
	return 0;
}
"""


@h.test
def a_socket_with_a_timeout():
    """The kernel ends such a call with EINTR: it is made again."""
    target = h.Workload(injecting.built("timeout", TIMEOUT))
    target.says()
    waits_in(target, "0 ")  # read
    h.cprof("heap", "--inject", "-d", "0.2", "--allow-empty", "-p", target.pid).wait()
    target.go()
    assert target.says() == {"got": 1}
    assert target.wait() == 0


STACKS = r"""
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define BESIDE (1 << 20)
#define SMALL (32 << 10)
static unsigned char *memory; /* and above it a small stack */
static ucontext_t first, other;

static void wait_for_line(void)
{
	struct pollfd line = {.fd = STDIN_FILENO, .events = POLLIN};
	char c;

	write(STDOUT_FILENO, "{}\n", 3);
	while (poll(&line, 1, -1) < 0 && errno == EINTR)
		;
	read(STDIN_FILENO, &c, 1);
}

static void wait_in_handler(int signal)
{
	wait_for_line();
}

static void on_other_stack(void)
{
	makecontext(&other, wait_for_line, 0);
	swapcontext(&first, &other);
}

static void in_handler(int flags)
{
	struct sigaction action = {.sa_handler = wait_in_handler, .sa_flags = flags};
	stack_t stack = {.ss_sp = memory + BESIDE, .ss_size = SMALL};

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
}

/* As within pthread_create(). */
static void with_lock(void)
{
	const uint32_t *field = dlsym(RTLD_DEFAULT, "_thread_db_rtld_global__dl_stack_user");
	volatile int *lock = (int *)((char *)dlsym(RTLD_DEFAULT, "_rtld_global") + field[2] + 48);

	*lock = 1;
	wait_for_line();
	*lock = 0;
}

static void with_all_blocked(void)
{
	uint64_t all = ~0ull, before;

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, 8);
	wait_for_line();
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, 8);
}

int main(int argc, char **argv)
{
	int overwritten = 0;

	free(malloc(1));
	mprotect(NULL, 0, 0); /* is resolved */
	memory = mmap(NULL, BESIDE + SMALL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(memory, 0x5a, BESIDE);
	getcontext(&other);
	other.uc_stack.ss_sp = memory + BESIDE;
	other.uc_stack.ss_size = SMALL;
	other.uc_link = &first;
	if (!strcmp(argv[1], "coroutine"))
		on_other_stack();
	else if (!strcmp(argv[1], "altstack"))
		in_handler(SA_ONSTACK);
	else if (!strcmp(argv[1], "handler"))
		in_handler(SA_NODEFER);
	else if (!strcmp(argv[1], "lock"))
		with_lock();
	else
		with_all_blocked();
	for (int i = 0; i < BESIDE; i++)
		overwritten += memory[i] != 0x5a;
	printf("{\"overwritten\": %d}\n", overwritten);
	fflush(stdout);
	wait_for_line();
	return 0;
}
"""


@h.test
def a_stack_that_is_not_its_own():
    """A coroutine's, or a handler's, or its own while the C library works on the threads' stacks: such a thread makes no call. Once it
    is back on its own stack, and out of all that, it does."""
    path = injecting.built("stacks", STACKS)
    targets = {}
    for mode in ("coroutine", "altstack", "handler", "lock", "blocked"):
        target = h.Workload(path, mode)
        target.says()
        waits_in(target, "7 ")  # poll
        targets[mode] = target, h.cprof("heap", "--inject", "-d", "1s", "-p", target.pid)
    for mode, (target, run) in targets.items():
        run = run.wait()
        reason = "outside the loader" if mode in ("lock", "blocked") else "was on its own stack"
        assert run.code == 4 and any(reason in line for line in run.lines), (mode, run.lines)
        with open(f"/proc/{target.pid}/maps", encoding="utf-8") as file:
            assert injecting.LIBRARY not in file.read(), mode
        target.go()
        assert target.says() == {"overwritten": 0}, mode
        target.says()
        waits_in(target, "7 ")
        injecting.injected(target, "--allow-empty").stop()
        injecting.slots_are_as_before(target.pid)
        target.go()
        assert target.wait() == 0, mode


BIG_FRAME = r"""
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

int main(void)
{
	volatile char big[1 << 20]; /* more than the kernel maps of the stack at first */
	struct pollfd line = {.fd = STDIN_FILENO, .events = POLLIN};

	free(malloc(1));
	big[0] = 0;
	write(STDOUT_FILENO, "{}\n", 3);
	poll(&line, 1, -1);
	return big[0];
}
"""


@h.test
def a_stack_of_which_nothing_below_is_mapped_yet():
    """The kernel maps the first thread's stack as it is used."""
    target = h.Workload(injecting.built("big-frame", BIG_FRAME))
    target.says()
    waits_in(target, "7 ")
    try:
        injecting.injected(target, "--allow-empty").stop()
    except h.Skip as why:
        raise AssertionError("it waits in poll(), where it can make a call") from why
    injecting.slots_are_as_before(target.pid)
    target.go()
    assert target.wait() == 0


STOPS_LATE = r"""
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int was_asked;
static char path[64], text[4096];

/* Not to be stopped until the first thread was asked to. */
static void *wait_for_that(void *arg)
{
	if (!vfork()) {
		for (int i = 0; !was_asked && i < 60000; i++)
			usleep(1000);
		_exit(0);
	}
	free(malloc(1));
	poll(NULL, 0, -1);
	return arg;
}

static int is_traced(void)
{
	int file = open(path, O_RDONLY), nr = read(file, text, sizeof(text) - 1);
	const char *tracer;

	text[nr > 0 ? nr : 0] = 0;
	close(file);
	tracer = strstr(text, "TracerPid:\t");
	return tracer && tracer[11] != '0';
}

/* The children share its memory; while one runs, this thread cannot be stopped. */
int main(void)
{
	void *volatile marks[8] = {malloc, malloc, malloc, malloc}; /* as if it was within */
	pthread_t thread;

	signal(SIGCHLD, SIG_IGN);
	snprintf(path, sizeof(path), "/proc/%d/status", getpid());
	free(malloc(1));
	pthread_create(&thread, NULL, wait_for_that, NULL);
	write(STDOUT_FILENO, "{}\n", 3);
	while (!was_asked) {
		if (!vfork()) {
			if (is_traced()) {
				sleep(1);
				if (is_traced()) { /* it did not just pass by */
					was_asked = 1;
					sleep(3);
				}
			}
			_exit(0);
		}
		for (volatile int i = 0; i < 20000; i++)
			;
	}
	write(STDOUT_FILENO, "{}\n", 3);
	poll(NULL, 0, -1);
	return marks[0] == NULL;
}
"""


@h.test
def a_thread_that_stops_late():
    """It sleeps in vfork() for longer than it is waited for; another thread makes the call. It goes on when it does stop, while cprof
    runs on."""
    target = h.Workload(injecting.built("stops-late", STOPS_LATE))
    target.says()
    run = injecting.injected(target, "--allow-empty")
    timer = threading.Timer(h.HANGS, target.process.kill)
    timer.start()
    target.says()
    timer.cancel()
    with open(f"/proc/{target.pid}/status", encoding="utf-8") as file:
        assert "TracerPid:\t0\n" in file.read()
    assert run.process.poll() is None
    run.stop()
    injecting.slots_are_as_before(target.pid)


h.main()
