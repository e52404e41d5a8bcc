// SPDX-License-Identifier: BSD-2-Clause
/* Reads this process's own memory: pieces near each other and far apart, with a page between them that is not there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "worker/memory.h"

#define PAGE	 4096u
#define NR_PAGES 40u
#define HOLE	 20u /* this page is not there */

static uint8_t *bytes;
static int memory_fd;

static int set_up(void **state)
{
	(void)state;
	bytes = mmap(NULL, NR_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	for (size_t i = 0; i < NR_PAGES * PAGE; i++)
		bytes[i] = i % 251;
	munmap(bytes + HOLE * PAGE, PAGE);
	memory_fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	return memory_fd < 0;
}

static int tear_down(void **state)
{
	(void)state;
	munmap(bytes, NR_PAGES * PAGE);
	return close(memory_fd);
}

static bool is_there(size_t at, size_t len_bytes)
{
	return at + len_bytes <= HOLE * PAGE ||
	       (at >= (HOLE + 1) * PAGE && at + len_bytes <= NR_PAGES * PAGE);
}

/* Pieces of len bytes, every step bytes from the first on. */
static void check(size_t first, long step, size_t len, size_t nr)
{
	struct memory_piece *pieces scoped(freep) = xcalloc(nr, sizeof(*pieces));
	uint8_t *to scoped(freep) = xcalloc(nr, len);
	size_t nr_failed = 0, nr_there = 0;

	for (size_t i = 0; i < nr; i++)
		pieces[i] = (struct memory_piece){.addr = (uintptr_t)bytes + first + i * step,
						  .to = to + i * len,
						  .len_bytes = len,
						  .was_read = i % 2};
	nr_failed = memory_read_pieces(memory_fd, pieces, nr);
	for (size_t i = 0; i < nr; i++) {
		size_t at = first + i * step;

		assert_int_equal(pieces[i].was_read, is_there(at, len));
		nr_there += pieces[i].was_read;
		for (size_t j = 0; pieces[i].was_read && j < len; j++)
			assert_int_equal(to[i * len + j], (at + j) % 251);
	}
	assert_int_equal(nr_failed, nr - nr_there);
}

static void test_pieces(void **state)
{
	(void)state;
	check(0, 0, 100, 1);
	check(10, 200, 100, 500);		     /* many spans, some over the hole */
	check(10, 100, 100, 500);		     /* without gaps */
	check(10, 50, 100, 500);		     /* overlapping */
	check(0, 2 * PAGE, 100, 20);		     /* far apart */
	check(500, 0, 64, 9);			     /* the same */
	check((HOLE - 2) * PAGE, -700, 300, 100);    /* backwards */
	check(0, 10 * PAGE, 8 * PAGE, 3);	     /* large */
	check(0, 17 * PAGE, 17 * PAGE, 2);	     /* larger than a span */
	check((HOLE - 1) * PAGE, PAGE / 2, PAGE, 6); /* across the edges of the hole */
	check(HOLE * PAGE + 8, 16, 8, 100);	     /* nothing */
	assert_int_equal(memory_read_pieces(memory_fd, NULL, 0), 0);
}

/* Addresses that are in no process. */
static void test_nowhere(void **state)
{
	const uint64_t addrs[] = {0, 1ull << 47, 1ull << 63, UINT64_MAX, UINT64_MAX - 4};
	char to[8];

	(void)state;
	for (size_t i = 0; i < sizeof(addrs) / sizeof(addrs[0]); i++) {
		struct memory_piece pieces[2] = {{addrs[i], to, 8, true},
						 {addrs[i] + 8, to, 8, true}};

		assert_int_equal(memory_read_pieces(memory_fd, pieces, 2), 2);
		assert_false(pieces[0].was_read || pieces[1].was_read);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_pieces, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_nowhere, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
