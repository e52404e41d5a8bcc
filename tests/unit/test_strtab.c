// SPDX-License-Identifier: BSD-2-Clause
/* Interning, and under it the hash index and the arena. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/strtab.h"

static void test_equal_strings_are_one(void **state)
{
	struct strtab strtab = {0};
	uint32_t a = strtab_intern(&strtab, "alpha"), b = strtab_intern(&strtab, "beta");

	(void)state;
	assert_int_not_equal(a, b);
	assert_int_equal(strtab_intern(&strtab, "alpha"), a);
	assert_int_equal(strtab_intern_len(&strtab, "alphabet", 5), a);
	assert_int_equal(strtab_intern_len(&strtab, "beta\0gone", 9), b);
	assert_string_equal(strtab_get(&strtab, b), "beta");
	strtab_release(&strtab);
}

static void test_empty_string_is_0(void **state)
{
	struct strtab strtab = {0};

	(void)state;
	assert_string_equal(strtab_get(&strtab, 0), "");
	assert_int_equal(strtab_nr(&strtab), 1);
	assert_int_equal(strtab_intern(&strtab, ""), 0);
	assert_int_equal(strtab_intern(&strtab, "x"), 1);
	assert_int_equal(strtab_nr(&strtab), 2);
	strtab_release(&strtab);
}

/* Enough to grow the index many times, and strings stay where they are. */
static void test_many(void **state)
{
	struct strtab strtab = {0};
	const char *first;
	char name[32];

	(void)state;
	strtab_intern(&strtab, "name 0");
	first = strtab_get(&strtab, 1);
	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 100000; i++) {
			snprintf(name, sizeof(name), "name %u", i);
			assert_int_equal(strtab_intern(&strtab, name), i + 1);
		}
	assert_ptr_equal(strtab_get(&strtab, 1), first);
	assert_string_equal(strtab_get(&strtab, 77778), "name 77777");
	strtab_release(&strtab);
}

static void test_long_string(void **state)
{
	static char text[300000];
	struct strtab strtab = {0};

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	assert_string_equal(strtab_get(&strtab, strtab_intern(&strtab, text)), text);
	strtab_release(&strtab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_strings_are_one),
		cmocka_unit_test(test_empty_string_is_0),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_long_string),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
