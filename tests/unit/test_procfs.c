// SPDX-License-Identifier: BSD-2-Clause
/* Files of /proc: stat with any name of a process, status, lists of processes, and bounds on reading. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "process/procfs.h"
#include "temp.h"

static char *root;

static void write_file(uint32_t tgid, const char *name, const char *bytes, size_t len)
{
	char path[200];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%u", root, tgid);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/%u/%s", root, tgid, name);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, len, file), len);
	fclose(file);
}

static int stat_of(const char *text, struct proc_stat *stat)
{
	write_file(7, "stat", text, strlen(text));
	return procfs_stat(root, 7, stat);
}

static void stat_of_this_process(void **state)
{
	uint64_t before = clock_monotonic_ns(), after;
	struct proc_stat stat;
	pid_t child = fork();

	(void)state;
	if (!child) {
		prctl(PR_SET_NAME, "a) R (b 1 2");
		pause();
		_exit(0);
	}
	after = clock_monotonic_ns();
	do {
		assert_int_equal(procfs_stat("/proc", child, &stat), 0);
	} while (strcmp(stat.comm, "a) R (b 1 2") || stat.state == 'R');
	assert_int_equal(stat.parent_tgid, getpid());
	assert_int_equal(stat.state, 'S');
	assert_int_equal(stat.nr_threads, 1);
	assert_false(stat.is_kernel_thread);
	assert_false(proc_stat_is_dead(&stat) || stat.is_exiting);
	assert_in_range(stat.start_ns, before - 20000000, after);
	kill(child, SIGKILL);
	do {
		assert_int_equal(procfs_stat("/proc", child, &stat), 0);
	} while (stat.state != 'Z');
	assert_true(proc_stat_is_dead(&stat) && stat.is_exiting);
	waitpid(child, NULL, 0);
	assert_int_equal(procfs_stat("/proc", child, &stat), -ESRCH);
}

static void stat_of_strange_names(void **state)
{
	static const char tail[] = " S 5 1 1 0 -1 %s 1 2 3 4 5 6 7 8 20 0 %s 0 12345 9 9";
	struct proc_stat stat = {.start_ns = 42};
	char text[300], end[200];

	(void)state;
	snprintf(end, sizeof(end), tail, "4194560", "3");
	snprintf(text, sizeof(text), "7 (x) R 1 (\n))%s", end);
	assert_int_equal(stat_of(text, &stat), 0);
	assert_string_equal(stat.comm, "x) R 1 (\n)");
	assert_int_equal(stat.state, 'S');
	assert_int_equal(stat.parent_tgid, 5);
	assert_int_equal(stat.nr_threads, 3);
	assert_int_equal(stat.start_ticks, 12345);
	assert_false(stat.is_kernel_thread);
	snprintf(end, sizeof(end), tail, "2129984", "1"); /* PF_KTHREAD | ... */
	snprintf(text, sizeof(text), "7 (kworker/u4:2-events_unbound)%s", end);
	assert_int_equal(stat_of(text, &stat), 0);
	assert_string_equal(stat.comm, "kworker/u4:2-ev");
	assert_true(stat.is_kernel_thread);
	snprintf(text, sizeof(text), "7 ()%s", end);
	assert_int_equal(stat_of(text, &stat), 0);
	assert_string_equal(stat.comm, "");
}

static void refuses_what_is_no_stat(void **state)
{
	static const char *const texts[] = {"",
					    "7",
					    "7 (",
					    "7 )(",
					    "7 (x)",
					    "7 (x) S",
					    "7 (x) S 5 1 1 0 -1 64 1 2 3 4 5 6 7 8 20 0 3 0",
					    "7 (x) S x 1 1 0 -1 64 1 2 3 4 5 6 7 8 20 0 3 0 12345"};
	struct proc_stat stat = {.start_ns = 42};
	char *large = calloc(1, 10000);

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(stat_of(texts[i], &stat), -EINVAL);
	memset(large, '(', 9999);
	assert_int_equal(stat_of(large, &stat), -EFBIG);
	assert_int_equal(procfs_stat(root, 8, &stat), -ESRCH);
	assert_int_equal(stat.start_ns, 42);
	free(large);
}

static void *report_tid(void *tid)
{
	*(volatile pid_t *)tid = syscall(SYS_gettid);
	for (;;)
		pause();
	return NULL;
}

static void tgid_of_a_thread(void **state)
{
	volatile pid_t tid = 0;
	pthread_t thread;
	uint32_t tgid = 1;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, report_tid, (void *)&tid), 0);
	while (!tid)
		;
	assert_int_not_equal(tid, getpid());
	assert_int_equal(procfs_tgid_of("/proc", tid, &tgid), 0);
	assert_int_equal(tgid, getpid());
	assert_int_equal(procfs_tgid_of("/proc", getpid(), &tgid), 0);
	assert_int_equal(tgid, getpid());
	write_file(9, "status", "Name:\tx\nUmask:\t0\n", 17);
	assert_int_equal(procfs_tgid_of(root, 9, &tgid), -EINVAL);
	write_file(9, "status", "Name:\tTgid:\\n\nTgid:\t11\n", 23);
	assert_int_equal(procfs_tgid_of(root, 9, &tgid), 0);
	assert_int_equal(tgid, 11);
	assert_int_equal(procfs_tgid_of(root, 10, &tgid), -ESRCH);
	pthread_cancel(thread);
	pthread_join(thread, NULL);
}

static void numbers_of_status(void **state)
{
	static const char status[] =
		"Name:\tUid:\\n\nUid:\t1\t22\t4294967295\t4294967296\nGid:\t5\n";
	uint32_t number = 7;

	(void)state;
	write_file(9, "status", status, sizeof(status) - 1);
	assert_int_equal(procfs_status_number(root, 9, "\nUid:", 1, &number), 0);
	assert_int_equal(number, 22);
	assert_int_equal(procfs_status_number(root, 9, "\nUid:", 2, &number), 0);
	assert_int_equal(number, UINT32_MAX);
	assert_int_equal(procfs_status_number(root, 9, "\nUid:", 3, &number), -EINVAL);
	assert_int_equal(procfs_status_number(root, 9, "\nGid:", 1, &number), -EINVAL);
	assert_int_equal(procfs_status_number(root, 9, "\nPid:", 0, &number), -EINVAL);
	assert_int_equal(number, UINT32_MAX);
}

static void lists_processes(void **state)
{
	uint32_t *tgids = NULL;
	bool found = false;
	char path[200];
	size_t nr;

	(void)state;
	assert_int_equal(procfs_list("/proc", &tgids, &nr), 0);
	for (size_t i = 0; i < nr; i++) {
		found |= tgids[i] == (uint32_t)getpid();
		assert_true(!i || tgids[i - 1] < tgids[i]);
	}
	assert_true(found);
	free(tgids);
	for (const char *const *name =
		     (const char *const[]){"12a", "0", "07", "-3", "99999999999", "self", NULL};
	     *name; name++) {
		snprintf(path, sizeof(path), "%s/%s", root, *name);
		assert_int_equal(mkdir(path, 0755), 0);
	}
	write_file(300, "stat", "", 0);
	write_file(20, "stat", "", 0);
	assert_int_equal(procfs_list(root, &tgids, &nr), 0);
	for (size_t i = 0; i < nr; i++)
		assert_true(tgids[i] == 7 || tgids[i] == 9 || tgids[i] == 20 || tgids[i] == 300);
	assert_int_equal(tgids[nr - 1], 300);
	free(tgids);
	assert_int_equal(procfs_list("/nonexistent", &tgids, &nr), -ENOENT);
}

static void reads_with_a_bound(void **state)
{
	char *text = NULL, *bytes = malloc(10000);
	size_t len = 0;

	(void)state;
	memset(bytes, 'y', 10000);
	write_file(20, "x", bytes, 10000);
	assert_int_equal(procfs_read(root, 20, "x", 9999, &text, &len), -EFBIG);
	assert_null(text);
	assert_int_equal(procfs_read(root, 20, "x", 10000, &text, &len), 0);
	assert_int_equal(len, 10000);
	assert_memory_equal(text, bytes, 10000);
	assert_int_equal(text[len], 0);
	free(text);
	write_file(20, "x", "", 0);
	assert_int_equal(procfs_read(root, 20, "x", 0, &text, &len), 0);
	assert_int_equal(len, 0);
	free(text);
	assert_int_equal(procfs_read(root, 20, "none", 10, &text, &len), -ESRCH);
	free(bytes);
}

static void collect_line(void *ctx, const char *line)
{
	strcat(ctx, line);
	strcat(ctx, "|");
}

static void reads_line_by_line(void **state)
{
	char got[100] = "";

	(void)state;
	write_file(20, "maps", "one\n\ntwo\nthree", 14);
	assert_int_equal(procfs_each_line(root, 20, "maps", 14, collect_line, got), 0);
	assert_string_equal(got, "one||two|three|");
	got[0] = '\0';
	assert_int_equal(procfs_each_line(root, 20, "maps", 8, collect_line, got), -EFBIG);
	assert_string_equal(got, "one||");
	assert_int_equal(procfs_each_line(root, 21, "maps", 8, collect_line, got), -ESRCH);
}

static void finds_a_thread_that_lives(void **state)
{
	volatile pid_t ours = 0;
	struct proc_stat stat;
	uint32_t tid = 0, tgid;
	pid_t child = fork();

	(void)state;
	if (!child) {
		pthread_t thread;

		pthread_create(&thread, NULL, report_tid, (void *)&ours);
		pthread_exit(NULL);
	}
	do {
		assert_int_equal(procfs_stat("/proc", child, &stat), 0);
	} while (stat.state != 'Z');
	assert_int_equal(stat.nr_threads, 2);
	assert_false(proc_stat_is_dead(&stat));
	assert_int_equal(procfs_live_thread("/proc", child, &tid), 0);
	assert_int_not_equal(tid, child);
	assert_int_equal(procfs_tgid_of("/proc", tid, &tgid), 0);
	assert_int_equal(tgid, child);
	kill(child, SIGKILL);
	do {
		assert_int_equal(procfs_stat("/proc", child, &stat), 0);
	} while (stat.nr_threads > 1);
	assert_int_equal(procfs_live_thread("/proc", child, &tid), -ESRCH);
	waitpid(child, NULL, 0);
	assert_int_equal(procfs_live_thread("/proc", child, &tid), -ESRCH);
}

static int make_root(void **state)
{
	(void)state;
	root = temp_folder();
	return 0;
}

static int forget_root(void **state)
{
	(void)state;
	free(root);
	return 0;
}

static void memory(void **state)
{
	static const char status[] = "Name:\tVmRSS: 7 kB\nState:\tS (sleeping)\nVmPeak:\t   16 kB\n"
				     "VmRSS:\t       8 kB\nRssAnon:\t 4 kB\nThreads:\t3\n";
	static const char zombie[] = "Name:\tgone\nState:\tZ (zombie)\nThreads:\t1\n";
	char *text = NULL;

	(void)state;
	write_file(8, "status", status, sizeof(status) - 1);
	assert_int_equal(procfs_memory(root, 8, &text), 0);
	assert_string_equal(text, "VmPeak = 16 kB\nVmRSS = 8 kB\nRssAnon = 4 kB\nThreads = 3\n");
	free(text);
	text = NULL;
	write_file(8, "status", zombie, sizeof(zombie) - 1);
	assert_int_equal(procfs_memory(root, 8, &text), -ESRCH);
	assert_int_equal(procfs_memory(root, 9999999, &text), -ESRCH);
	assert_null(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stat_of_this_process),
		cmocka_unit_test(stat_of_strange_names),
		cmocka_unit_test(refuses_what_is_no_stat),
		cmocka_unit_test(tgid_of_a_thread),
		cmocka_unit_test(numbers_of_status),
		cmocka_unit_test(lists_processes),
		cmocka_unit_test(reads_with_a_bound),
		cmocka_unit_test(reads_line_by_line),
		cmocka_unit_test(finds_a_thread_that_lives),
		cmocka_unit_test(memory),
	};

	return cmocka_run_group_tests(tests, make_root, forget_root);
}
