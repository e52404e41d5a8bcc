// SPDX-License-Identifier: BSD-2-Clause
/* The CPU time of targets, with a map of targets and clocks that say what the test wants. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "collect/cputime.h"
#include "cprof_abi.h"

#define NR_TGIDS 20000
#define MAP_FD	 12345
#define MS	 1000000ull

static struct {
	bool is_in, is_rejected;
	uint64_t clock_ms; /* 0: there is no such process */
} world[NR_TGIDS];

int bpf_map_get_next_key(int fd, const void *key, void *next_key)
{
	uint32_t tgid = key ? *(const uint32_t *)key + 1 : 0;

	assert_int_equal(fd, MAP_FD);
	while (tgid < NR_TGIDS && !world[tgid].is_in)
		tgid++;
	*(uint32_t *)next_key = tgid;
	return tgid < NR_TGIDS ? 0 : -ENOENT;
}

int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	uint32_t tgid = *(const uint32_t *)key;

	assert_int_equal(fd, MAP_FD);
	*(uint8_t *)value = world[tgid].is_rejected ? ABI_TARGET_REJECTED : ABI_TARGET_NOW;
	return world[tgid].is_in ? 0 : -ENOENT;
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
	uint32_t tgid = ~((uint32_t)id) >> 3;

	if (id >= 0)
		return (int)syscall(SYS_clock_gettime, id, ts);
	if (!world[tgid].clock_ms)
		return -1;
	*ts = (struct timespec){.tv_sec = (time_t)(world[tgid].clock_ms / 1000),
				.tv_nsec = (long)(world[tgid].clock_ms % 1000 * MS)};
	return 0;
}

static void set(uint32_t tgid, bool is_in, uint64_t clock_ms)
{
	world[tgid].is_in = is_in;
	world[tgid].is_rejected = false;
	world[tgid].clock_ms = clock_ms;
}

static int begin(void **state)
{
	static struct cputime cputime;

	memset(world, 0, sizeof(world));
	cputime_open(&cputime, MAP_FD, false);
	*state = &cputime;
	return 0;
}

static int end(void **state)
{
	cputime_release(*state);
	return 0;
}

/* In milliseconds; so is ended. */
static uint64_t read_at(struct cputime *cputime, uint64_t ended_ms)
{
	return cputime_read(cputime, ended_ms * MS) / MS;
}

static void test_live_and_ended(void **state)
{
	struct cputime *cputime = *state;

	set(10, true, 1000);
	cputime_add(cputime, 10);
	set(10, true, 1500);
	cputime_begin(cputime, 70 * MS);
	set(10, true, 1600);
	set(5, true, 30); /* a child */
	assert_int_equal(read_at(cputime, 70), 130);
	/* The child has ended, and so has one that was never seen. */
	set(5, false, 0);
	assert_int_equal(read_at(cputime, 70 + 40 + 15), 155);
	/* BPF missed threads of the last, whose clock is still there. */
	set(10, false, 1800);
	assert_int_equal(read_at(cputime, 70 + 40 + 15 + 1500), 330);
}

static void test_one_that_ended_before(void **state)
{
	struct cputime *cputime = *state;

	set(10, true, 1000);
	cputime_add(cputime, 10);
	set(10, false, 0);
	set(11, true, 5000);
	cputime_add(cputime, 11);
	cputime_begin(cputime, 1200 * MS); /* with all of the first */
	set(11, true, 5100);
	assert_int_equal(read_at(cputime, 1200), 100);
	assert_int_equal(read_at(cputime, 1250), 150);
}

static void test_number_that_is_used_again(void **state)
{
	struct cputime *cputime = *state;

	set(10, true, 1000);
	cputime_add(cputime, 10);
	cputime_begin(cputime, 0);
	set(10, true, 1400);
	assert_int_equal(read_at(cputime, 0), 400);
	/* By another process, whose clock is read once more. */
	set(10, false, 20);
	assert_int_equal(read_at(cputime, 1410), 410);
	/* By a child, twice. */
	set(10, true, 30);
	assert_int_equal(read_at(cputime, 1410), 440);
	set(10, true, 5);
	assert_int_equal(read_at(cputime, 1410 + 35), 450);
}

static void test_it_does_not_decrease(void **state)
{
	struct cputime *cputime = *state;

	set(10, true, 1000);
	cputime_add(cputime, 10);
	cputime_begin(cputime, 0);
	set(10, true, 1500);
	assert_int_equal(read_at(cputime, 0), 500);
	set(10, true, 900); /* a clock of before it began */
	assert_true(read_at(cputime, 0) >= 500 && read_at(cputime, 0) < 2000);
}

static void test_rejected_do_not_count(void **state)
{
	struct cputime *cputime = *state;

	cputime_begin(cputime, 0);
	set(7, true, 100);
	world[7].is_rejected = true;
	set(8, true, 20);
	assert_int_equal(read_at(cputime, 0), 20);
	/* What it used as a target stays; what it uses now does not count. */
	world[8].is_rejected = true;
	assert_int_equal(read_at(cputime, 0), 20);
	set(8, false, 0);
	assert_int_equal(read_at(cputime, 0), 20);
}

static void test_places_of_the_ended_are_free(void **state)
{
	struct cputime *cputime = *state;

	cputime_begin(cputime, 0);
	for (uint32_t tgid = 1; tgid < NR_TGIDS; tgid++) {
		set(tgid, true, 1);
		if (tgid % 1000 == 0) {
			read_at(cputime, tgid - 1000);
			for (uint32_t old = 1; old <= tgid; old++)
				set(old, false, 0);
		}
	}
	assert_int_equal(read_at(cputime, 19000), 19999);
	assert_true(cputime->processes.nr < 2000);
}

static void test_more_than_there_is_room_for(void **state)
{
	struct cputime *cputime = *state;

	cputime_begin(cputime, 0);
	for (uint32_t tgid = 1; tgid <= CPUTIME_MAX_PROCESSES + 50; tgid++)
		set(tgid, true, 2);
	assert_int_equal(read_at(cputime, 0), CPUTIME_MAX_PROCESSES * 2);
	/* One that gets a place late may not be a child: what it used before does not count. */
	set(1, false, 0);
	assert_int_equal(read_at(cputime, 2), CPUTIME_MAX_PROCESSES * 2);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_live_and_ended),
		TEST(test_one_that_ended_before),
		TEST(test_number_that_is_used_again),
		TEST(test_it_does_not_decrease),
		TEST(test_rejected_do_not_count),
		TEST(test_places_of_the_ended_are_free),
		TEST(test_more_than_there_is_room_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
