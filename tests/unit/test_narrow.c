// SPDX-License-Identifier: BSD-2-Clause
/*
 * In forked processes that give up what main gives up: what main does after attaching works, in a thread that was there
 * before as well; programs, processes, the network and the rest of the machine are refused.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "sandbox/confine.h"
#include "sandbox/narrow.h"
#include "temp.h"

/* What is tried: 0, or -errno. */
typedef int (*act_fn)(void);

static int result(long rc)
{
	return rc < 0 ? -errno : 0;
}

static int result_of_fd(long fd)
{
	int err = result(fd);

	if (!err)
		close((int)fd);
	return err;
}

/* What is refused -------------------------------------------------------------------------------- */

static int run_program(void)
{
	return result(execl("/bin/true", "true", NULL));
}

static int make_process(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	return result(pid);
}

static int trace(void)
{
	return result(ptrace(PTRACE_SEIZE, getppid(), NULL, NULL));
}

static int read_memory(void)
{
	return result(syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0));
}

static int write_memory(void)
{
	return result(syscall(SYS_process_vm_writev, getppid(), NULL, 0, NULL, 0, 0));
}

static int use_network(void)
{
	return result_of_fd(socket(AF_INET, SOCK_DGRAM, 0));
}

static int load_module(void)
{
	return result(syscall(SYS_finit_module, -1, "", 0));
}

static int mount_something(void)
{
	return result(syscall(SYS_mount, "none", "/", "tmpfs", 0, NULL));
}

static int change_root(void)
{
	return result(chroot("/"));
}

static int enter_namespace(void)
{
	return result(syscall(SYS_setns, -1, 0));
}

static int change_user(void)
{
	return result(syscall(SYS_setresuid, -1, -1, -1));
}

static int use_key(void)
{
	return result(syscall(SYS_keyctl, 0, -3, 0));
}

static int make_ring(void)
{
	return result(syscall(SYS_io_uring_setup, 1, NULL));
}

static int watch_faults(void)
{
	return result_of_fd(syscall(SYS_userfaultfd, 0));
}

static int set_clock(void)
{
	return result(syscall(SYS_clock_settime, 0, NULL));
}

static const act_fn refused[] = {
	run_program, make_process, trace,	    read_memory,  write_memory,
	use_network, load_module,  mount_something, change_root,  enter_namespace,
	change_user, use_key,	   make_ring,	    watch_faults, set_clock,
};

/* What works ------------------------------------------------------------------------------------- */

static int read_file(void)
{
	return result_of_fd(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
}

static int write_file(void)
{
	char *path scoped(freep) = temp_path("written");

	return result_of_fd(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

static int make_map(void)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};

	return result_of_fd(syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr)));
}

static int open_event(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = PERF_COUNT_SW_DUMMY};

	return result_of_fd(syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

static int make_pair(void)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return -errno;
	close(ends[0]);
	close(ends[1]);
	return 0;
}

static int signal_target(void)
{
	return result(kill(getppid(), 0));
}

static int map_memory(void)
{
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? -errno : result(munmap(at, 4096));
}

static void *do_nothing(void *ctx)
{
	return ctx;
}

static int make_thread(void)
{
	pthread_t thread;

	return -pthread_create(&thread, NULL, do_nothing, NULL) ?: -pthread_join(thread, NULL);
}

static const act_fn working[] = {
	read_file, write_file,	  make_map,   open_event,
	make_pair, signal_target, map_memory, make_thread,
};

/* Processes -------------------------------------------------------------------------------------- */

struct earlier_thread {
	sem_t go;
	act_fn act;
	int result;
};

static void *act_when_told(void *ctx)
{
	struct earlier_thread *earlier = ctx;

	sem_wait(&earlier->go);
	earlier->result = earlier->act();
	return NULL;
}

/* In a process of its own: -1000: the narrowing itself failed. */
static void narrow_and_act(act_fn act, bool in_earlier_thread, int fd)
{
	struct earlier_thread earlier = {.act = act};
	pthread_t thread;
	int said;

	sem_init(&earlier.go, 0, 0);
	if (in_earlier_thread)
		pthread_create(&thread, NULL, act_when_told, &earlier);
	said = narrow_main(&(struct narrow_needs){0}) ? -1000 : 0;
	if (!said && in_earlier_thread) {
		sem_post(&earlier.go);
		pthread_join(thread, NULL);
		said = earlier.result;
	} else if (!said) {
		said = act();
	}
	_exit(write(fd, &said, sizeof(said)) != sizeof(said));
}

static int try(act_fn act, bool in_earlier_thread)
{
	int fds[2], said = -ECHILD;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		narrow_and_act(act, in_earlier_thread, fds[1]);
	close(fds[1]);
	if (read(fds[0], &said, sizeof(said)) != sizeof(said))
		said = -ECHILD;
	close(fds[0]);
	waitpid(pid, NULL, 0);
	return said;
}

static void test_refused(void **state)
{
	(void)state;
	if (CONFINE_IS_SANITIZED)
		skip();
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		for (int in_thread = 0; in_thread < 2; in_thread++)
			assert_int_equal(try(refused[i], in_thread), -EPERM);
}

static void test_works(void **state)
{
	(void)state;
	if (geteuid()) /* BPF and events need it */
		skip();
	for (size_t i = 0; i < sizeof(working) / sizeof(working[0]); i++)
		for (int in_thread = 0; in_thread < 2; in_thread++)
			assert_int_equal(try(working[i], in_thread), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_works),
	};

	free(temp_path("")); /* its owner is this process */
	return cmocka_run_group_tests_name("narrow", tests, NULL, NULL);
}
