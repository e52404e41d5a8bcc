// SPDX-License-Identifier: BSD-2-Clause
/*
 * Overlays in mount namespaces of a tree of processes, whose first is process 1 of a PID namespace. Each case is a child, for
 * it changes what is mounted. Who mounts is root in all of them: whether a namespace is cprof's or not is what counts.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "process/mounts.h"
#include "temp.h"

#define SKIPPED 77
#define CHECK(condition)                                                   \
	do {                                                               \
		if (!(condition)) {                                        \
			fprintf(stderr, "%d: " #condition "\n", __LINE__); \
			_exit(1);                                          \
		}                                                          \
	} while (0)

static char *dir;

/* Mounts an overlay, with a file, on a folder of that name. */
static bool mount_overlay(const char *name)
{
	char *merged scoped(freep) = xasprintf("%s/%s", dir, name);
	char *options scoped(freep) = xasprintf("lowerdir=%s/lower:%s/empty", dir, dir);

	mkdir(merged, 0755);
	return !mount("overlay", merged, "overlay", MS_RDONLY, options);
}

static void unmount_overlay(const char *name)
{
	char *merged scoped(freep) = xasprintf("%s/%s", dir, name);

	CHECK(!umount2(merged, MNT_DETACH));
}

/* The file of an overlay, as tgid sees it. */
static int open_in(pid_t tgid, const char *name)
{
	char *path scoped(freep) = xasprintf("/proc/%d/root%s/%s/file", (int)tgid, dir, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0);
	return fd;
}

static bool is_privileged(struct mounts *mounts, uint32_t task, pid_t tgid, const char *name)
{
	int fd scoped(closep) = open_in(tgid, name);

	return mounts_are_privileged(mounts, task, fd);
}

/* A child in a mount namespace of its own, with an overlay there if that has a name. It lives until this process ends. */
static pid_t container(const char *name)
{
	int ready[2];
	char byte;
	pid_t pid;

	CHECK(!pipe2(ready, O_CLOEXEC));
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		CHECK(!unshare(CLONE_NEWNS) && (!name || mount_overlay(name)) &&
		      write(ready[1], "x", 1) == 1);
		for (;;)
			pause();
	}
	close(ready[1]);
	CHECK(read(ready[0], &byte, 1) == 1);
	close(ready[0]);
	return pid;
}

/* What is mounted in this namespace, when and whoever looks at it; a copy of it in another one. */
static void of_this_namespace(void)
{
	struct mounts mounts = {0};
	pid_t engine;

	CHECK(is_privileged(&mounts, 0, getpid(), "first"));
	CHECK(is_privileged(&mounts, getpid(), getpid(), "first"));
	CHECK(mount_overlay("later"));
	CHECK(is_privileged(&mounts, 0, getpid(), "later"));
	engine = container(NULL);
	CHECK(is_privileged(&mounts, engine, engine, "first"));
	CHECK(!is_privileged(&mounts, 0, engine, "first"));
	CHECK(!is_privileged(&mounts, 1u << 30, engine, "first"));
	unmount_overlay("later");
	CHECK(!is_privileged(&mounts, engine, engine, "later"));
	CHECK(is_privileged(&mounts, engine, engine, "first"));
	mounts_release(&mounts);
}

static void of_another_namespace(void)
{
	struct mounts mounts = {0};
	pid_t other = container("theirs");

	CHECK(!is_privileged(&mounts, other, other, "theirs"));
	CHECK(!is_privileged(&mounts, 0, other, "theirs"));
	CHECK(!is_privileged(&mounts, getpid(), other, "theirs"));
	CHECK(is_privileged(&mounts, other, other, "first"));
	/* The numbers of what is gone are used again. */
	unmount_overlay("first");
	for (int i = 0; i < 8; i++) {
		CHECK(!is_privileged(&mounts, other, other, "theirs"));
		kill(other, SIGKILL);
		CHECK(waitpid(other, NULL, 0) == other);
		CHECK(mount_overlay("first") && is_privileged(&mounts, 0, getpid(), "first"));
		unmount_overlay("first");
		other = container("theirs");
	}
	mounts_release(&mounts);
}

/* cprof in a container that sees the host's processes: what is mounted on the host counts. */
static void of_process_1(void)
{
	int fd scoped(closep) = open_in(1, "first");
	struct mounts mounts = {0};
	pid_t other;

	CHECK(!unshare(CLONE_NEWNS));
	unmount_overlay("first");
	CHECK(mounts_are_privileged(&mounts, 1, fd));
	other = container("theirs");
	CHECK(!is_privileged(&mounts, other, other, "theirs"));
	/* Not where the user namespace is another one: process 1 may be anybody there. */
	CHECK(!unshare(CLONE_NEWUSER));
	mounts_release(&mounts);
	CHECK(!mounts_are_privileged(&mounts, 1, fd));
	mounts_release(&mounts);
}

static int in_child(void (*fn)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		fn();
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* As process 1, with an overlay in its mount namespace. */
static void run_as_init(void (*fn)(void))
{
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("proc", "/proc", "proc", 0, NULL) || !mount_overlay("first"))
		_exit(SKIPPED);
	_exit(in_child(fn));
}

static void run_in_tree(void (*fn)(void))
{
	int status;
	pid_t pid;

	if (geteuid() || unshare(CLONE_NEWPID))
		_exit(SKIPPED);
	pid = fork();
	if (!pid)
		run_as_init(fn);
	CHECK(waitpid(pid, &status, 0) == pid);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

static void check(void (*fn)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid)
		run_in_tree(fn);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED) {
		print_message("SKIP: needs root and overlays\n");
		skip();
	}
	assert_int_equal(status, 0);
}

static void test_this_namespace(void **state)
{
	(void)state;
	check(of_this_namespace);
}

static void test_another_namespace(void **state)
{
	(void)state;
	check(of_another_namespace);
}

static void test_process_1(void **state)
{
	(void)state;
	check(of_process_1);
}

static int set_up(void **state)
{
	char *lower, *empty, *file;
	int fd;

	(void)state;
	dir = temp_folder();
	lower = xasprintf("%s/lower", dir);
	empty = xasprintf("%s/empty", dir);
	file = xasprintf("%s/file", lower);
	chmod(dir, 0755);
	mkdir(lower, 0755);
	mkdir(empty, 0755);
	fd = open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	close(fd);
	free(lower);
	free(empty);
	free(file);
	return fd < 0;
}

static int tear_down(void **state)
{
	(void)state;
	free(dir);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_this_namespace),
		cmocka_unit_test(test_another_namespace),
		cmocka_unit_test(test_process_1),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
