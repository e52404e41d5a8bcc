// SPDX-License-Identifier: BSD-2-Clause
/* A profile that is split by the values of a label. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "profile/split.h"
#include "profile_case.h"

struct parts {
	char *text; /* of all of them */
	int nr, fail_at;
};

static int collect(void *ctx, const char *value, const struct profile *part)
{
	struct parts *parts = ctx;
	char *text scoped(freep) = case_text(part), *before scoped(freep) = parts->text;

	parts->text = xasprintf("%s[%s]\n%s", before ? before : "", value ? value : "-", text);
	return ++parts->nr == parts->fail_at ? -ENOSPC : 0;
}

static void check_split(const char *key, const char *expected)
{
	struct profile *profile = case_new("samples/count");
	struct parts parts = {0};

	case_add(profile, "main", "pid#7 comm=a", 1);
	case_add(profile, "main;f", "comm=b size#64:bytes", 2);
	case_add(profile, "main;g", "", 3);
	case_add(profile, "main;h", "pid#9 comm=a", 4);
	assert_int_equal(profile_split(profile, key, collect, &parts), 0);
	assert_string_equal(parts.text, expected);
	free(parts.text);
	parts = (struct parts){.fail_at = 2};
	if (strcmp(key, "none")) {
		assert_int_equal(profile_split(profile, key, collect, &parts), -ENOSPC);
		assert_int_equal(parts.nr, 2);
	}
	free(parts.text);
	profile_free(profile);
}

static void test_split(void **state)
{
	(void)state;
	check_split("comm", "[a]\nmain comm=a pid#7 1\nmain;h comm=a pid#9 4\n"
			    "[b]\nmain;f comm=b size#64:bytes 2\n"
			    "[-]\nmain;g 3\n");
	check_split("size", "[64bytes]\nmain;f comm=b size#64:bytes 2\n"
			    "[-]\nmain comm=a pid#7 1\nmain;g 3\nmain;h comm=a pid#9 4\n");
	check_split("none", "[-]\nmain comm=a pid#7 1\nmain;f comm=b size#64:bytes 2\nmain;g 3\n"
			    "main;h comm=a pid#9 4\n");
}

static void test_empty(void **state)
{
	struct profile *profile = profile_new();
	struct parts parts = {0};

	(void)state;
	assert_int_equal(profile_split(profile, "comm", collect, &parts), 0);
	assert_int_equal(parts.nr, 0);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
