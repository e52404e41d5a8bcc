/* SPDX-License-Identifier: BSD-2-Clause */
/* When cprof is busy for too long, and which process it begins with. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/workbudget.h"
#include "process/busiest.h"
#include "temp.h"

static bool hurry;

static bool hurries(void)
{
	return hurry;
}

static void look(void *ctx)
{
	++*(int *)ctx;
}

static void without_limit_it_only_looks(void **state)
{
	int nr = 0;
	struct workbudget budget = {.look = look, .ctx = &nr};

	(void)state;
	assert_false(workbudget_is_over(&budget));
	assert_false(workbudget_is_over(&budget));
	assert_int_equal(nr, 2);
}

static void work_ends_it(void **state)
{
	struct workbudget budget = {0};
	uint64_t began_ns = clock_process_cpu_ns(), began = clock_monotonic_ns();

	(void)state;
	workbudget_limit(&budget, 20000000, hurries);
	while (!workbudget_is_over(&budget))
		;
	/* By the one clock or, were this machine all too busy, by the other. */
	assert_true(clock_process_cpu_ns() - began_ns >= 20000000 ||
		    clock_monotonic_ns() - began >= 60000000);
	assert_true(workbudget_is_over(&budget));
	workbudget_unlimit(&budget);
	assert_false(workbudget_is_over(&budget));
}

static void hurry_ends_it(void **state)
{
	struct workbudget budget = {0};

	(void)state;
	workbudget_limit(&budget, 3600 * NSEC_PER_SEC, hurries);
	assert_false(workbudget_is_over(&budget));
	hurry = true;
	assert_true(workbudget_is_over(&budget));
	hurry = false;
	workbudget_unlimit(&budget);
	assert_false(workbudget_is_over(&budget));
}

static char *root;

static void write_stat(uint32_t tgid, int user, int system, int start)
{
	char path[200];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%u", root, tgid);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/%u/stat", root, tgid);
	file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "%u (p) S 1 1 1 0 -1 0 1 2 3 4 %d %d 7 8 20 0 1 0 %d 0\n", tgid, user, system,
		start);
	fclose(file);
}

static void the_busiest_come_first(void **state)
{
	static const uint32_t expected[] = {5, 6, 4, 7, 3};
	struct busiest busiest = {0};
	uint32_t *tgids;
	size_t nr;

	(void)state;
	root = temp_folder();
	write_stat(3, 10, 0, 1);
	write_stat(4, 900, 0, 1);
	write_stat(5, 20, 20, 1);
	write_stat(6, 100, 0, 1);
	write_stat(7, 10, 1, 1);
	assert_int_equal(busiest_look(&busiest, root), 0);
	write_stat(5, 25, 25, 1);
	write_stat(6, 7, 0, 2); /* another one, which has that tgid now */
	assert_int_equal(busiest_order(&busiest, root, &tgids, &nr), 0);
	assert_int_equal(nr, 5);
	assert_memory_equal(tgids, expected, sizeof(expected));
	free(tgids);
	busiest_release(&busiest);
	assert_int_equal(busiest_order(&busiest, root, &tgids, &nr), 0);
	assert_int_equal(tgids[0], 4); /* without a first look: ever */
	free(tgids);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_limit_it_only_looks),
		cmocka_unit_test(work_ends_it),
		cmocka_unit_test(hurry_ends_it),
		cmocka_unit_test(the_busiest_come_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
