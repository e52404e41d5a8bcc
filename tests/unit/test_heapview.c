// SPDX-License-Identifier: BSD-2-Clause
/* The views of heap profiles that were written and read back. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "profile/heapview.h"
#include "profile_case.h"

#define HEAP "alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes"

static void refuse(const char *types, const char *words)
{
	struct profile *profile = case_new(types);
	char why[HEAPVIEW_WHY_BYTES] = "";

	assert_int_equal(heapview_check(profile, why), -EINVAL);
	if (!strstr(why, words))
		fail_msg("'%s' does not say '%s'", why, words);
	profile_free(profile);
}

static void test_only_heap_profiles(void **state)
{
	char why[HEAPVIEW_WHY_BYTES];
	struct profile *plain = case_new(HEAP);
	struct profile *with_errors = case_new(HEAP " alloc_space_variance/square_bytes "
						    "inuse_space_variance/square_bytes");

	(void)state;
	assert_int_equal(heapview_check(plain, why), 0);
	assert_int_equal(heapview_check(with_errors, why), 0);
	profile_free(plain);
	profile_free(with_errors);
	refuse("samples/count cpu/nanoseconds", "2 sample types, not 4");
	refuse("inuse_objects/count inuse_space/bytes alloc_objects/count alloc_space/bytes",
	       "1 is 'inuse_objects', not 'alloc_objects'");
	refuse(HEAP " more/count", "5 is 'more'");
}

static void test_in_use(void **state)
{
	struct profile *profile = case_new(HEAP " alloc_space_variance/square_bytes "
						"inuse_space_variance/square_bytes");

	(void)state;
	profile->duration_ns = 5;
	case_add(profile, "main;kept", "", 9, 900, 2, 200, 81, 4);
	case_add(profile, "main;freed", "", 7, 700, 0, 0, 49, 0);
	heapview_inuse(profile);
	assert_case(profile, "main;kept 0 0 2 200 0 4\n");
	assert_int_equal(profile->duration_ns, 0);
	profile_free(profile);
}

static void test_delta(void **state)
{
	struct profile *first = case_new(HEAP), *second = case_new(HEAP), *delta = NULL;
	char why[HEAPVIEW_WHY_BYTES];

	(void)state;
	first->time_ns = second->time_ns = 1000;
	first->duration_ns = 10;
	second->duration_ns = 4010;
	case_add(first, "main;same", "", 3, 300, 3, 300);
	case_add(first, "main;more", "", 3, 300, 3, 300);
	case_add(second, "main;same", "", 3, 300, 0, 0);
	case_add(second, "main;more", "", 4, 500, 1, 100);
	case_add(second, "main;new", "", 1, 10, 1, 10);
	assert_int_equal(heapview_delta(first, second, &delta, why), 0);
	assert_case(delta, "main;more 1 200\nmain;new 1 10\n");
	assert_int_equal(delta->time_ns, 1010);
	assert_int_equal(delta->duration_ns, 4000);
	assert_int_equal(delta->nr_types, 2);
	profile_free(delta);
	delta = NULL;
	assert_int_equal(heapview_delta(second, first, &delta, why), -EINVAL);
	assert_null(delta);
	profile_free(first);
	profile_free(second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_heap_profiles),
		cmocka_unit_test(test_in_use),
		cmocka_unit_test(test_delta),
	};

	return cmocka_run_group_tests_name("heapview", tests, NULL, NULL);
}
