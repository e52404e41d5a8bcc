// SPDX-License-Identifier: BSD-2-Clause
/*
 * In forked processes that confine themselves as a reading command does: what they must not do is refused, without ending
 * them; what they are there for works.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "output/file.h"
#include "sandbox/capset.h"
#include "sandbox/reader.h"
#include "temp.h"

#define NOBODY	     65534
#define ANOTHER_FILE "another" /* it is there before, in the folder or below it */

/* What is tried: 0, or -errno. */
typedef int (*act_fn)(const char *folder);

static int result(long rc)
{
	return rc < 0 ? -errno : 0;
}

static char *path_in(const char *folder, const char *name)
{
	return xasprintf("%s/%s", folder, name);
}

static int open_close(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/* What is refused -------------------------------------------------------------------------------- */

static int run_program(const char *folder)
{
	(void)folder;
	return result(execl("/bin/true", "true", NULL));
}

static int run_program_at(const char *folder)
{
	char *const argv[] = {(char *)folder, NULL};

	return result(syscall(SYS_execveat, AT_FDCWD, "/bin/true", argv, NULL, 0));
}

static int make_process(const char *folder)
{
	pid_t pid = fork();

	(void)folder;
	if (!pid)
		_exit(0);
	return result(pid);
}

static int make_process_by_clone3(const char *folder)
{
	struct {
		uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
	} arguments = {.exit_signal = SIGCHLD};
	long pid = syscall(SYS_clone3, &arguments, sizeof(arguments));

	(void)folder;
	if (!pid)
		_exit(0);
	return result(pid);
}

static int make_socket(const char *folder)
{
	(void)folder;
	return result(socket(AF_INET, SOCK_STREAM, 0));
}

static int make_local_socket(const char *folder)
{
	(void)folder;
	return result(socket(AF_UNIX, SOCK_STREAM, 0));
}

static int trace_parent(const char *folder)
{
	(void)folder;
	return result(ptrace(PTRACE_SEIZE, getppid(), NULL, NULL));
}

static int signal_parent(const char *folder)
{
	(void)folder;
	return result(kill(getppid(), SIGURG)); /* ignored by default */
}

static int signal_parents_thread(const char *folder)
{
	(void)folder;
	return result(syscall(SYS_tgkill, getppid(), getppid(), SIGURG));
}

static int let_the_kernel_signal(const char *folder)
{
	(void)folder;
	return result(fcntl(STDIN_FILENO, F_SETOWN, getppid()));
}

static int read_parents_memory(const char *folder)
{
	(void)folder;
	return result(syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0));
}

static int load_bpf(const char *folder)
{
	(void)folder;
	return result(syscall(SYS_bpf, 0, NULL, 0));
}

static int open_event(const char *folder)
{
	(void)folder;
	return result(syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0));
}

static int mount_something(const char *folder)
{
	return result(syscall(SYS_mount, "none", folder, "tmpfs", 0, NULL));
}

static int make_ring(const char *folder)
{
	(void)folder;
	return result(syscall(SYS_io_uring_setup, 1, NULL));
}

static int use_key(const char *folder)
{
	(void)folder;
	return result(syscall(SYS_keyctl, 0, -3, 0));
}

static int change_user(const char *folder)
{
	(void)folder;
	return result(syscall(SYS_setuid, 0));
}

static int run_memory(const char *folder)
{
	void *at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)folder;
	return at == MAP_FAILED ? -errno : 0;
}

static int type_on_terminal(const char *folder)
{
	(void)folder;
	return result(ioctl(STDIN_FILENO, TIOCSTI, "x"));
}

static int use_unknown_call(const char *folder)
{
	(void)folder;
	return result(syscall(1000));
}

static int raise_limit(const char *folder)
{
	(void)folder;
	return result(setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}));
}

static int give_to_somebody(const char *folder)
{
	char *path scoped(freep) = path_in(folder, ANOTHER_FILE);
	int fd scoped(closep) = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? 0 : result(fchown(fd, 1, 1));
}

static int show_to_everybody(const char *folder)
{
	char *path scoped(freep) = path_in(folder, ANOTHER_FILE);
	int fd scoped(closep) = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? 0 : result(fchmod(fd, 0666));
}

static const act_fn refused[] = {
	run_program,
	run_program_at,
	make_process,
	make_process_by_clone3,
	make_socket,
	make_local_socket,
	trace_parent,
	signal_parent,
	signal_parents_thread,
	let_the_kernel_signal,
	read_parents_memory,
	load_bpf,
	open_event,
	mount_something,
	make_ring,
	use_key,
	change_user,
	run_memory,
	type_on_terminal,
	use_unknown_call,
	raise_limit,
	give_to_somebody,
	show_to_everybody,
};

/* Files ------------------------------------------------------------------------------------------ */

static int read_any(const char *folder)
{
	(void)folder;
	return open_close("/etc/passwd", O_RDONLY);
}

static int write_there(const char *folder)
{
	char *path scoped(freep) = path_in(folder, ANOTHER_FILE);

	return open_close(path, O_WRONLY);
}

static int make_there(const char *folder)
{
	char *path scoped(freep) = path_in(folder, "made");

	return open_close(path, O_WRONLY | O_CREAT);
}

static int make_in_parent(const char *folder)
{
	char *path scoped(freep) = path_in(folder, "../made");

	return open_close(path, O_WRONLY | O_CREAT);
}

static int truncate_in_parent(const char *folder)
{
	char *path scoped(freep) = path_in(folder, "../" ANOTHER_FILE);

	return open_close(path, O_RDONLY | O_TRUNC);
}

static int remove_in_parent(const char *folder)
{
	char *path scoped(freep) = path_in(folder, "../" ANOTHER_FILE);

	return result(unlink(path));
}

/* As every output is written. */
static int write_output(const char *folder)
{
	char *path scoped(freep) = path_in(folder, "output");
	struct output_owner owner = {.given = false};
	struct output_file *file;
	int err = output_file_create(path, &owner, &file);

	if (!err)
		err = output_file_write(file, "x", 1);
	return err ? err : output_file_commit(file);
}

/* What else works --------------------------------------------------------------------------------- */

static void *add_one(void *ctx)
{
	++*(int *)ctx;
	return NULL;
}

static int use_threads(const char *folder)
{
	pthread_t thread;
	int nr = 0;

	(void)folder;
	if (pthread_create(&thread, NULL, add_one, &nr) || pthread_join(thread, NULL))
		return -EAGAIN;
	return nr == 1 ? 0 : -EINVAL;
}

static int use_memory(const char *folder)
{
	size_t bytes = 64u << 20;
	char *block = malloc(bytes);

	(void)folder;
	if (!block)
		return -ENOMEM;
	memset(block, 1, bytes);
	block = xreallocarray(block, 2, bytes);
	block[2 * bytes - 1] = 1;
	free(block);
	return 0;
}

static volatile sig_atomic_t nr_signals;

static void count(int number)
{
	(void)number;
	nr_signals++;
}

static int raise_signal(const char *folder)
{
	(void)folder;
	signal(SIGUSR1, count);
	raise(SIGUSR1);
	return nr_signals == 1 ? 0 : -EINVAL;
}

/* Confined processes ------------------------------------------------------------------------------ */

struct setup {
	char *parent, *folder, *output; /* the output is in the folder, the folder in the parent */
	struct reader_files files;
};

static void touch(const char *folder, const char *name)
{
	char *path scoped(freep) = path_in(folder, name);

	assert_int_equal(open_close(path, O_WRONLY | O_CREAT), 0);
}

static void setup_begin(struct setup *setup, bool has_output)
{
	*setup = (struct setup){.parent = temp_folder()};
	setup->folder = path_in(setup->parent, "folder");
	setup->output = path_in(setup->folder, "output");
	assert_int_equal(mkdir(setup->folder, 0700), 0);
	touch(setup->parent, ANOTHER_FILE);
	touch(setup->folder, ANOTHER_FILE);
	setup->files = (struct reader_files){.outputs = (const char *const *)&setup->output,
					     .nr_outputs = has_output};
}

static void setup_end(struct setup *setup)
{
	free(setup->parent);
	free(setup->folder);
	free(setup->output);
}

/* What becomes of act in a confined process: 0, or -errno; -ECHILD: it was killed; *missing is what is not confined. */
static int try(const struct setup *setup, act_fn act, uint32_t *missing)
{
	int fds[2], status, said[2] = {0};
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		said[1] = confine_reader(&setup->files);
		said[0] = act(setup->folder);
		_exit(write(fds[1], said, sizeof(said)) != sizeof(said));
	}
	close(fds[1]);
	if (read(fds[0], said, sizeof(said)) != sizeof(said))
		said[0] = -ECHILD;
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	*missing = said[1];
	return said[0];
}

static void test_refused(void **state)
{
	struct setup setup;
	uint32_t missing;

	(void)state;
	if (CONFINE_IS_SANITIZED)
		skip();
	for (int has_output = 0; has_output < 2; has_output++) {
		setup_begin(&setup, has_output);
		for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
			int err = try(&setup, refused[i], &missing);

			assert_false(missing & CONFINE_NO_SECCOMP);
			if (err != -ENOSYS && err != -EACCES && err != -EPERM)
				fail_msg("act %zu: %d", i, err);
		}
		setup_end(&setup);
	}
}

static void test_works(void **state)
{
	static const act_fn acts[] = {read_any, use_threads, use_memory, raise_signal};
	struct setup setup;
	uint32_t missing;

	(void)state;
	for (int has_output = 0; has_output < 2; has_output++) {
		setup_begin(&setup, has_output);
		for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++)
			assert_int_equal(try(&setup, acts[i], &missing), 0);
		if (has_output)
			assert_int_equal(try(&setup, write_output, &missing), 0);
		setup_end(&setup);
	}
}

/* Without an output the flags of open() decide, and nothing can be written on a kernel without landlock either. */
static void test_without_output_nothing_is_written(void **state)
{
	static const act_fn acts[] = {write_there,	  make_there,	    make_in_parent,
				      truncate_in_parent, remove_in_parent, write_output};
	struct setup setup;
	uint32_t missing;

	(void)state;
	setup_begin(&setup, false);
	for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++)
		if (!CONFINE_IS_SANITIZED)
			assert_int_equal(try(&setup, acts[i], &missing), -ENOSYS);
	setup_end(&setup);
}

static void test_output_stays_in_its_folder(void **state)
{
	static const act_fn acts[] = {make_in_parent, truncate_in_parent, remove_in_parent};
	struct setup setup;
	uint32_t missing;

	(void)state;
	setup_begin(&setup, true);
	for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++) {
		int err = try(&setup, acts[i], &missing);

		if (!(missing & CONFINE_NO_LANDLOCK))
			assert_int_equal(err, -EACCES);
	}
	setup_end(&setup);
}

/* A folder that is not there yet is made, and files in it. */
static int make_folder(const char *folder)
{
	char *made scoped(freep) = path_in(folder, "output");

	return mkdir(made, 0700) ? -errno : write_output(made);
}

static void test_output_folder_is_made(void **state)
{
	struct setup setup;
	uint32_t missing;

	(void)state;
	setup_begin(&setup, true);
	assert_int_equal(try(&setup, make_folder, &missing), 0);
	setup_end(&setup);
}

/* Capabilities ----------------------------------------------------------------------------------- */

/* What /proc says: capget() is refused. */
static int kept(const char *folder)
{
	FILE *status = fopen("/proc/self/status", "re");
	unsigned long permitted = 0;
	char line[256];

	(void)folder;
	while (status && fgets(line, sizeof(line), status))
		sscanf(line, "CapPrm: %lx", &permitted);
	if (!status || fclose(status))
		return -EIO;
	return permitted & CAPSET_OF(CAP_DAC_OVERRIDE) ? CAP_DAC_OVERRIDE
	       : permitted			       ? CAP_DAC_READ_SEARCH
						       : -ENOENT;
}

static int give_to_nobody(const char *folder)
{
	char *path scoped(freep) = path_in(folder, ANOTHER_FILE);
	int fd scoped(closep) = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : result(fchown(fd, NOBODY, NOBODY));
}

/* Root gives up all, unless files are another user's. */
static void test_capabilities_for_files(void **state)
{
	char *other scoped(freep) = NULL;
	struct setup setup;
	uint32_t missing;

	(void)state;
	if (geteuid())
		skip();
	setup_begin(&setup, true);
	other = path_in(setup.folder, ANOTHER_FILE);
	setup.files.inputs = (const char *const *)&other;
	setup.files.nr_inputs = 1;
	assert_int_equal(try(&setup, kept, &missing), -ENOENT);
	assert_int_equal(missing & CONFINE_NO_CAPSET, 0);
	assert_int_equal(chown(other, NOBODY, NOBODY), 0);
	assert_int_equal(try(&setup, kept, &missing), CAP_DAC_READ_SEARCH);
	assert_int_equal(chown(setup.folder, NOBODY, NOBODY), 0);
	assert_int_equal(try(&setup, kept, &missing), CAP_DAC_OVERRIDE);
	assert_int_equal(try(&setup, write_output, &missing), 0);
	setup_end(&setup);
}

static void test_gifts_go_to_one_user(void **state)
{
	struct setup setup;
	uint32_t missing;

	(void)state;
	if (geteuid() || CONFINE_IS_SANITIZED)
		skip();
	setup_begin(&setup, true);
	setup.files.gives_away = true;
	setup.files.uid = setup.files.gid = NOBODY;
	assert_int_equal(try(&setup, give_to_nobody, &missing), 0);
	assert_int_equal(try(&setup, give_to_somebody, &missing), -ENOSYS);
	setup_end(&setup);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_works),
		cmocka_unit_test(test_without_output_nothing_is_written),
		cmocka_unit_test(test_output_stays_in_its_folder),
		cmocka_unit_test(test_output_folder_is_made),
		cmocka_unit_test(test_capabilities_for_files),
		cmocka_unit_test(test_gifts_go_to_one_user),
	};

	return cmocka_run_group_tests_name("reader", tests, NULL, NULL);
}
