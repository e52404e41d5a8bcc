// SPDX-License-Identifier: BSD-2-Clause
/* The order in which addresses are looked up: the heaviest first, those of one file together. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "symbolize/worklist.h"

#define NR 4000

static void test_few_are_one_tier(void **state)
{
	struct work works[] = {{1, 9, 0x20, 1}, {2, 9, 0x10, 5},	  {1, 9, 0x10, 2},
			       {1, 9, 0x20, 1}, {3, 9, 0x10, UINT64_MAX}, {3, 9, 0x10, 1}};
	static const struct work expected[] = {
		{3, 0, 0x10, UINT64_MAX}, {2, 0, 0x10, 5}, {1, 0, 0x10, 2}, {1, 0, 0x20, 2}};

	(void)state;
	assert_int_equal(worklist_order(works, 6), 4);
	for (size_t i = 0; i < 4; i++)
		assert_memory_equal(&works[i], &expected[i], sizeof(works[i]));
	assert_int_equal(worklist_order(works, 0), 0);
	assert_int_equal(worklist_order(NULL, 0), 0);
}

/* Whenever time is up, what is left weighs less than what would be left of any order by file. */
static void test_the_heaviest_come_first(void **state)
{
	struct work *works scoped(freep) = xcalloc(NR, sizeof(*works));
	uint64_t total = 0, before = 0;

	(void)state;
	for (size_t i = 0; i < NR; i++) {
		works[i] = (struct work){i % 7, 0, i * 16, i % 50 ? 1 : 1000};
		total += works[i].weight;
	}
	assert_int_equal(worklist_order(works, NR), NR);
	for (size_t i = 0; i < NR; before += works[i++].weight) {
		assert_int_equal(works[i].tier, before < total / 100 * 50   ? 0
						: before < total / 100 * 90 ? 1
									    : 2);
		if (i && works[i].tier == works[i - 1].tier && works[i].file == works[i - 1].file)
			assert_true(works[i].elf_addr > works[i - 1].elf_addr);
		else if (i)
			assert_true(works[i].tier >= works[i - 1].tier);
	}
	assert_int_equal(works[0].weight, 1000);
}

/* A file is not left and taken up again within a tier. */
static void test_files_stay_together(void **state)
{
	struct work *works scoped(freep) = xcalloc(NR, sizeof(*works));
	uint32_t nr_changes = 0;

	(void)state;
	for (size_t i = 0; i < NR; i++)
		works[i] = (struct work){i % 10, 0, NR - i, 1 + i % 10};
	worklist_order(works, NR);
	for (size_t i = 1; i < NR; i++)
		nr_changes += works[i].file != works[i - 1].file ||
			      works[i].tier != works[i - 1].tier;
	assert_true(nr_changes < 30);
	assert_int_equal(works[0].file, 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_few_are_one_tier),
		cmocka_unit_test(test_the_heaviest_come_first),
		cmocka_unit_test(test_files_stay_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
