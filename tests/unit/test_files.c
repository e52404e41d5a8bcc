// SPDX-License-Identifier: BSD-2-Clause
/* Hostile paths must not hang: alarm() ends a test that does. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/mapping.h"
#include "process/files.h"
#include "process/vetted.h"
#include "temp.h"

#define NOBODY 0x7ffffff0u /* a tgid that is never there */
#define SECRET "what the file holds"

static char *dir;

static const char *in_dir(const char *name)
{
	static char paths[4][300];
	static int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
	return path;
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void assert_holds(int fd, const char *text)
{
	char got[200] = "";

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, got, sizeof(got) - 1, 0), strlen(text));
	assert_string_equal(got, text);
}

/* What a mapping event of path says. */
static struct map_event event_of(const char *path)
{
	struct map_event map = {.start = 0x1000, .limit = 0x2000, .path = path};
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	map.dev_major = major(st.st_dev);
	map.dev_minor = minor(st.st_dev);
	map.inode = st.st_ino;
	return map;
}

static int vet(const char *path)
{
	return file_open_vetted(path, 0, 0, 0);
}

static void takes_regular_files(void **state)
{
	const char *path = in_dir("plain");
	struct map_event map;
	int fd, flags;

	(void)state;
	write_file(path, SECRET);
	fd = vet(path);
	assert_holds(fd, SECRET);
	flags = fcntl(fd, F_GETFL);
	assert_int_equal(flags & O_ACCMODE, O_RDONLY);
	assert_false(flags & O_PATH);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	map = event_of(path);
	fd = file_open_vetted(path, map.dev_major, map.dev_minor, map.inode);
	assert_holds(fd, SECRET);
	close(fd);
	assert_int_equal(file_open_vetted(path, map.dev_major, map.dev_minor, map.inode + 1),
			 -ESTALE);
	assert_int_equal(file_open_vetted(path, map.dev_major, map.dev_minor + 1, map.inode),
			 -ESTALE);
	assert_int_equal(file_open_vetted(path, map.dev_major + 1, map.dev_minor, map.inode),
			 -ESTALE);
}

static void refuses_all_else_at_once(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)state;
	alarm(300);
	assert_int_equal(mkfifo(in_dir("fifo"), 0666), 0);
	assert_int_equal(symlink(in_dir("fifo"), in_dir("link")), 0);
	strcpy(address.sun_path, in_dir("socket"));
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	close(fd);
	assert_int_equal(vet(in_dir("fifo")), -ENOTSUP);
	assert_int_equal(vet(in_dir("link")), -ENOTSUP);
	assert_int_equal(vet(in_dir("socket")), -ENOTSUP);
	assert_int_equal(vet(dir), -ENOTSUP);
	assert_int_equal(vet("/dev/zero"), -ENOTSUP);
	assert_int_equal(vet("/dev/tty"), -ENOTSUP);
	assert_int_equal(vet("/proc/self/maps"), -ENOTSUP);
	assert_int_equal(vet(in_dir("none")), -ENOENT);
	assert_int_equal(vet(""), -ENOENT);
	write_file(in_dir("empty"), "");
	assert_int_equal(vet(in_dir("empty")), -ENOTSUP);
	alarm(0);
}

static void bounds_the_size(void **state)
{
	const char *path = in_dir("sparse");
	int fd;

	(void)state;
	write_file(path, SECRET);
	assert_int_equal(truncate(path, FILES_MAX_BYTES), 0);
	fd = vet(path);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(truncate(path, FILES_MAX_BYTES + 1), 0);
	assert_int_equal(vet(path), -EFBIG);
	assert_int_equal(truncate(path, 1ll << 40), 0);
	assert_int_equal(vet(path), -EFBIG);
	unlink(path);
}

/* A write lease makes a plain open() wait for its holder, up to 45 s. */
static void does_not_wait_for_a_lease(void **state)
{
	const char *path = in_dir("leased");
	int ready[2], fd;
	pid_t child;
	char byte;

	(void)state;
	write_file(path, SECRET);
	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (!child) {
		fd = open(path, O_RDWR);
		signal(SIGIO, SIG_IGN);
		byte = fcntl(fd, F_SETLEASE, F_WRLCK) ? '-' : '+';
		if (write(ready[1], &byte, 1) == 1)
			pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	alarm(300);
	fd = byte == '+' ? vet(path) : -EWOULDBLOCK;
	alarm(0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(ready[0]);
	close(ready[1]);
	assert_int_equal(fd, -EWOULDBLOCK);
}

/* Maps the file at path and finds its line in our own maps, as a reader of /proc would. */
static void *map_and_find(const char *path, int flags, struct map_event *map, char **line)
{
	int fd = open(path, O_RDWR);
	void *at = mmap(NULL, 4096, PROT_READ, flags, fd, 0);
	FILE *maps = fopen("/proc/self/maps", "r");
	bool executable, found = false;
	size_t cap = 0;

	assert_true(at != MAP_FAILED);
	close(fd);
	*line = NULL;
	while (!found && getline(line, &cap, maps) > 0) {
		(*line)[strcspn(*line, "\n")] = '\0';
		assert_int_equal(mapping_parse(*line, map, &executable), 0);
		found = map->start == (uintptr_t)at;
	}
	fclose(maps);
	assert_true(found);
	return at;
}

static void need_root(void)
{
	if (!geteuid())
		return;
	print_message("SKIP: needs root (/proc/PID/map_files)\n");
	skip();
}

static void opens_what_is_unlinked(void **state)
{
	struct files *files = files_new("/proc");
	char path[300], deleted[320];
	struct map_event map;
	char *line;
	void *at;
	uint32_t i;

	(void)state;
	need_root();
	snprintf(path, sizeof(path), "%s", in_dir("lib a.so (1)"));
	snprintf(deleted, sizeof(deleted), "%s (deleted)", path);
	write_file(path, SECRET);
	at = map_and_find(path, MAP_PRIVATE, &map, &line);
	free(line);
	unlink(path);
	write_file(path, "another file");
	map.path = deleted; /* as maps shows it now */
	i = files_of(files, getpid(), &map);
	assert_int_equal(files_error(files, i), 0);
	assert_holds(files_fd(files, i), SECRET);
	assert_string_equal(files_path(files, i), path);
	munmap(at, 4096);
	/* It stays open, and costs no look at a process that is gone. */
	assert_int_equal(files_of(files, NOBODY, &map), i);
	assert_holds(files_fd(files, i), SECRET);
	files_free(files);
	/* A later request gets nothing, not even the other file at the same path. */
	files = files_new("/proc");
	i = files_of(files, getpid(), &map);
	assert_int_equal(files_fd(files, i), -1);
	assert_int_equal(files_error(files, i), -ESTALE);
	files_free(files);
}

static void refuses_mapped_devices(void **state)
{
	struct files *files = files_new("/proc");
	struct map_event map;
	char *line;
	void *at;
	uint32_t i;

	(void)state;
	need_root();
	at = map_and_find("/dev/zero", MAP_PRIVATE, &map, &line);
	i = files_of(files, getpid(), &map);
	assert_int_equal(files_error(files, i), -ENOTSUP);
	free(line);
	munmap(at, 4096);
	files_free(files);
}

/* The mapping was replaced before its event was looked at: map_files leads to another file. */
static void notices_a_mapping_that_was_replaced(void **state)
{
	struct files *files = files_new("/proc");
	struct map_event map, first;
	char *line;
	void *at;
	uint32_t i;

	(void)state;
	need_root();
	write_file(in_dir("first"), SECRET);
	write_file(in_dir("second"), "another file");
	first = event_of(in_dir("first"));
	at = map_and_find(in_dir("second"), MAP_PRIVATE, &map, &line);
	first.start = map.start;
	first.limit = map.limit;
	i = files_of(files, getpid(), &first);
	assert_holds(files_fd(files, i), SECRET);
	unlink(in_dir("first"));
	first.inode += 1000000;
	i = files_of(files, getpid(), &first);
	assert_int_equal(files_fd(files, i), -1);
	free(line);
	munmap(at, 4096);
	files_free(files);
}

static void serves_a_process_that_is_gone(void **state)
{
	struct files *files = files_new("/proc");
	struct map_event map;
	uint32_t i;

	(void)state;
	write_file(in_dir("bin"), SECRET);
	map = event_of(in_dir("bin"));
	i = files_of(files, NOBODY, &map);
	assert_holds(files_fd(files, i), SECRET);
	assert_int_equal(files_error(files, i), 0);
	/* Another mapping of it, under another name, is the same file. */
	map.start += 0x10000;
	map.limit += 0x10000;
	map.path = "/elsewhere";
	assert_int_equal(files_of(files, NOBODY, &map), i);
	assert_int_equal(files_nr(files), 1);
	assert_string_equal(files_path(files, i), in_dir("bin"));
	map.dev_minor++;
	assert_int_not_equal(files_of(files, NOBODY, &map), i);
	map.inode = 0;
	assert_int_equal(files_of(files, NOBODY, &map), FILE_NONE);
	assert_int_equal(files_nr(files), 2);
	files_free(files);
}

static void a_fifo_swapped_in_does_not_hang(void **state)
{
	struct files *files = files_new("/proc");
	const char *path = in_dir("swapped");
	struct map_event map;
	uint32_t i;

	(void)state;
	alarm(300);
	write_file(path, SECRET);
	map = event_of(path);
	assert_int_equal(rename(path, in_dir("aside")), 0); /* its inode must not be used again */
	assert_int_equal(mkfifo(path, 0666), 0);
	i = files_of(files, NOBODY, &map);
	assert_int_equal(files_fd(files, i), -1);
	assert_int_equal(files_error(files, i), -ESTALE);
	alarm(0);
	files_free(files);
}

/* Its descriptor still opens it, but what was read of it before is not what is in it now. */
static void refuses_what_was_overwritten(void **state)
{
	struct files *files = files_new("/proc");
	const char *path = in_dir("overwritten");
	struct map_event map;
	uint32_t i, again;

	(void)state;
	write_file(path, SECRET);
	map = event_of(path);
	i = files_of(files, NOBODY, &map);
	assert_holds(files_fd(files, i), SECRET);
	write_file(path, "another build");
	assert_int_equal(files_fd(files, i), -1);
	assert_int_equal(files_error(files, i), -ESTALE);
	assert_string_equal(files_why(files, i), "overwritten since it was opened");
	/* Who maps it now has another file. */
	again = files_of(files, NOBODY, &map);
	assert_int_not_equal(again, i);
	assert_holds(files_fd(files, again), "another build");
	files_free(files);
}

static void tries_again_after_a_failure(void **state)
{
	struct files *files = files_new("/proc");
	struct map_event map;
	uint32_t i;

	(void)state;
	write_file(in_dir("here"), SECRET);
	map = event_of(in_dir("here"));
	assert_int_equal(rename(in_dir("here"), in_dir("away")), 0);
	map.path = in_dir("here");
	i = files_of(files, NOBODY, &map);
	assert_int_equal(files_error(files, i), -ENOENT);
	assert_int_equal(rename(in_dir("away"), in_dir("here")), 0);
	assert_int_equal(files_of(files, NOBODY, &map), i);
	assert_int_equal(files_error(files, i), 0);
	assert_holds(files_fd(files, i), SECRET);
	files_free(files);
}

/* A fake /proc whose process has a root of its own, as a container has. */
static void looks_under_the_root_of_the_process(void **state)
{
	char proc_root[300];
	struct files *files;
	struct map_event map;
	uint32_t i;

	(void)state;
	snprintf(proc_root, sizeof(proc_root), "%s", in_dir("proc"));
	mkdir(proc_root, 0755);
	mkdir(in_dir("proc/5"), 0755);
	mkdir(in_dir("container"), 0755);
	assert_int_equal(symlink(in_dir("container"), in_dir("proc/5/root")), 0);
	write_file(in_dir("container/app"), SECRET);
	files = files_new(proc_root);
	map = event_of(in_dir("container/app"));
	map.path = "/app (deleted)";
	i = files_of(files, 5, &map);
	assert_holds(files_fd(files, i), SECRET);
	assert_string_equal(files_path(files, i), "/app");
	/* A link out of the container to a file that was not mapped. */
	assert_int_equal(symlink("/etc/passwd", in_dir("container/evil")), 0);
	map.path = "/evil";
	map.inode += 1000000;
	i = files_of(files, 5, &map);
	assert_int_equal(files_fd(files, i), -1);
	files_free(files);
}

static int in_overlay(const char *command_dir)
{
	char options[1000], path[400];
	struct map_event map;
	struct files *files = files_new("/proc");
	struct stat st;
	char *line;
	void *at;
	uint32_t i;

	snprintf(options, sizeof(options), "lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/work",
		 command_dir, command_dir, command_dir);
	snprintf(path, sizeof(path), "%s/merged", command_dir);
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("overlay", path, "overlay", 0, options))
		return 77;
	snprintf(path, sizeof(path), "%s/merged/app", command_dir);
	at = map_and_find(path, MAP_PRIVATE, &map, &line);
	stat(path, &st);
	printf("overlay: maps %u:%u %lu, stat %u:%u %lu\n", map.dev_major, map.dev_minor,
	       (unsigned long)map.inode, major(st.st_dev), minor(st.st_dev),
	       (unsigned long)st.st_ino);
	fflush(stdout);
	i = files_of(files, getpid(), &map);
	assert_holds(files_fd(files, i), SECRET);
	munmap(at, 4096);
	free(line);
	files_free(files);
	return 0;
}

static void opens_files_of_an_overlay(void **state)
{
	static const char *const parts[] = {"lower", "upper", "work", "merged"};
	const char *base = in_dir("overlay");
	int status;
	pid_t child;

	(void)state;
	need_root();
	mkdir(base, 0755);
	for (size_t i = 0; i < 4; i++) {
		char path[400];

		snprintf(path, sizeof(path), "%s/%s", base, parts[i]);
		mkdir(path, 0755);
	}
	write_file(in_dir("overlay/lower/app"), SECRET);
	child = fork();
	if (!child)
		_exit(in_overlay(base));
	waitpid(child, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		print_message("SKIP: no overlayfs here\n");
		skip();
	}
	assert_int_equal(status, 0);
}

static void the_mark_of_an_unlinked_file(void **state)
{
	(void)state;
	assert_int_equal(path_len_undeleted("/a"), 2);
	assert_int_equal(path_len_undeleted("/a (deleted)"), 2);
	assert_int_equal(path_len_undeleted("/a (deleted) (deleted)"), 12);
	assert_int_equal(path_len_undeleted(" (deleted)"), 10);
	assert_int_equal(path_len_undeleted(""), 0);
}

static void no_such_file(void **state)
{
	struct files *files = files_new("/proc");

	(void)state;
	assert_int_equal(files_fd(files, FILE_NONE), -1);
	assert_int_equal(files_error(files, 3), -ENOENT);
	assert_string_equal(files_path(files, FILE_NONE), "");
	assert_int_equal(files_nr(files), 0);
	files_free(files);
	files_free(NULL);
}

static int make_dir(void **state)
{
	(void)state;
	dir = temp_folder();
	return 0;
}

static int forget_dir(void **state)
{
	(void)state;
	free(dir);
	return 0;
}

/* Descriptors that are closed to make room -------------------------------------------------------- */

static uint32_t closed[8];
static size_t nr_closed;

static void note_closed(void *ctx, uint32_t file)
{
	(void)ctx;
	assert_true(nr_closed < 8);
	closed[nr_closed++] = file;
}

/* A set of files that holds two descriptors, and three files that it has met: the first is closed. */
static struct files *two_of_three(const char *const names[3], uint32_t ids[3])
{
	struct files *files = files_new("/proc");

	nr_closed = 0;
	files_on_close(files, note_closed, NULL);
	files_limit(files, 2);
	for (int i = 0; i < 3; i++) {
		const char *path = in_dir(names[i]);
		struct map_event map;

		unlink(path);
		write_file(path, names[i]);
		map = event_of(path);
		ids[i] = files_of(files, NOBODY, &map);
		assert_int_equal(files_error(files, ids[i]), 0);
	}
	assert_int_equal(nr_closed, 1);
	assert_int_equal(closed[0], ids[0]);
	return files;
}

static void the_longest_unused_is_closed_and_opened_again(void **state)
{
	static const char *const names[] = {"lru-a", "lru-b", "lru-c"};
	struct map_event map;
	struct files *files;
	uint32_t ids[3];

	(void)state;
	files = two_of_three(names, ids);
	map = event_of(in_dir(names[1]));
	assert_int_equal(files_of(files, NOBODY, &map), ids[1]); /* c is the longest unused now */
	map = event_of(in_dir(names[0]));
	assert_int_equal(files_of(files, NOBODY, &map), ids[0]);
	assert_int_equal(nr_closed, 2);
	assert_int_equal(closed[1], ids[2]);
	for (int i = 0; i < 3; i++) {
		assert_holds(files_fd(files, ids[i]), names[i]);
		assert_int_equal(files_error(files, ids[i]), 0);
		assert_string_equal(files_why(files, ids[i]), "");
	}
	files_free(files);
}

/* Files that are only met do not push out one that was read. */
static void what_was_read_is_closed_last(void **state)
{
	static const char *const names[] = {"read-a", "read-b", "read-c"};
	struct map_event map;
	struct files *files;
	uint32_t ids[3];

	(void)state;
	files = two_of_three(names, ids);
	assert_holds(files_fd(files, ids[1]), names[1]);
	for (int round = 0; round < 2; round++) {
		map = event_of(in_dir(names[0]));
		files_of(files, NOBODY, &map);
		map = event_of(in_dir(names[2]));
		files_of(files, NOBODY, &map);
	}
	for (size_t i = 0; i < nr_closed; i++)
		assert_int_not_equal(closed[i], ids[1]);
	files_free(files);
}

/* Where it was deleted meanwhile, that is said; if another file is met with its inode, that is another file. */
static void a_file_that_is_closed_and_gone_says_so(void **state)
{
	static const char *const names[] = {"gone-a", "gone-b", "gone-c"};
	struct files *files;
	uint32_t ids[3];

	(void)state;
	files = two_of_three(names, ids);
	unlink(in_dir(names[0]));
	assert_int_equal(files_fd(files, ids[0]), -1);
	assert_int_equal(files_error(files, ids[0]), -ENOENT);
	assert_string_equal(files_why(files, ids[0]), "deleted or replaced after it was closed");
	assert_holds(files_fd(files, ids[1]), names[1]);
	files_free(files);
}

static void another_file_under_a_closed_inode_is_another(void **state)
{
	static const char *const names[] = {"other-a", "other-b", "other-c"};
	struct map_event map;
	struct files *files;
	uint32_t ids[3], other;

	(void)state;
	files = two_of_three(names, ids);
	write_file(in_dir(names[0]), "of another length"); /* the same inode */
	assert_int_equal(files_fd(files, ids[0]), -1);
	assert_int_equal(files_error(files, ids[0]), -ESTALE);
	map = event_of(in_dir(names[0]));
	other = files_of(files, NOBODY, &map);
	assert_int_not_equal(other, ids[0]);
	assert_holds(files_fd(files, other), "of another length");
	assert_int_equal(files_of(files, NOBODY, &map), other);
	assert_int_equal(files_fd(files, ids[0]), -1);
	files_free(files);
}

/* A limit that is lower than was thought: room is made of what is open. */
static void room_is_made_where_the_limit_is_lower(void **state)
{
	struct files *files = files_new("/proc");
	struct rlimit before, low;
	struct map_event maps[30];
	char name[32];
	int fd;

	(void)state;
	for (int i = 0; i < 30; i++) {
		snprintf(name, sizeof(name), "many-%d", i);
		write_file(in_dir(name), SECRET);
		maps[i] = event_of(in_dir(name));
	}
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	fd = dup(0);
	close(fd);
	low = before;
	low.rlim_cur = fd + 8;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	for (int i = 0; i < 30; i++) {
		snprintf(name, sizeof(name), "many-%d", i);
		maps[i].path = in_dir(name);
		assert_holds(files_fd(files, files_of(files, NOBODY, &maps[i])), SECRET);
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	files_free(files);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_regular_files),
		cmocka_unit_test(refuses_all_else_at_once),
		cmocka_unit_test(bounds_the_size),
		cmocka_unit_test(does_not_wait_for_a_lease),
		cmocka_unit_test(opens_what_is_unlinked),
		cmocka_unit_test(refuses_mapped_devices),
		cmocka_unit_test(notices_a_mapping_that_was_replaced),
		cmocka_unit_test(serves_a_process_that_is_gone),
		cmocka_unit_test(a_fifo_swapped_in_does_not_hang),
		cmocka_unit_test(refuses_what_was_overwritten),
		cmocka_unit_test(tries_again_after_a_failure),
		cmocka_unit_test(looks_under_the_root_of_the_process),
		cmocka_unit_test(opens_files_of_an_overlay),
		cmocka_unit_test(the_mark_of_an_unlinked_file),
		cmocka_unit_test(no_such_file),
		cmocka_unit_test(the_longest_unused_is_closed_and_opened_again),
		cmocka_unit_test(what_was_read_is_closed_last),
		cmocka_unit_test(a_file_that_is_closed_and_gone_says_so),
		cmocka_unit_test(another_file_under_a_closed_inode_is_another),
		cmocka_unit_test(room_is_made_where_the_limit_is_lower),
	};

	return cmocka_run_group_tests(tests, make_dir, forget_dir);
}
