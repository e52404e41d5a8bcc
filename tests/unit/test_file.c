// SPDX-License-Identifier: BSD-2-Clause
/* Output files: the temporary name, owners, links, full disks, and what is left after a failure. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "output/file.h"
#include "temp.h"

#define OTHER_UID 54321

static const struct output_owner nobody_given = {0};

/* Each test in an empty folder of its own, which is the working directory. */
static int set_up(void **state)
{
	*state = temp_folder();
	return chdir(*state);
}

static int tear_down(void **state)
{
	free(*state);
	return chdir("/");
}

static size_t nr_files(void)
{
	DIR *folder = opendir(".");
	size_t nr = 0;

	assert_non_null(folder);
	while (readdir(folder))
		nr++;
	closedir(folder);
	return nr - 2; /* . and .. */
}

static void assert_holds(const char *path, const char *text)
{
	char got[256] = "";
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	assert_int_equal(fread(got, 1, sizeof(got) - 1, file), strlen(text));
	fclose(file);
	assert_string_equal(got, text);
}

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

/* create, write and commit; the error of the first that fails. */
static int write_whole(const char *path, const struct output_owner *owner, const char *text)
{
	struct output_file *file = NULL;
	int err = output_file_create(path, owner, &file);

	if (err) {
		assert_null(file);
		return err;
	}
	err = output_file_write(file, text, strlen(text));
	if (err) {
		output_file_abandon(file);
		return err;
	}
	return output_file_commit(file);
}

/* Both the check and the real thing refuse, and leave everything as it was. */
static void assert_refused(const char *path, int err)
{
	size_t nr = nr_files();

	assert_int_equal(output_file_check(path, &nobody_given), err);
	assert_int_equal(write_whole(path, &nobody_given, "new"), err);
	assert_int_equal(nr_files(), nr);
}

static void test_a_new_file(void **state)
{
	struct stat st;

	(void)state;
	umask(0);
	assert_int_equal(output_file_check("out", &nobody_given), 0);
	assert_int_equal(nr_files(), 0);
	assert_int_equal(write_whole("out", &nobody_given, "hello"), 0);
	assert_holds("out", "hello");
	assert_int_equal(stat("out", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(nr_files(), 1);
}

static void test_the_mode_does_not_depend_on_umask(void **state)
{
	struct stat st;

	(void)state;
	umask(0777);
	assert_int_equal(write_whole("out", &nobody_given, "x"), 0);
	umask(022);
	assert_int_equal(stat("out", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
}

static void test_replaces_only_when_whole(void **state)
{
	struct output_file *file;

	(void)state;
	put("out", "old");
	assert_int_equal(output_file_create("out", &nobody_given, &file), 0);
	assert_int_equal(output_file_write(file, "new", 3), 0);
	assert_holds("out", "old");
	assert_int_equal(output_file_commit(file), 0);
	assert_holds("out", "new");

	assert_int_equal(output_file_create("out", &nobody_given, &file), 0);
	assert_int_equal(output_file_write(file, "newer", 5), 0);
	output_file_abandon(file);
	assert_holds("out", "new");
	assert_int_equal(nr_files(), 1);
	output_file_abandon(NULL);
}

static void test_refuses_symlinks(void **state)
{
	(void)state;
	put("target", "old");
	assert_int_equal(symlink("target", "link"), 0);
	assert_int_equal(symlink("nowhere", "dangling"), 0);
	assert_refused("link", -ELOOP);
	assert_refused("dangling", -ELOOP);
	assert_holds("target", "old");
	assert_int_equal(access("nowhere", F_OK), -1);
}

static void test_refuses_what_is_no_file(void **state)
{
	(void)state;
	assert_int_equal(mkdir("folder", 0700), 0);
	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_refused("folder", -EEXIST);
	assert_refused("folder/", -EEXIST);
	assert_refused(".", -EEXIST);
	assert_refused("folder/..", -EEXIST);
	assert_refused("fifo", -EEXIST);
	assert_refused("/dev/full", -EEXIST);
	assert_refused("/dev/stdout", -ELOOP);
}

static void test_refuses_bad_paths(void **state)
{
	char long_name[PATH_MAX + 10];

	(void)state;
	put("file", "x");
	assert_refused("", -ENOENT);
	assert_refused("missing/out", -ENOENT);
	assert_refused("file/out", -ENOTDIR);
	memset(long_name, 'a', NAME_MAX + 1);
	long_name[NAME_MAX + 1] = '\0';
	assert_refused(long_name, -ENAMETOOLONG);
	long_name[NAME_MAX] =
		'\0'; /* the longest there can be: the temporary's name must fit too */
	assert_int_equal(write_whole(long_name, &nobody_given, "x"), 0);
	memset(long_name, '/', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	assert_refused(long_name, -ENAMETOOLONG);
}

static void test_folders_may_be_anywhere(void **state)
{
	char *absolute scoped(freep) = xasprintf("%s/sub/../sub/out", (char *)*state);

	assert_int_equal(mkdir("sub", 0700), 0);
	assert_int_equal(symlink("sub", "way"), 0);
	assert_int_equal(write_whole(absolute, &nobody_given, "1"), 0);
	assert_holds("sub/out", "1");
	assert_int_equal(write_whole("way/out", &nobody_given, "2"), 0);
	assert_holds("sub/out", "2");
}

static void test_a_swap_after_the_check(void **state)
{
	struct output_file *file;

	(void)state;
	put("target", "old");
	assert_int_equal(output_file_create("out", &nobody_given, &file), 0);
	assert_int_equal(symlink("target", "out"), 0);
	assert_int_equal(output_file_commit(file), -ELOOP);
	assert_holds("target", "old");
	assert_int_equal(nr_files(), 2);
}

static void test_owners(void **state)
{
	struct output_owner owner = {.given = true, .uid = OTHER_UID, .gid = OTHER_UID};
	struct stat st;

	(void)state;
	if (geteuid()) {
		print_message("needs root\n");
		skip();
	}
	put("out", "old");
	assert_int_equal(chown("out", OTHER_UID, OTHER_UID), 0);
	assert_refused("out", -EEXIST); /* somebody else's */
	assert_holds("out", "old");
	assert_int_equal(write_whole("out", &owner, "new"), 0); /* of who shall have it */
	assert_holds("out", "new");
	assert_int_equal(stat("out", &st), 0);
	assert_int_equal(st.st_uid, OTHER_UID);
	assert_int_equal(st.st_gid, OTHER_UID);
	assert_int_equal(st.st_mode & 07777, 0600);
}

static void test_unwritable_folder(void **state)
{
	pid_t child;
	int status;

	(void)state;
	assert_int_equal(mkdir("locked", 0555), 0);
	assert_int_equal(chmod(".", 0755), 0);
	child = fork();
	if (!child) {
		if (!geteuid() && (setgid(OTHER_UID) || setuid(OTHER_UID)))
			_exit(9);
		_exit(output_file_check("locked/out", &nobody_given) == -EACCES &&
				      write_whole("locked/out", &nobody_given, "x") == -EACCES
			      ? 0
			      : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void test_file_too_large(void **state)
{
	struct rlimit old, small = {.rlim_cur = 4096};
	struct output_file *file;
	char bytes[3000] = "";

	(void)state;
	put("out", "old");
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small.rlim_max = old.rlim_max;
	assert_int_equal(output_file_create("out", &nobody_given, &file), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(output_file_write(file, bytes, sizeof(bytes)), 0);
	assert_int_equal(output_file_write(file, bytes, sizeof(bytes)), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	output_file_abandon(file);
	assert_holds("out", "old");
	assert_int_equal(nr_files(), 1);
}

/* In a child with a mount namespace of its own: 0 if all is as it should be. */
static int fill_a_disk(void)
{
	struct output_file *file;
	char bytes[4096] = "";
	int err = 0;

	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mkdir("disk", 0700) || mount("none", "disk", "tmpfs", 0, "size=64k") || chdir("disk"))
		return 77;
	put("out", "old");
	if (output_file_create("out", &nobody_given, &file))
		return 1;
	for (int i = 0; i < 100 && !err; i++)
		err = output_file_write(file, bytes, sizeof(bytes));
	if (err != -ENOSPC)
		return 2;
	output_file_abandon(file);
	assert_holds("out", "old");
	return nr_files() == 1 ? 0 : 3;
}

static void test_a_full_disk(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	if (!child)
		_exit(fill_a_disk());
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WEXITSTATUS(status) == 77) {
		print_message("needs root and a mount namespace\n");
		skip();
	}
	assert_int_equal(status, 0);
}

static void test_the_user_behind_sudo(void **state)
{
	static const struct {
		const char *uid, *gid;
		bool given;
	} cases[] = {
		{"1000", "1001", true},
		{"0", "0", true},
		{NULL, "1", false},
		{"1", NULL, false},
		{"", "1", false},
		{"-1", "1", false},
		{"1x", "1", false},
		{" 1", "1", false},
		{"4294967295", "1", false},
		{"1", "4294967296", false},
		{"99999999999999999999", "1", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct output_owner owner;

		unsetenv("SUDO_UID");
		unsetenv("SUDO_GID");
		if (cases[i].uid)
			setenv("SUDO_UID", cases[i].uid, 1);
		if (cases[i].gid)
			setenv("SUDO_GID", cases[i].gid, 1);
		owner = output_owner_from_env();
		assert_int_equal(owner.given, cases[i].given && !geteuid());
	}
	setenv("SUDO_UID", "1000", 1);
	setenv("SUDO_GID", "1001", 1);
	if (!geteuid()) {
		assert_int_equal(output_owner_from_env().uid, 1000);
		assert_int_equal(output_owner_from_env().gid, 1001);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_a_new_file),
		TEST(test_the_mode_does_not_depend_on_umask),
		TEST(test_replaces_only_when_whole),
		TEST(test_refuses_symlinks),
		TEST(test_refuses_what_is_no_file),
		TEST(test_refuses_bad_paths),
		TEST(test_folders_may_be_anywhere),
		TEST(test_a_swap_after_the_check),
		TEST(test_owners),
		TEST(test_unwritable_folder),
		TEST(test_file_too_large),
		TEST(test_a_full_disk),
		TEST(test_the_user_behind_sudo),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
