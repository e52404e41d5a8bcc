// SPDX-License-Identifier: BSD-2-Clause
/* output/flame, output/flamesvg: what needs no browser; tests/e2e/test_flame.py has the rest. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "output/flame.h"
#include "output/flamesvg.h"
#include "profile_case.h"
#include "sinks.h"

static void test_an_error_of_the_sink_ends_it(void **state)
{
	struct profile *profile = case_new("samples/count");
	struct flame_options options = {0};

	(void)state;
	case_add(profile, "main;f", "", 1);
	for (size_t room = 0; room < 40000; room += 1600) {
		size_t html = room, svg = room / 16;

		assert_int_equal(flame_html_encode(profile, &options, sink_disk, &html), -ENOSPC);
		assert_int_equal(flame_svg_encode(profile, &options, sink_disk, &svg), -ENOSPC);
	}
	assert_int_equal(flame_html_encode(profile, &options, sink_disk, &(size_t){1 << 20}), 0);
	assert_int_equal(flame_svg_encode(profile, &options, sink_disk, &(size_t){1 << 20}), 0);
	profile_free(profile);
}

static void test_types_must_be_the_same(void **state)
{
	struct profile *profile = case_new("samples/count"), *base = case_new("samples/bytes");
	struct flame_options options = {.base = base};

	(void)state;
	assert_int_equal(flame_html_encode(profile, &options, sink_disk, &(size_t){0}), -EINVAL);
	assert_int_equal(flame_svg_encode(profile, &options, sink_disk, &(size_t){0}), -EINVAL);
	options = (struct flame_options){.type = 1};
	assert_int_equal(flame_html_encode(profile, &options, sink_disk, &(size_t){0}), -EINVAL);
	profile_free(profile);
	profile_free(base);
}

static void expect_title(const struct profile *profile, const struct profile *base,
			 const char *expected)
{
	char *title scoped(freep) = flame_title(profile, &(struct flame_options){.base = base});

	assert_string_equal(title, expected);
}

static void test_titles(void **state)
{
	struct profile *one = case_new("samples/count"), *many = case_new("samples/count");
	struct profile *none = case_new("samples/count"), *empty = case_new("samples/count");

	(void)state;
	case_add(one, "main;f", "comm=nginx pid#42", 1);
	case_add(one, "main;g", "comm=nginx pid#42", 1);
	case_add(many, "main", "comm=nginx pid#42", 1);
	case_add(many, "main", "comm=php pid#43", 1);
	case_add(many, "main", "comm=php pid#44", 1);
	case_add(none, "main", "", 1);
	expect_title(one, NULL, "nginx (42)");
	expect_title(many, NULL, "3 processes: nginx, php");
	expect_title(none, NULL, "case");
	expect_title(empty, NULL, "profile");
	expect_title(one, one, "nginx (42): what changed");
	expect_title(one, none, "case \xe2\x86\x92 nginx (42)");
	profile_free(one);
	profile_free(many);
	profile_free(none);
	profile_free(empty);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_error_of_the_sink_ends_it),
		cmocka_unit_test(test_types_must_be_the_same),
		cmocka_unit_test(test_titles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
