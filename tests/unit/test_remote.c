// SPDX-License-Identifier: BSD-2-Clause
/* Memory of another process: several pieces at a time, and pages that are not there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/remote.h"

#define NR 1000 /* more than one system call takes */

static uint32_t values[NR];

/* A copy of this process that changes nothing, and may be read: it is our child. */
static pid_t start_child(void)
{
	pid_t pid;

	for (uint32_t i = 0; i < NR; i++)
		values[i] = i * 7;
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		pause();
		_exit(0);
	}
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Every seventh piece is nowhere: the others are read all the same. */
static void test_pieces(void **state)
{
	struct memory_piece pieces[NR];
	uint32_t read[NR] = {0};
	char *hole = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t pid = start_child();

	(void)state;
	for (uint32_t i = 0; i < NR; i++)
		pieces[i] = (struct memory_piece){
			.addr = i % 7 ? (uintptr_t)&values[i] : (uintptr_t)hole,
			.to = &read[i],
			.len_bytes = sizeof(read[i]),
		};
	memset(values, 0, sizeof(values)); /* ours: what is read is the child's */
	remote_read((uint32_t)pid, pieces, NR);
	for (uint32_t i = 0; i < NR; i++) {
		assert_int_equal(pieces[i].was_read, i % 7 != 0);
		assert_int_equal(read[i], i % 7 ? i * 7 : 0);
	}
	end_child(pid);
	munmap(hole, 4096);
}

/* A piece of which only the beginning is there was not read. */
static void test_edge(void **state)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct memory_piece pieces[2];
	char read[2][16];
	pid_t pid;

	(void)state;
	munmap(pages + 4096, 4096);
	strcpy(pages + 4000, "here");
	pid = start_child();
	pieces[0] = (struct memory_piece){(uintptr_t)pages + 4090, read[0], 16, true};
	pieces[1] = (struct memory_piece){(uintptr_t)pages + 4000, read[1], 16, false};
	remote_read((uint32_t)pid, pieces, 2);
	assert_false(pieces[0].was_read);
	assert_true(pieces[1].was_read);
	assert_string_equal(read[1], "here");
	end_child(pid);
	remote_read((uint32_t)pid, pieces, 2); /* gone */
	assert_false(pieces[0].was_read || pieces[1].was_read);
	munmap(pages, 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_edge),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
