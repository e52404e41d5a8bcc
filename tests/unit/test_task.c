// SPDX-License-Identifier: BSD-2-Clause
/* Real processes where the kernel's behaviour matters, a fake /proc where the order of things does. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "process/procfs.h"
#include "process/task.h"
#include "temp.h"

#define MS 1000000ull

struct fixture {
	struct files *files;
	struct tasks *tasks;
	char *root;	/* a fake /proc */
	size_t nr_maps; /* calls of on_map */
	size_t nr_read; /* of them, those of processes that were being read */
	struct mapping last_map;
	uint32_t last_tgid;
};

static void count_map(void *ctx, const struct process *process, const struct mapping *map)
{
	struct fixture *f = ctx;

	f->nr_maps++;
	f->nr_read += tasks_is_reading(f->tasks);
	f->last_map = *map;
	f->last_tgid = process->tgid;
}

static void start(struct fixture *f, const char *proc_root)
{
	f->files = files_new(proc_root);
	f->tasks = tasks_new(proc_root, f->files);
	tasks_on_map(f->tasks, count_map, f);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->root = temp_folder();
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	tasks_free(f->tasks);
	files_free(f->files);
	free(f->root);
	free(f);
	return 0;
}

/* The fake /proc --------------------------------------------------------------------------------- */

static void write_file(const struct fixture *f, uint32_t tgid, const char *name, const char *text)
{
	char *folder scoped(freep) = xasprintf("%s/%u", f->root, tgid);
	char *path scoped(freep) = xasprintf("%s/%s", folder, name);
	FILE *file;

	mkdir(folder, 0755);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static const char one_map[] = "1000-2000 r-xp 00000000 00:00 0 [one]\n"
			      "3000-4000 rw-p 00000000 00:00 0 [data]\n"
			      "not a line\n"
			      "5000-6000 r-xp 00000000 00:00 0\n"
			      "7000-8000 r-x";

/* It was on a CPU for so many ticks. */
static void fake_stat(const struct fixture *f, uint32_t tgid, const char *comm, uint64_t start_ns,
		      int cpu_ticks)
{
	char stat[300];

	snprintf(stat, sizeof(stat), "%u (%s) S 1 1 1 0 -1 64 1 2 3 4 %d 0 7 8 20 0 1 0 %llu 1 1",
		 tgid, comm, cpu_ticks,
		 (unsigned long long)((start_ns + clock_suspended_ns()) / (10 * MS)));
	write_file(f, tgid, "stat", stat);
}

static void fake(const struct fixture *f, uint32_t tgid, const char *comm, uint64_t start_ns,
		 const char *maps)
{
	fake_stat(f, tgid, comm, start_ns, 11);
	write_file(f, tgid, "maps", maps);
}

static void unfake(const struct fixture *f, uint32_t tgid)
{
	char *command scoped(freep) = xasprintf("rm -r '%s/%u'", f->root, tgid);

	assert_int_equal(system(command), 0);
}

/* Events ----------------------------------------------------------------------------------------- */

static void forked(struct fixture *f, uint64_t time_ns, uint32_t parent, uint32_t tgid)
{
	tasks_apply(f->tasks, &(struct task_event){.kind = TASK_FORK,
						   .time_ns = time_ns,
						   .tgid = tgid,
						   .tid = tgid,
						   .parent_tgid = parent});
}

static void named(struct fixture *f, enum task_event_kind kind, uint64_t time_ns, uint32_t tgid,
		  uint32_t tid, const char *comm)
{
	struct task_event event = {.kind = kind, .time_ns = time_ns, .tgid = tgid, .tid = tid};

	strncpy(event.comm, comm, COMM_BYTES - 1);
	tasks_apply(f->tasks, &event);
}

static void mapped(struct fixture *f, uint64_t time_ns, uint32_t tgid, uint64_t at,
		   const char *path)
{
	tasks_apply(f->tasks,
		    &(struct task_event){.kind = TASK_MAP,
					 .time_ns = time_ns,
					 .tgid = tgid,
					 .tid = tgid,
					 .map = {.start = at, .limit = at + 0x1000, .path = path}});
}

static void exited(struct fixture *f, uint64_t time_ns, uint32_t tgid, uint32_t tid)
{
	tasks_apply(f->tasks,
		    &(struct task_event){
			    .kind = TASK_EXIT, .time_ns = time_ns, .tgid = tgid, .tid = tid});
}

static void lost(struct fixture *f, uint64_t time_ns)
{
	tasks_apply(f->tasks, &(struct task_event){.kind = TASK_LOST, .time_ns = time_ns});
}

static const char *name_at(struct fixture *f, uint32_t tgid, uint64_t ip, uint64_t time_ns)
{
	struct image *image = tasks_image(f->tasks, tgid, 0, time_ns);
	const struct mapping *map = tasks_mapping(f->tasks, image, ip, time_ns);

	return map ? strtab_get(tasks_names(f->tasks), map->name) : "none";
}

static struct process *process_at(struct fixture *f, uint32_t tgid, uint64_t time_ns)
{
	return tasks_image(f->tasks, tgid, 0, time_ns)->process;
}

/* Real processes --------------------------------------------------------------------------------- */

static void reads_this_process(void **state)
{
	struct fixture *f = *state;
	uint64_t now = clock_monotonic_ns(), ip = (uintptr_t)reads_this_process;
	struct image *image;
	const struct mapping *map;
	void *jit, *dl;
	struct proc_stat stat;
	char exe[300] = "";

	start(f, "/proc");
	assert_int_equal(tasks_snapshot(f->tasks, getpid()), 0);
	assert_int_equal(tasks_nr(f->tasks), 1);
	image = tasks_image(f->tasks, getpid(), 0, now);
	assert_int_equal(procfs_stat("/proc", getpid(), &stat), 0);
	assert_string_equal(image->comm, stat.comm);
	assert_true(image->was_read);
	assert_int_equal(image->process->parent_tgid, getppid());
	assert_int_equal(f->nr_maps, image->mappings.now.nr);
	map = tasks_mapping(f->tasks, image, ip, now);
	assert_non_null(map);
	assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	assert_string_equal(strtab_get(tasks_names(f->tasks), map->name), exe);
	assert_string_equal(files_path(f->files, map->file), exe);
	if (!geteuid())
		assert_int_equal(files_error(f->files, map->file), 0);
	/* A second look changes nothing; a JIT's page and a library come with a third. */
	assert_int_equal(tasks_snapshot(f->tasks, getpid()), 0);
	assert_int_equal(f->nr_maps, image->mappings.now.nr);
	jit = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	dl = dlopen("libz.so.1", RTLD_NOW);
	assert_int_equal(tasks_snapshot(f->tasks, getpid()), 0);
	now = clock_monotonic_ns();
	assert_string_equal(name_at(f, getpid(), (uintptr_t)jit, now), "//anon");
	if (dl)
		assert_non_null(
			strstr(name_at(f, getpid(), (uintptr_t)dlsym(dl, "crc32"), now), "libz"));
	munmap(jit, 4096);
}

static void no_such_process(void **state)
{
	struct fixture *f = *state;
	struct proc_stat stat;
	struct image *image;
	pid_t child = fork();

	if (!child)
		_exit(0);
	start(f, "/proc");
	do {
		assert_int_equal(procfs_stat("/proc", child, &stat), 0);
	} while (stat.state != 'Z');
	assert_int_equal(tasks_snapshot(f->tasks, child), -ESRCH);
	waitpid(child, NULL, 0);
	assert_int_equal(tasks_snapshot(f->tasks, child), -ESRCH);
	assert_int_equal(tasks_nr(f->tasks), 0);
	image = tasks_image(f->tasks, child, 77, 100);
	assert_string_equal(image->comm, "?");
	assert_int_equal(image->mappings.now.nr, 0);
	assert_false(image->was_read);
	assert_null(tasks_mapping(f->tasks, image, 0x1000, 100));
	assert_ptr_equal(tasks_image(f->tasks, child, 77, 100), image);
	assert_int_equal(tasks_nr(f->tasks), 1);
}

static void an_unlinked_binary_keeps_its_file(void **state)
{
	struct fixture *f = *state;
	char *binary scoped(freep) = xasprintf("%s/a b", f->root), magic[4] = "";
	char *copy scoped(freep) = xasprintf("cp /bin/sleep '%s'", binary);
	const struct mapping *map;
	struct image *image;
	int ready[2];
	pid_t child;
	char byte;

	if (geteuid()) {
		print_message("SKIP: needs root (/proc/PID/map_files)\n");
		skip();
	}
	start(f, "/proc");
	assert_int_equal(system(copy), 0);
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	child = fork();
	if (!child) {
		execl(binary, binary, "100", NULL);
		_exit(127);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 0); /* closed by the exec */
	close(ready[0]);
	unlink(binary);
	assert_int_equal(tasks_snapshot(f->tasks, child), 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	image = tasks_image(f->tasks, child, 0, clock_monotonic_ns());
	assert_string_equal(image->comm, "a b");
	map = &image->mappings.now.at[0];
	assert_string_equal(strtab_get(tasks_names(f->tasks), map->name), binary);
	assert_int_equal(files_error(f->files, map->file), 0);
	assert_int_equal(pread(files_fd(f->files, map->file), magic, 4, 0), 4);
	assert_memory_equal(magic, "\177ELF", 4);
}

static void *sleep_for_ever(void *ignored)
{
	for (;;)
		pause();
	return ignored;
}

static void lives_on_without_its_first_thread(void **state)
{
	struct fixture *f = *state;
	uint64_t ip = (uintptr_t)lives_on_without_its_first_thread, now;
	struct proc_stat stat;
	struct process *process;
	pid_t child = fork();

	if (!child) {
		pthread_t thread;

		pthread_create(&thread, NULL, sleep_for_ever, NULL);
		pthread_exit(NULL);
	}
	start(f, "/proc");
	do {
		assert_int_equal(procfs_stat("/proc", child, &stat), 0);
	} while (stat.state != 'Z');
	/* Its own folder shows no mappings any more, its thread's does. */
	assert_int_equal(tasks_snapshot(f->tasks, child), 0);
	now = clock_monotonic_ns();
	assert_string_not_equal(name_at(f, child, ip, now), "none");
	process = process_at(f, child, now);
	exited(f, now, child, child);
	assert_int_equal(process->exited_ns, now);
	tasks_prune(f->tasks, now + 1);
	tasks_prune(f->tasks, now + 2);
	assert_int_equal(tasks_nr(f->tasks), 1);
	assert_ptr_equal(process_at(f, child, now + 1), process);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	exited(f, now + 3, child, child + 1);
	tasks_prune(f->tasks, now + 4);
	assert_int_equal(tasks_nr(f->tasks), 0);
}

/* A library that a thread loads when the first one has ended, and that is unlinked at once. */
static void a_thread_maps_without_the_first_one(void **state)
{
	struct fixture *f = *state;
	char *path scoped(freep) = xasprintf("%s/lib", f->root), got[4] = "";
	char *copy scoped(freep) = xasprintf("cp /bin/sleep '%s'", path);
	struct task_event event = {.kind = TASK_MAP};
	struct proc_stat stat;
	struct stat st;
	uint32_t tid;
	pid_t child;
	int fd;

	if (geteuid()) {
		print_message("SKIP: needs root (/proc/PID/map_files)\n");
		skip();
	}
	assert_int_equal(system(copy), 0);
	fd = open(path, O_RDONLY);
	assert_int_equal(fstat(fd, &st), 0);
	event.map = (struct map_event){.start = 0x600000000000,
				       .limit = 0x600000001000,
				       .dev_major = major(st.st_dev),
				       .dev_minor = minor(st.st_dev),
				       .inode = st.st_ino,
				       .path = path};
	child = fork();
	if (!child) {
		pthread_t thread;

		mmap((void *)event.map.start, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED,
		     fd, 0);
		pthread_create(&thread, NULL, sleep_for_ever, NULL);
		pthread_exit(NULL);
	}
	close(fd);
	start(f, "/proc");
	do {
		assert_int_equal(procfs_stat("/proc", child, &stat), 0);
	} while (stat.state != 'Z');
	unlink(path);
	assert_int_equal(procfs_live_thread("/proc", child, &tid), 0);
	event.time_ns = clock_monotonic_ns();
	event.tgid = child;
	event.tid = tid;
	forked(f, event.time_ns - 10, getpid(), child);
	exited(f, event.time_ns - 5, child, child);
	tasks_apply(f->tasks, &event);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_int_equal(files_error(f->files, f->last_map.file), 0);
	assert_int_equal(pread(files_fd(f->files, f->last_map.file), got, 4, 0), 4);
	assert_memory_equal(got, "\177ELF", 4);
}

static void an_exec_by_another_thread_ends_nothing(void **state)
{
	struct fixture *f = *state;

	start(f, f->root);
	forked(f, 100, 1, 5);
	exited(f, 200, 5, 5); /* the first thread, on the way to the exec */
	named(f, TASK_EXEC, 210, 5, 5, "new");
	assert_int_equal(process_at(f, 5, 300)->exited_ns, 0);
	tasks_prune(f->tasks, 1000);
	assert_string_equal(tasks_image(f->tasks, 5, 0, 300)->comm, "new");
}

static bool after_two(void *ctx)
{
	return (*(int *)ctx)++ == 2;
}

/* A start that takes too long goes on without the rest, which is read when it is asked for. */
static void looks_at_the_rest_when_it_is_met(void **state)
{
	struct fixture *f = *state;
	int nr = 0;

	start(f, "/proc");
	assert_true(tasks_snapshot_all(f->tasks, &(struct busiest){0}, after_two, &nr) > 0);
	assert_true(tasks_nr(f->tasks) <= 2);
	assert_string_not_equal(tasks_image(f->tasks, getpid(), 0, clock_monotonic_ns())->comm,
				"?");
	assert_true(tasks_image(f->tasks, getpid(), 0, clock_monotonic_ns())->mappings.now.nr > 0);
}

/* Those that were busy since the first look: what one used before that does not count. */
static void looks_at_the_busiest_before_time_is_up(void **state)
{
	struct busiest busiest scoped(busiest_release) = {0};
	struct fixture *f = *state;
	int nr = 0;

	start(f, f->root);
	for (uint32_t tgid = 3; tgid < 9; tgid++) {
		fake(f, tgid, "idle", 100 * MS, one_map);
		fake_stat(f, tgid, "idle", 100 * MS, 1000 - (int)tgid);
	}
	assert_int_equal(busiest_look(&busiest, f->root), 0);
	fake_stat(f, 8, "busiest", 100 * MS, 1000 - 8 + 70);
	fake(f, 9, "new", 500 * MS, one_map);
	fake_stat(f, 9, "new", 500 * MS, 60);
	fake_stat(f, 3, "busy", 100 * MS, 1000 - 3 + 50);
	assert_int_equal(tasks_snapshot_all(f->tasks, &busiest, after_two, &nr), 5);
	assert_int_equal(tasks_nr(f->tasks), 2);
	assert_int_equal(tasks_at(f->tasks, 0)->tgid, 8);
	assert_int_equal(tasks_at(f->tasks, 1)->tgid, 9);
	/* The others are read, and their mappings known, when they are met. */
	assert_string_equal(name_at(f, 3, 0x1000, 600 * MS), "[one]");
	assert_string_equal(name_at(f, 4, 0x1000, 600 * MS), "[one]");
	assert_int_equal(tasks_nr(f->tasks), 4);
}

static void sees_every_process(void **state)
{
	struct fixture *f = *state;
	uint32_t *tgids;
	uint64_t begin;
	size_t nr, nr_maps = 0;

	start(f, "/proc");
	begin = clock_monotonic_ns();
	assert_int_equal(tasks_snapshot_all(f->tasks, &(struct busiest){0}, NULL, NULL), 0);
	print_message("%zu processes, %zu mappings, %zu files read in %.1f ms\n",
		      tasks_nr(f->tasks), f->nr_maps, files_nr(f->files),
		      (clock_monotonic_ns() - begin) / 1e6);
	assert_int_equal(procfs_list("/proc", &tgids, &nr), 0);
	free(tgids);
	assert_in_range(tasks_nr(f->tasks), nr / 2, nr + 50);
	for (size_t i = 0; i < tasks_nr(f->tasks); i++) {
		const struct process *process = tasks_at(f->tasks, i);

		assert_true(process->start_ns > 0);
		assert_int_equal(process->images.nr, 1);
		nr_maps += process->images.at[0]->mappings.now.nr;
		if (process->is_kernel_thread)
			assert_int_equal(process->images.at[0]->mappings.now.nr, 0);
	}
	assert_true(nr_maps <= f->nr_maps); /* neighbours are joined */
}

/* Alternating protections, so that the kernel keeps them apart: 65,000 mappings, half of them code. */
static void reads_very_many_mappings(void **state)
{
	struct fixture *f = *state;
	size_t nr = 64800;
	pid_t child = fork();
	struct proc_stat stat;
	uint64_t begin;

	if (!child) {
		int fd = open("/bin/bash", O_RDONLY);

		for (size_t i = 0; i < nr; i++)
			mmap((void *)(0x600000000000 + i * 4096), 4096,
			     i % 2 ? PROT_READ | PROT_EXEC : PROT_READ, MAP_PRIVATE | MAP_FIXED, fd,
			     (i % 100) * 4096);
		prctl(PR_SET_NAME, "ready");
		pause();
		_exit(0);
	}
	do {
		assert_int_equal(procfs_stat("/proc", child, &stat), 0);
	} while (strcmp(stat.comm, "ready"));
	start(f, "/proc");
	begin = clock_monotonic_ns();
	assert_int_equal(tasks_snapshot(f->tasks, child), 0);
	print_message("a process with %zu code mappings of about %zu read in %.1f ms\n", f->nr_maps,
		      nr, (clock_monotonic_ns() - begin) / 1e6);
	assert_true(f->nr_maps >= nr / 2);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* The order of things ---------------------------------------------------------------------------- */

static void a_fork_inherits_and_an_exec_begins_anew(void **state)
{
	struct fixture *f = *state;
	struct image *image;

	start(f, f->root);
	fake(f, 5, "shell", 100 * MS, one_map);
	assert_int_equal(tasks_snapshot_all(f->tasks, &(struct busiest){0}, NULL, NULL), 0);
	assert_int_equal(f->nr_maps, 2);
	assert_int_equal(f->nr_read, 2);
	forked(f, 1000 * MS, 5, 6);
	assert_int_equal(f->nr_maps, 4);
	assert_int_equal(f->last_tgid, 6);
	image = tasks_image(f->tasks, 6, 0, 1001 * MS);
	assert_string_equal(image->comm, "shell");
	assert_true(image->was_read);
	assert_int_equal(image->process->parent_tgid, 5);
	named(f, TASK_EXEC, 1010 * MS, 6, 6, "ls");
	mapped(f, 1011 * MS, 6, 0x1000, "[ls]");
	assert_int_equal(f->nr_maps, 5);
	assert_int_equal(f->nr_read, 2); /* what is announced comes alone */
	assert_int_equal(f->last_map.start, 0x1000);
	assert_string_equal(name_at(f, 6, 0x1000, 1005 * MS), "[one]");
	assert_string_equal(name_at(f, 6, 0x1000, 1020 * MS), "[ls]");
	assert_string_equal(name_at(f, 6, 0x5000, 1005 * MS), "//anon");
	assert_string_equal(name_at(f, 6, 0x5000, 1020 * MS), "none");
	assert_string_equal(name_at(f, 5, 0x1000, 1020 * MS), "[one]");
	assert_string_equal(tasks_image(f->tasks, 6, 0, 1005 * MS)->comm, "shell");
	assert_string_equal(tasks_image(f->tasks, 6, 0, 1020 * MS)->comm, "ls");
	/* The process has one name, its threads' are not it. */
	named(f, TASK_COMM, 1030 * MS, 6, 6, "ls -l");
	named(f, TASK_COMM, 1040 * MS, 6, 7, "worker");
	assert_string_equal(tasks_image(f->tasks, 6, 0, 1050 * MS)->comm, "ls -l");
	/* dlclose() and dlopen() at one address. */
	mapped(f, 1100 * MS, 6, 0x1000, "[other]");
	assert_string_equal(name_at(f, 6, 0x1000, 1099 * MS), "[ls]");
	assert_string_equal(name_at(f, 6, 0x1000, 1100 * MS), "[other]");
}

static void a_tgid_used_again_is_another_process(void **state)
{
	struct fixture *f = *state;
	struct process *first, *second, *third;

	start(f, f->root);
	fake(f, 1, "init", 10 * MS, one_map);
	tasks_snapshot_all(f->tasks, &(struct busiest){0}, NULL, NULL);
	forked(f, 1000 * MS, 1, 9);
	named(f, TASK_EXEC, 1001 * MS, 9, 9, "first");
	exited(f, 1100 * MS, 9, 9);
	forked(f, 1105 * MS, 1, 9); /* 5 ms later */
	named(f, TASK_EXEC, 1106 * MS, 9, 9, "second");
	/* The exit of this one was not seen. */
	forked(f, 1112 * MS, 1, 9);
	named(f, TASK_EXEC, 1113 * MS, 9, 9, "third");
	assert_int_equal(tasks_nr(f->tasks), 4);
	first = process_at(f, 9, 1050 * MS);
	second = process_at(f, 9, 1110 * MS);
	third = process_at(f, 9, 1200 * MS);
	assert_ptr_not_equal(first, second);
	assert_ptr_not_equal(second, third);
	assert_int_equal(second->exited_ns, 1112 * MS);
	/* A record's start is a little before the fork was announced. */
	assert_ptr_equal(tasks_image(f->tasks, 9, 1112 * MS - 5000, 1500 * MS)->process, third);
	assert_ptr_equal(tasks_image(f->tasks, 9, 1105 * MS - 5000, 1500 * MS)->process, second);
	assert_ptr_equal(tasks_image(f->tasks, 9, 1000 * MS - 5000, 1500 * MS)->process, first);
	assert_string_equal(tasks_image(f->tasks, 9, 1000 * MS - 5000, 1500 * MS)->comm, "first");
	assert_int_equal(third->start_ns, 1112 * MS - 5000);
	/* Exact now, so that a start 1 ns off is none of them. */
	assert_string_equal(tasks_image(f->tasks, 9, 1112 * MS - 5001, 1500 * MS)->comm, "?");
	assert_int_equal(tasks_nr(f->tasks), 5);
}

static void adopts_the_exact_start(void **state)
{
	struct fixture *f = *state;
	struct image *image;

	start(f, f->root);
	fake(f, 5, "old", 120 * MS, one_map);
	tasks_snapshot_all(f->tasks, &(struct busiest){0}, NULL, NULL);
	assert_in_range(tasks_at(f->tasks, 0)->start_ns, 109 * MS, 121 * MS);
	image = tasks_image(f->tasks, 5, 129 * MS + 7, 500 * MS);
	assert_ptr_equal(image->process, tasks_at(f->tasks, 0));
	assert_int_equal(image->process->start_ns, 129 * MS + 7);
	/* A second look at /proc is about the same process. */
	assert_int_equal(tasks_snapshot(f->tasks, 5), 0);
	assert_int_equal(tasks_nr(f->tasks), 1);
	assert_int_equal(image->process->start_ns, 129 * MS + 7);
	/* Nor is one that starts within the slack, but after an exit. */
	fake(f, 6, "short", 200 * MS, one_map);
	assert_string_equal(tasks_image(f->tasks, 6, 0, 201 * MS)->comm, "short");
	exited(f, 205 * MS, 6, 6);
	fake(f, 6, "next", 210 * MS, one_map);
	image = tasks_image(f->tasks, 6, 215 * MS, 300 * MS);
	assert_int_equal(image->process->start_ns, 215 * MS);
	assert_string_equal(tasks_image(f->tasks, 6, 201 * MS, 202 * MS)->comm, "short");
	assert_int_equal(tasks_nr(f->tasks), 3);
	/* What started long after is not, though nobody saw the first one end. */
	unfake(f, 5);
	fake(f, 5, "new", 700 * MS, one_map);
	image = tasks_image(f->tasks, 5, 705 * MS, 800 * MS);
	assert_string_equal(image->comm, "new");
	assert_int_equal(tasks_nr(f->tasks), 4);
	assert_string_equal(tasks_image(f->tasks, 5, 129 * MS + 7, 800 * MS)->comm, "old");
}

/* Between the kernel's two looks at the clock a virtual machine stood still. */
static void starts_apart_are_one(void **state)
{
	struct fixture *f = *state;
	struct image *image;

	start(f, f->root);
	fake(f, 5, "launched", 400 * MS, one_map);
	assert_int_equal(tasks_snapshot(f->tasks, 5), 0);
	unfake(f, 5);
	image = tasks_image(f->tasks, 5, 250 * MS, 500 * MS);
	assert_string_equal(image->comm, "launched");
	assert_int_equal(image->process->start_ns, 250 * MS);
	assert_int_equal(tasks_nr(f->tasks), 1);
}

static void the_fork_of_one_that_was_read_already(void **state)
{
	struct fixture *f = *state;

	start(f, f->root);
	fake(f, 1, "init", 10 * MS, one_map);
	fake(f, 5, "child", 500 * MS, one_map);
	tasks_snapshot_all(f->tasks, &(struct busiest){0}, NULL, NULL);
	assert_int_equal(f->nr_maps, 4);
	forked(f, 505 * MS, 1, 5);
	assert_int_equal(tasks_nr(f->tasks), 2);
	assert_int_equal(f->nr_maps, 4);
	/* Asked for before it was announced: made up, then filled. */
	assert_string_equal(tasks_image(f->tasks, 6, 600 * MS, 601 * MS)->comm, "?");
	forked(f, 600 * MS + 9000, 1, 6);
	assert_int_equal(tasks_nr(f->tasks), 3);
	assert_string_equal(tasks_image(f->tasks, 6, 600 * MS, 601 * MS)->comm, "init");
	assert_string_equal(name_at(f, 6, 0x1000, 601 * MS), "[one]");
}

/* Its exec came first, and what is in /proc is the new image's. */
static void the_fork_of_one_that_has_execed_already(void **state)
{
	static const char new_map[] = "9000-a000 r-xp 00000000 00:00 0 [new]\n";
	struct fixture *f = *state;

	start(f, f->root);
	fake(f, 1, "server", 10 * MS, one_map);
	tasks_snapshot_all(f->tasks, &(struct busiest){0}, NULL, NULL);
	fake(f, 5, "worker", 500 * MS, new_map);
	named(f, TASK_EXEC, 520 * MS, 5, 5, "worker");
	mapped(f, 521 * MS, 5, 0x9000, "[new]");
	forked(f, 505 * MS, 1, 5);
	assert_int_equal(tasks_nr(f->tasks), 2);
	assert_string_equal(name_at(f, 5, 0x1000, 510 * MS), "[one]");
	assert_string_equal(name_at(f, 5, 0x9000, 510 * MS), "none");
	assert_string_equal(name_at(f, 5, 0x9000, 530 * MS), "[new]");
	assert_string_equal(name_at(f, 5, 0x1000, 530 * MS), "none");
	assert_string_equal(tasks_image(f->tasks, 5, 0, 510 * MS)->comm, "server");
	/* The same of one that is gone. */
	named(f, TASK_EXEC, 620 * MS, 6, 6, "worker");
	mapped(f, 621 * MS, 6, 0x9000, "[new]");
	exited(f, 630 * MS, 6, 6);
	forked(f, 605 * MS, 1, 6);
	assert_int_equal(tasks_nr(f->tasks), 3);
	assert_string_equal(name_at(f, 6, 0x1000, 610 * MS), "[one]");
	assert_string_equal(name_at(f, 6, 0x9000, 625 * MS), "[new]");
}

static void after_a_loss_reads_once_more(void **state)
{
	struct fixture *f = *state;
	struct image *image;

	start(f, f->root);
	fake(f, 5, "app", 100 * MS, one_map);
	tasks_snapshot_all(f->tasks, &(struct busiest){0}, NULL, NULL);
	fake(f, 5, "app", 100 * MS,
	     "1000-2000 r-xp 0 00:00 0 [one]\n9000-a000 r-xp 0 0:0 0 [late]\n");
	assert_string_equal(name_at(f, 5, 0x9000, 200 * MS), "none");
	lost(f, 300 * MS);
	forked(f, 310 * MS, 5, 6); /* inherits what may be old */
	fake(f, 6, "app", 310 * MS, "b000-c000 r-xp 0 0:0 0 [child's]\n");
	assert_string_equal(name_at(f, 6, 0xb000, 400 * MS), "[child's]");
	assert_string_equal(name_at(f, 5, 0x9000, 400 * MS), "[late]");
	assert_int_equal(f->last_map.since_ns, 300 * MS);
	fake(f, 5, "app", 100 * MS, "b000-c000 r-xp 0 0:0 0 [later]\n");
	assert_string_equal(name_at(f, 5, 0xb000, 400 * MS), "none");
	lost(f, 500 * MS);
	assert_string_equal(name_at(f, 5, 0xb000, 600 * MS), "[later]");
	/* One that is over is not read: its tgid may be another's. */
	lost(f, 700 * MS);
	image = tasks_image(f->tasks, 5, 0, 600 * MS);
	unfake(f, 5);
	fake(f, 5, "another", 650 * MS, "d000-e000 r-xp 0 0:0 0 [another]\n");
	exited(f, 640 * MS, 5, 5);
	assert_null(tasks_mapping(f->tasks, image, 0xd000, 600 * MS));
}

static void nobody_announced_it(void **state)
{
	struct fixture *f = *state;

	start(f, f->root);
	fake(f, 5, "app", 100 * MS, one_map);
	assert_string_equal(name_at(f, 5, 0x1000, 200 * MS), "[one]");
	mapped(f, 300 * MS, 8, 0x1000, "[gone]"); /* not in /proc */
	assert_string_equal(name_at(f, 8, 0x1000, 310 * MS), "[gone]");
	forked(f, 400 * MS, 99, 10); /* nor its parent */
	assert_string_equal(name_at(f, 10, 0x1000, 410 * MS), "none");
	named(f, TASK_EXEC, 405 * MS, 10, 10, "run");
	assert_string_equal(tasks_image(f->tasks, 10, 0, 410 * MS)->comm, "run");
	exited(f, 1, 12345, 12345);
	assert_int_equal(tasks_nr(f->tasks), 4);
}

static void an_event_older_than_the_process(void **state)
{
	struct fixture *f = *state;

	start(f, f->root);
	fake(f, 5, "app", 900 * MS, one_map);
	tasks_snapshot_all(f->tasks, &(struct busiest){0}, NULL, NULL);
	mapped(f, 300 * MS, 5, 0x1000, "[before]");
	named(f, TASK_EXEC, 310 * MS, 5, 5, "before");
	exited(f, 320 * MS, 5, 5);
	assert_int_equal(tasks_nr(f->tasks), 1);
	assert_string_equal(name_at(f, 5, 0x1000, 950 * MS), "[one]");
	assert_int_equal(process_at(f, 5, 950 * MS)->exited_ns, 0);
}

static void prunes_what_nobody_needs(void **state)
{
	struct fixture *f = *state;

	start(f, f->root);
	fake(f, 1, "init", 10 * MS, one_map);
	tasks_snapshot_all(f->tasks, &(struct busiest){0}, NULL, NULL);
	for (uint32_t tgid = 10; tgid < 20; tgid++)
		forked(f, 100 * MS + tgid, 1, tgid);
	process_at(f, 15, 200 * MS)->is_sampled = true;
	for (uint32_t tgid = 10; tgid < 18; tgid++)
		exited(f, 200 * MS + tgid, tgid, tgid);
	tasks_prune(f->tasks, 200 * MS + 10);
	assert_int_equal(tasks_nr(f->tasks), 11);
	tasks_prune(f->tasks, 200 * MS + 12);
	assert_int_equal(tasks_nr(f->tasks), 9);
	tasks_prune(f->tasks, 300 * MS);
	assert_int_equal(tasks_nr(f->tasks), 4); /* 1, 15, 18, 19 */
	assert_string_equal(name_at(f, 15, 0x1000, 150 * MS), "[one]");
	assert_string_equal(name_at(f, 18, 0x1000, 150 * MS), "[one]");
	/* Exits that were lost show in /proc. */
	fake(f, 18, "init", 100 * MS, one_map);
	lost(f, 400 * MS);
	tasks_prune(f->tasks, 500 * MS);
	assert_int_not_equal(process_at(f, 19, 500 * MS)->exited_ns, 0);
	assert_int_equal(process_at(f, 18, 500 * MS)->exited_ns, 0);
	tasks_prune(f->tasks, clock_monotonic_ns() + 1);
	assert_int_equal(tasks_nr(f->tasks), 3);
}

static void one_that_execs_for_ever_does_not_grow(void **state)
{
	struct fixture *f = *state;

	start(f, f->root);
	forked(f, 1, 1, 5);
	for (uint64_t i = 1; i <= 1000; i++) {
		named(f, TASK_EXEC, i * MS, 5, 5, "again");
		mapped(f, i * MS + 1, 5, 0x1000 * i, "[a]");
		if (i % 100 == 0)
			tasks_prune(f->tasks, i * MS - 10 * MS);
	}
	assert_in_range(process_at(f, 5, 1000 * MS)->images.nr, 1, 12);
	assert_string_equal(name_at(f, 5, 0x1000 * 999, 999 * MS + 10), "[a]");
}

/* 100,000 commands of a shell, pruned each 2,000: what a busy build makes in a minute. */
static void a_storm_of_short_processes(void **state)
{
	struct fixture *f = *state;
	uint64_t begin, used_ns = 0, t = 1000 * MS;
	struct mallinfo2 before, after;
	size_t most = 0;

	start(f, "/proc");
	tasks_on_map(f->tasks, NULL, NULL);
	assert_int_equal(tasks_snapshot(f->tasks, getpid()), 0);
	t = clock_monotonic_ns();
	before = mallinfo2();
	for (uint32_t i = 0; i < 100000; i++) {
		uint32_t tgid = 0x10000000 + i % 30000;

		begin = clock_monotonic_ns();
		t += MS / 2;
		forked(f, t, getpid(), tgid);
		named(f, TASK_EXEC, t + 1000, tgid, tgid, "cc1");
		exited(f, t + 100000, tgid, tgid);
		if (i % 2000 == 1999)
			tasks_prune(f->tasks, t - 100 * MS);
		used_ns += clock_monotonic_ns() - begin;
		if (tasks_nr(f->tasks) > most)
			most = tasks_nr(f->tasks);
	}
	tasks_prune(f->tasks, t + MS);
	after = mallinfo2();
	print_message("100,000 forks, execs and exits in %.0f ms; at most %zu processes; "
		      "%zd KB more at the end\n",
		      used_ns / 1e6, most, (ssize_t)(after.uordblks - before.uordblks) / 1024);
	assert_int_equal(tasks_nr(f->tasks), 1);
	assert_true(most < 3000);
	assert_true(after.uordblks < before.uordblks + (1 << 20));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(reads_this_process),
		TEST(no_such_process),
		TEST(an_unlinked_binary_keeps_its_file),
		TEST(lives_on_without_its_first_thread),
		TEST(a_thread_maps_without_the_first_one),
		TEST(an_exec_by_another_thread_ends_nothing),
		TEST(sees_every_process),
		TEST(looks_at_the_rest_when_it_is_met),
		TEST(looks_at_the_busiest_before_time_is_up),
		TEST(reads_very_many_mappings),
		TEST(a_fork_inherits_and_an_exec_begins_anew),
		TEST(a_tgid_used_again_is_another_process),
		TEST(adopts_the_exact_start),
		TEST(starts_apart_are_one),
		TEST(the_fork_of_one_that_was_read_already),
		TEST(the_fork_of_one_that_has_execed_already),
		TEST(after_a_loss_reads_once_more),
		TEST(nobody_announced_it),
		TEST(an_event_older_than_the_process),
		TEST(prunes_what_nobody_needs),
		TEST(one_that_execs_for_ever_does_not_grow),
		TEST(a_storm_of_short_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
