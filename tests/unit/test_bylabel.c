// SPDX-License-Identifier: BSD-2-Clause
/* profile/bylabel: values of labels as frames. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "profile/bylabel.h"
#include "profile_case.h"

static struct profile *labelled(void)
{
	struct profile *profile = case_new("samples/count");

	case_add(profile, "main;f", "comm=sh pid#7 bytes#4096:bytes", 1);
	case_add(profile, "main;g", "comm=sh pid#8 bytes#64:bytes", 2);
	case_add(profile, "main", "comm=main pid#8", 4);
	case_add(profile, "", "comm=a comm=b", 8);
	return profile;
}

static void check(const char *key, bool alone, const char *expected)
{
	struct profile *profile = labelled();

	assert_int_equal(profile_by_label(profile, key, alone), 0);
	vec_for_each(&profile->samples, sample)
		sample->nr_labels = 0; /* they stay; here only stacks are compared */
	assert_case(profile, expected);
	profile_free(profile);
}

static void test_values(void **state)
{
	(void)state;
	check("comm", true, "sh 1\nsh 2\nmain 4\na,b 8\n");
	check("pid", true, "7 1\n8 2\n8 4\n[no pid] 8\n");
	check("bytes", true, "4096bytes 1\n64bytes 2\n[no bytes] 4\n[no bytes] 8\n");
	check("pid", false, "7;main;f 1\n8;main;g 2\n8;main 4\n[no pid] 8\n");
}

/* One value is one frame, and has no mapping. */
static void test_frames(void **state)
{
	struct profile *profile = labelled();
	size_t nr_locations = profile->locations.nr;

	(void)state;
	assert_int_equal(profile_by_label(profile, "comm", true), 0);
	assert_int_equal(profile->locations.nr, nr_locations + 3);
	assert_int_equal(profile->samples.at[0].locations[0], profile->samples.at[1].locations[0]);
	for (size_t i = nr_locations; i < profile->locations.nr; i++)
		assert_int_equal(profile->locations.at[i].mapping, 0);
	profile_free(profile);
}

static void test_none(void **state)
{
	struct profile *profile = labelled(), *empty = case_new("samples/count");
	char keys[64], few[8];

	(void)state;
	assert_int_equal(profile_by_label(profile, "thread", true), -ENOENT);
	assert_int_equal(profile->samples.at[0].nr_locations, 2);
	assert_string_equal(profile_label_keys(profile, keys, sizeof(keys)), "comm, pid, bytes");
	assert_string_equal(profile_label_keys(profile, few, sizeof(few)), "comm, p");
	assert_string_equal(profile_label_keys(empty, keys, sizeof(keys)), "");
	profile_free(profile);
	profile_free(empty);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
