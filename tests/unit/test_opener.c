// SPDX-License-Identifier: BSD-2-Clause
/*
 * Against real openers, forked and confined: what they answer about this process and its children, how they are confined,
 * and what becomes of those that die, are held, lie, or use a system call that they must not.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/vec.h"
#include "process/mapping.h"
#include "process/opener.h"
#include "process/opener_serve.h"
#include "process/procfs.h"
#include "process/snapshot.h"
#include "sandbox/transfer.h"

#if defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED true /* then system calls are not limited */
#else
#define IS_SANITIZED false
#endif

#define BAD 7u /* the task that makes an opener misbehave */

/*
 * The time of this process is what it asked poll() to wait for, and nothing else: so how often main looks around within a
 * stall, and how long it waits, does not depend on what else this machine does.
 */
static uint64_t waited_ns;

int poll(struct pollfd *fds, nfds_t nr, int timeout_ms)
{
	struct timespec wait = {.tv_sec = timeout_ms / 1000,
				.tv_nsec = timeout_ms % 1000 * 1000000l};
	int ready = (int)syscall(SYS_ppoll, fds, nr, timeout_ms < 0 ? NULL : &wait, NULL, 0);

	if (!ready)
		waited_ns += (uint64_t)timeout_ms * 1000000;
	return ready;
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
	if (id != CLOCK_MONOTONIC)
		return (int)syscall(SYS_clock_gettime, id, ts);
	*ts = (struct timespec){.tv_sec = (time_t)(1 + waited_ns / NSEC_PER_SEC),
				.tv_nsec = (long)(waited_ns % NSEC_PER_SEC)};
	return 0;
}

static struct opener *open_opener(keeper_serve_fn serve)
{
	struct opener *opener = NULL;
	uint32_t missing = 0;

	assert_int_equal(opener_open(serve, &opener), 0);
	assert_int_equal(opener_handshake(opener, &missing), 0);
	assert_int_equal(missing & CONFINE_NEEDED, 0);
	return opener;
}

/* Answers ---------------------------------------------------------------------------------------- */

struct maps {
	vec_of(struct map_event) all;
	const char *wanted; /* a name */
	struct map_event found;
	char path[4096]; /* of found */
};

static void note_map(void *ctx, const struct map_event *map)
{
	struct maps *maps = ctx;

	if (maps->wanted && strstr(map->path, maps->wanted)) {
		maps->found = *map;
		snprintf(maps->path, sizeof(maps->path), "%s", map->path);
		maps->found.path = maps->path;
	}
	vec_push(&maps->all, *map);
}

static void note_line(void *ctx, const char *line)
{
	struct map_event map;
	bool executable;

	if (!mapping_parse(line, &map, &executable) && executable)
		note_map(ctx, &map);
}

static bool same_map(const struct map_event *a, const struct map_event *b)
{
	return a->start == b->start && a->limit == b->limit && a->file_off == b->file_off &&
	       a->inode == b->inode && a->dev_major == b->dev_major && a->dev_minor == b->dev_minor;
}

static void check_maps_of(struct opener *opener, pid_t pid, size_t at_least)
{
	struct maps asked = {0}, here = {0};

	assert_int_equal(opener_each_map(opener, pid, note_map, &asked), 0);
	assert_int_equal(procfs_each_line("/proc", pid, "maps", 64 << 20, note_line, &here), 0);
	assert_int_equal(asked.all.nr, here.all.nr);
	assert_true(asked.all.nr >= at_least);
	for (size_t i = 0; i < asked.all.nr; i++)
		assert_true(same_map(&asked.all.at[i], &here.all.at[i]));
	vec_release(&asked.all);
	vec_release(&here.all);
}

/* A child with many executable mappings, that sleeps. */
static pid_t child_with_maps(size_t nr)
{
	int ready[2];
	pid_t pid;
	char byte;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		char *at = mmap(NULL, nr * 2 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (size_t i = 0; i < nr; i++)
			mprotect(at + i * 2 * 4096, 4096, PROT_READ | PROT_EXEC);
		if (write(ready[1], "x", 1) == 1)
			pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void test_mappings(void **state)
{
	struct opener *opener = open_opener(opener_serve);
	struct maps none = {0};
	pid_t child = child_with_maps(5000); /* more than go into one reply */

	(void)state;
	check_maps_of(opener, child, 5000);
	end_child(child);
	assert_int_equal(opener_each_map(opener, child, note_map, &none), -ESRCH);
	assert_int_equal(none.all.nr, 0);
	opener_close(opener);
}

static void test_files(void **state)
{
	struct opener *opener = open_opener(opener_serve);
	struct maps maps = {.wanted = "test_opener"};
	struct mapped_file file;
	struct mapped_ways ways;
	struct stat st, own;
	int fd;

	(void)state;
	assert_int_equal(opener_each_map(opener, getpid(), note_map, &maps), 0);
	file = (struct mapped_file){getpid(),
				    maps.found.start,
				    maps.found.limit,
				    {maps.found.dev_major, maps.found.dev_minor, maps.found.inode},
				    maps.path};
	fd = opener_file(opener, &file, &ways);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(stat("/proc/self/exe", &own), 0);
	assert_int_equal(st.st_ino, own.st_ino);
	close(fd);

	file.inode.inode++;
	assert_int_equal(opener_file(opener, &file, &ways), -ESTALE);
	assert_false(ways.is_refused || ways.is_forbidden || ways.has_stalled);
	file = (struct mapped_file){getpid(), 0, 1, {0, 0, 0}, "/dev/null"};
	assert_int_equal(opener_file(opener, &file, &ways), -ENOTSUP);
	file.path = "/nonexistent/file";
	assert_int_equal(opener_file(opener, &file, &ways), -ENOENT);
	vec_release(&maps.all);
	opener_close(opener);
}

static void test_files_of_the_host(void **state)
{
	struct opener *opener = open_opener(opener_serve);

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct opener *who = i ? opener : NULL;
		bool is_copy = true;
		char path[4096] = "";
		struct stat st, expected;
		int fd = opener_of_host(who, "/proc/self/root/bin/sh", &is_copy);

		assert_true(fd >= 0 && !is_copy);
		assert_int_equal(fstat(fd, &st), 0);
		assert_int_equal(stat("/bin/sh", &expected), 0);
		assert_int_equal(st.st_ino, expected.st_ino);
		assert_int_equal(vetted_path(fd, path, sizeof(path)), 0);
		assert_true(*path == '/' && !strstr(path, "/proc"));
		assert_int_equal(vetted_path(fd, path, 4), -ENAMETOOLONG);
		close(fd);
		assert_int_equal(opener_of_host(who, "/nonexistent/file", NULL), -ENOENT);
		assert_int_equal(opener_of_host(who, "/dev/null", NULL), -ENOTSUP);
	}
	opener_close(opener);
}

static void test_paths_that_are_none(void **state)
{
	int memory = memfd_create("memory", MFD_CLOEXEC), ends[2];
	char path[64];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(vetted_path(memory, path, sizeof(path)), -ENOENT);
	assert_int_equal(vetted_path(ends[0], path, sizeof(path)), -ENOENT);
	assert_int_equal(vetted_path(-1, path, sizeof(path)), -EBADF);
	close(memory);
	close(ends[0]);
	close(ends[1]);
}

static void test_memory(void **state)
{
	static char text[] = "what a process has in its memory";
	struct opener *opener = open_opener(opener_serve);
	pid_t child = child_with_maps(1);
	char got[sizeof(text)] = "", part[6] = "", unread[4] = "abc";
	struct memory_piece pieces[] = {{(uintptr_t)text, got, sizeof(text), false},
					{16, unread, sizeof(unread), true},
					{(uintptr_t)text + 7, part, 5, false}};
	int fd;

	(void)state;
	opener_read(opener, child, pieces, 3);
	assert_true(pieces[0].was_read && !pieces[1].was_read && pieces[2].was_read);
	assert_string_equal(got, text);
	assert_string_equal(part, "proce");
	assert_string_equal(unread, "abc");
	fd = opener_memory(opener, child);
	assert_true(fd >= 0);
	memset(got, 0, sizeof(got));
	assert_int_equal(pread(fd, got, sizeof(got), (uintptr_t)text), sizeof(got));
	assert_string_equal(got, text);
	assert_int_equal(pwrite(fd, got, 1, (uintptr_t)text), -1);
	close(fd);
	end_child(child);
	opener_read(opener, child, pieces, 3);
	assert_false(pieces[0].was_read || pieces[1].was_read || pieces[2].was_read);
	assert_int_equal(opener_memory(opener, child), -ESRCH);
	opener_close(opener);
}

/* More pieces than fit in one question, and one that fits in none. */
static void test_many_pieces(void **state)
{
	static uint32_t numbers[1000], got[1000];
	static char large[OPENING_PIECE_BYTES + 1];
	struct opener *opener = open_opener(opener_serve);
	struct memory_piece pieces[1001];
	pid_t child;

	(void)state;
	for (size_t i = 0; i < 1000; i++) {
		numbers[i] = i;
		pieces[i] = (struct memory_piece){(uintptr_t)&numbers[i], &got[i], 4, false};
	}
	pieces[1000] = pieces[999];
	pieces[500] = (struct memory_piece){(uintptr_t)large, large, sizeof(large), true};
	child = child_with_maps(1);
	opener_read(opener, child, pieces, 1001);
	for (size_t i = 0; i < 1001; i++)
		assert_int_equal(pieces[i].was_read, i != 500);
	for (size_t i = 0; i < 1000; i++)
		assert_int_equal(got[i], i == 500 ? 0 : i);
	end_child(child);
	opener_close(opener);
}

static void test_exe(void **state)
{
	struct opener *opener = open_opener(opener_serve);
	char path[4096], own[4096] = "";

	(void)state;
	assert_true(readlink("/proc/self/exe", own, sizeof(own) - 1) > 0);
	assert_int_equal(opener_exe(opener, getpid(), path, sizeof(path)), 0);
	assert_string_equal(path, own);
	assert_int_equal(opener_exe(opener, getpid(), path, 4), -ENAMETOOLONG);
	assert_int_equal(opener_exe(opener, INT32_MAX, path, sizeof(path)), -ESRCH);
	opener_close(opener);
}

/* A snapshot through an opener is the one without. */
static void test_snapshot(void **state)
{
	struct opener *opener = open_opener(opener_serve);
	struct files *files = files_new("/proc"), *asked = files_new("/proc");
	struct strtab names = {0}, asked_names = {0};
	struct snapshot here = {0}, through = {0};

	(void)state;
	files_set_opener(asked, opener);
	assert_int_equal(snapshot_take("/proc", getpid(), files, &names, &here), 0);
	assert_int_equal(snapshot_take("/proc", getpid(), asked, &asked_names, &through), 0);
	assert_int_equal(here.maps.nr, through.maps.nr);
	for (size_t i = 0; i < here.maps.nr; i++)
		assert_memory_equal(&here.maps.at[i], &through.maps.at[i], sizeof(here.maps.at[i]));
	assert_int_equal(files_nr(files), files_nr(asked));
	for (uint32_t i = 0; i < files_nr(files); i++) {
		assert_string_equal(files_path(files, i), files_path(asked, i));
		assert_int_equal(files_error(asked, i), files_error(files, i));
	}
	snapshot_release(&here);
	snapshot_release(&through);
	strtab_release(&names);
	strtab_release(&asked_names);
	files_free(files);
	files_free(asked);
	opener_close(opener);
}

/* Failures --------------------------------------------------------------------------------------- */

/* What an opener must not do; which is the task. */
static void do_forbidden(uint32_t which)
{
	switch (which) {
	case 0:
		open("/etc/passwd", O_WRONLY);
		break;
	case 1:
		open("/tmp/cprof-must-not-be", O_RDONLY | O_CREAT, 0600);
		break;
	case 2:
		socket(AF_INET, SOCK_STREAM, 0);
		break;
	case 3:
		fork();
		break;
	case 4:
		kill(getppid(), SIGKILL);
		break;
	case 5:
		execl("/bin/true", "true", NULL);
		break;
	case 6:
		mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		break;
	case 7:
		open("/tmp", O_RDWR | O_TMPFILE, 0600);
		break;
	}
}

#define NR_FORBIDDEN 8u

static void serve_forbidden(int socket)
{
	struct message request;

	while (!transfer_receive(socket, &request, sizeof(request), NULL, NULL)) {
		struct message reply = request;

		reply.status = -ENOENT;
		do_forbidden(request.key);
		transfer_send(socket, &reply, NULL, -1, NULL);
	}
}

static void test_forbidden_calls(void **state)
{
	struct opener *opener;

	(void)state;
	if (IS_SANITIZED)
		skip();
	opener = open_opener(serve_forbidden);
	for (uint32_t which = 0; which < NR_FORBIDDEN; which++)
		assert_int_equal(opener_memory(opener, which), -EPIPE);
	assert_int_equal(opener_memory(opener, NR_FORBIDDEN), -ENOENT);
	assert_int_equal(opener_nr_stuck(opener), 0);
	opener_close(opener);
}

static void serve_and_be_held(int socket)
{
	struct message request;

	while (!transfer_receive(socket, &request, sizeof(request), NULL, NULL)) {
		struct message reply = request;

		while (request.key == BAD)
			ppoll(NULL, 0, NULL, NULL);
		reply.status = -ENOENT;
		transfer_send(socket, &reply, NULL, -1, NULL);
	}
}

#define LOOK_NS 2000000u /* opener_while_waiting() */

struct looks {
	size_t nr;
	uint64_t last_ns, longest_ns; /* from one to the next */
};

static void count_look(void *ctx)
{
	struct looks *looks = ctx;
	uint64_t now_ns = clock_monotonic_ns();

	if (looks->nr++ && now_ns - looks->last_ns > looks->longest_ns)
		looks->longest_ns = now_ns - looks->last_ns;
	looks->last_ns = now_ns;
}

/* Main looks around meanwhile; the task is given up after some times, and the others are not. */
static void test_held(void **state)
{
	struct opener *opener = open_opener(serve_and_be_held);
	uint64_t began_ns = clock_monotonic_ns(), took_ns;
	struct looks looks = {0};

	(void)state;
	opener_while_waiting(opener, count_look, &looks);
	for (int i = 0; i < OPENER_MAX_STALLS; i++) {
		assert_int_equal(opener_memory(opener, BAD), -ETIMEDOUT);
		assert_int_equal(opener_memory(opener, 1), -ENOENT);
	}
	took_ns = clock_monotonic_ns() - began_ns;
	assert_true(took_ns >= OPENER_MAX_STALLS * OPENER_STALL_NS);
	assert_true(looks.longest_ns <= LOOK_NS);
	assert_true(looks.nr >= OPENER_MAX_STALLS * OPENER_STALL_NS / LOOK_NS);
	looks.nr = 0;
	for (int i = 0; i < 100000; i++) /* nobody is asked */
		assert_int_equal(opener_memory(opener, BAD), -ETIMEDOUT);
	assert_int_equal(looks.nr, 0);
	assert_int_equal(opener_nr_stuck(opener), 1);
	assert_int_equal(opener_stuck(opener, 0), BAD);
	assert_int_equal(opener_memory(opener, 1), -ENOENT);
	opener_close(opener);
}

#define MANY_LOOKS 100

struct stopped {
	pid_t keeper;
	size_t nr_looks;
};

static void wake_after_many(void *ctx)
{
	struct stopped *stopped = ctx;

	if (++stopped->nr_looks == MANY_LOOKS)
		kill(stopped->keeper, SIGCONT);
}

/* Main looks around while a new opener is forked, which takes long while the kernel lets nobody fork. */
static void test_a_fork_that_takes_long(void **state)
{
	struct opener *opener = open_opener(serve_and_be_held);
	struct stopped stopped = {.keeper = opener_parent(opener)};

	(void)state;
	assert_int_equal(opener_memory(opener, BAD), -ETIMEDOUT);
	assert_int_equal(kill(stopped.keeper, SIGSTOP), 0);
	assert_int_equal(waitpid(stopped.keeper, NULL, WUNTRACED), stopped.keeper);
	opener_while_waiting(opener, wake_after_many, &stopped);
	assert_int_equal(opener_memory(opener, 1), -ENOENT);
	assert_true(stopped.nr_looks >= MANY_LOOKS);
	assert_false(opener_is_lost(opener));
	opener_close(opener);
}

/* Of main and the opener. */
struct late {
	volatile bool is_looking, is_answered;
};

static struct late *late;

static void serve_late(int socket)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	struct message message;

	while (!transfer_receive(socket, &message, sizeof(message), NULL, NULL)) {
		while (message.key == BAD && !late->is_looking)
			ppoll(NULL, 0, &pause, NULL);
		message.status = -ENOENT;
		transfer_send(socket, &message, NULL, -1, NULL);
		late->is_answered = true;
	}
}

static void look_for_long(void *ctx)
{
	late->is_looking = true;
	while (!late->is_answered)
		usleep(1000);
	waited_ns += OPENER_STALL_NS + 1;
	(*(size_t *)ctx)++;
}

/* Time that main takes itself does not count against the opener, whose answer is there. */
static void test_main_is_late(void **state)
{
	struct opener *opener;
	size_t nr_looks = 0;

	(void)state;
	late = mmap(NULL, sizeof(*late), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(late != MAP_FAILED);
	opener = open_opener(serve_late);
	opener_while_waiting(opener, look_for_long, &nr_looks);
	assert_int_equal(opener_memory(opener, BAD), -ENOENT);
	assert_int_equal(nr_looks, 1);
	assert_int_equal(opener_nr_stuck(opener), 0);
	opener_close(opener);
	munmap(late, sizeof(*late));
}

/* For how long main waits for a file of the task BAD, of a device with this number. */
static uint64_t wait_for_file(struct opener *opener, uint32_t device)
{
	const struct mapped_file file = {BAD, 0x1000, 0x2000, {device, 1, 1}, "/silent"};
	struct mapped_ways ways;
	uint64_t began_ns = clock_monotonic_ns();

	assert_int_equal(opener_file(opener, &file, &ways), -ETIMEDOUT);
	assert_true(ways.has_stalled);
	return clock_monotonic_ns() - began_ns;
}

/* A device that gave no answer once is not waited for as long again; another one is. */
static void test_held_by_a_device(void **state)
{
	struct opener *opener = open_opener(serve_and_be_held);
	uint64_t first_ns = wait_for_file(opener, 1), again_ns = wait_for_file(opener, 1),
		 other_ns = wait_for_file(opener, 2);

	(void)state;
	assert_true(first_ns >= OPENER_STALL_NS && other_ns >= OPENER_STALL_NS);
	assert_true(again_ns >= OPENER_HURRIED_NS && again_ns < OPENER_STALL_NS);
	opener_close(opener);
}

static void serve_and_die(int socket)
{
	struct message request;

	transfer_receive(socket, &request, sizeof(request), NULL, NULL);
}

static void test_dies(void **state)
{
	struct opener *opener = open_opener(serve_and_die);

	(void)state;
	assert_int_equal(opener_memory(opener, BAD), -EPIPE);
	assert_int_equal(opener_nr_stuck(opener), 0);
	assert_false(opener_is_lost(opener));
	opener_close(opener);
}

/* Replies ---------------------------------------------------------------------------------------- */

/* A reply of the kind, each wrong in one thing but the first. */
static void test_replies_that_do_not_fit(void **state)
{
	const struct message request = {.kind = OPENING_MAPS, .key = 5, .serial = 9};
	const size_t one = sizeof(struct opening_maps) + sizeof(struct opening_map) + 1;
	const struct message good = {
		.kind = OPENING_MAPS, .key = 5, .serial = 9, .nr = 1, .len_bytes = one};
	struct message reply = good;

	(void)state;
	assert_true(opening_fits(&request, &reply));
#define WRONG(change)                                         \
	do {                                                  \
		reply = good;                                 \
		reply.change;                                 \
		assert_false(opening_fits(&request, &reply)); \
	} while (0)
	WRONG(kind = OPENING_EXE);
	WRONG(key = 6);
	WRONG(serial = 8);
	WRONG(status = 1);
	WRONG(status = -5000);
	WRONG(status = -ENOENT); /* with a payload */
	WRONG(nr = 2);
	WRONG(nr = OPENING_MAX_MAPS + 1);
	WRONG(len_bytes = one - 1);
	WRONG(len_bytes = OPENING_MAPS_BYTES + 1);
	WRONG(len_bytes = UINT64_MAX);
#undef WRONG
}

struct maps_reply {
	struct opening_maps about;
	struct opening_map maps[2];
	char paths[8];
};

static const struct maps_reply good_maps = {
	.about = {1},
	.maps = {{.start = 1, .limit = 2, .path_bytes = 3},
		 {.start = 2, .limit = 4, .inode = 3, .path_bytes = 5}},
	.paths = "/a\0/b/c",
};

static int read_reply(const struct maps_reply *reply, size_t len_bytes, uint32_t nr,
		      size_t *nr_called)
{
	struct maps maps = {.wanted = "/b"};
	bool is_last = false;
	void *copy = xmalloc(len_bytes + 1); /* so that ASan sees each byte beyond */
	int err;

	memcpy(copy, reply, len_bytes);
	copy = xreallocarray(copy, len_bytes, 1);
	err = opening_read_maps(copy, len_bytes, nr, note_map, &maps, &is_last);
	free(copy);
	*nr_called = maps.all.nr;
	if (!err)
		assert_true(is_last);
	if (!err)
		assert_string_equal(maps.path, "/b/c");
	vec_release(&maps.all);
	return err;
}

static void test_mappings_that_are_lies(void **state)
{
	struct maps_reply reply = good_maps;
	size_t nr;

	(void)state;
	assert_int_equal(read_reply(&reply, sizeof(reply), 2, &nr), 0);
	assert_int_equal(nr, 2);
	assert_int_equal(read_reply(&reply, sizeof(reply), 1, &nr), -EBADMSG);
	assert_int_equal(read_reply(&reply, sizeof(reply), 3, &nr), -EBADMSG);
	assert_int_equal(read_reply(&reply, sizeof(reply), UINT32_MAX, &nr), -EBADMSG);
	assert_int_equal(read_reply(&reply, sizeof(reply) - 1, 2, &nr), -EBADMSG);
	assert_int_equal(read_reply(&reply, 4, 0, &nr), -EBADMSG);
#define WRONG(change)                                                                  \
	do {                                                                           \
		reply = good_maps;                                                     \
		reply.change;                                                          \
		assert_int_equal(read_reply(&reply, sizeof(reply), 2, &nr), -EBADMSG); \
		assert_int_equal(nr, 0);                                               \
	} while (0)
	WRONG(about.is_last = 2);
	WRONG(maps[0].limit = 1);
	WRONG(maps[0].path_bytes = 0);
	WRONG(maps[0].path_bytes = 4);
	WRONG(maps[1].path_bytes = 6);
	WRONG(maps[1].path_bytes = UINT32_MAX);
	WRONG(maps[1].zero = 1);
	WRONG(paths[0] = '\0');
	WRONG(paths[7] = 'x');
#undef WRONG
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mappings),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_files_of_the_host),
		cmocka_unit_test(test_paths_that_are_none),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_many_pieces),
		cmocka_unit_test(test_exe),
		cmocka_unit_test(test_snapshot),
		cmocka_unit_test(test_forbidden_calls),
		cmocka_unit_test(test_held),
		cmocka_unit_test(test_a_fork_that_takes_long),
		cmocka_unit_test(test_main_is_late),
		cmocka_unit_test(test_held_by_a_device),
		cmocka_unit_test(test_dies),
		cmocka_unit_test(test_replies_that_do_not_fit),
		cmocka_unit_test(test_mappings_that_are_lies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
