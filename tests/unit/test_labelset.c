// SPDX-License-Identifier: BSD-2-Clause
/* Label keys whose values tell samples apart, and the limits on their number. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "profile/labelset.h"
#include "profile_case.h"

/* "thread: a b, pid: 7 8 | a.7 b.8 -.7": keys with their values, then each sample's set. */
static void assert_sets(const struct labelsets *sets, const char *expected)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	vec_for_each(&sets->keys, key) {
		fprintf(out, "%s:", key->name);
		vec_for_each(&key->order, value)
			fprintf(out, " %s", key->values.at[*value].text);
		fprintf(out, "%s, ", key->has_other ? " ..." : "");
	}
	fprintf(out, "|");
	vec_for_each(&sets->set_of, set)
		for (size_t key = 0; key < sets->keys.nr; key++)
			fprintf(out, "%s%u", key ? "." : " ", labelsets_value(sets, *set, key));
	fclose(out);
	assert_string_equal(text, expected);
	free(text);
}

static void test_keys_that_tell_samples_apart(void **state)
{
	struct profile *profile = case_new("samples/count");
	struct labelsets sets = {0};

	(void)state;
	case_add(profile, "main;a", "comm=srv thread=low pid#7", 1);
	case_add(profile, "main;b", "comm=srv thread=high pid#7", 5);
	case_add(profile, "main;c", "comm=srv thread=high pid#8 bytes#4096:bytes", 5);
	case_add(profile, "main;d", "comm=srv thread=low pid#8", 1);
	labelsets_add(&sets, profile);
	labelsets_make(&sets);
	assert_sets(&sets, "thread: high low, pid: 7 8, bytes: 4kB, | 2.1.0 1.1.0 1.2.1 2.2.0");
	assert_int_equal(sets.nr_sets, 4);
	assert_true(labelsets_reduce(&sets) && labelsets_reduce(&sets) && labelsets_reduce(&sets));
	assert_int_equal(sets.nr_sets, 1);
	assert_false(labelsets_reduce(&sets));
	labelsets_release(&sets);
	profile_free(profile);
}

static void test_samples_without_labels_are_one_set(void **state)
{
	struct profile *profile = case_new("samples/count");
	struct labelsets sets = {0};

	(void)state;
	case_add(profile, "main;a", "", 1);
	case_add(profile, "main;b", "", 5);
	labelsets_add(&sets, profile);
	labelsets_make(&sets);
	assert_int_equal(sets.keys.nr, 0);
	assert_int_equal(sets.nr_sets, 1);
	labelsets_release(&sets);
	profile_free(profile);
}

/* The values with the most in them stay; keys whose sets are too many go. */
static void test_bounds(void **state)
{
	struct profile *profile = case_new("samples/count");
	struct labelsets sets = {0};

	(void)state;
	for (int i = 0; i < 20000; i++) {
		char stack[32], labels[96];

		snprintf(stack, sizeof(stack), "main;f%d", i % 100);
		snprintf(labels, sizeof(labels), "request#%d x#%d y#%d z#%d few#%d", i, i % 150,
			 i / 150 % 150, i % 7, i % 2);
		case_add(profile, stack, labels, i + 1);
	}
	labelsets_add(&sets, profile);
	labelsets_make(&sets);
	assert_true(sets.nr_sets <= LABELSET_MAX_SETS && sets.is_cut);
	assert_int_equal(sets.set_of.nr, 20000);
	assert_true(sets.keys.nr >= 3);
	labelsets_release(&sets);
	profile_free(profile);

	profile = case_new("samples/count");
	sets = (struct labelsets){0};
	for (int i = 0; i < 300; i++) {
		char labels[32];

		snprintf(labels, sizeof(labels), "id#%d", i);
		case_add(profile, "main", labels, i + 1);
	}
	labelsets_add(&sets, profile);
	labelsets_make(&sets);
	assert_true(sets.keys.at[0].has_other);
	assert_string_equal(sets.keys.at[0].values.at[sets.keys.at[0].order.at[0]].text, "299");
	assert_int_equal(labelsets_value(&sets, sets.set_of.at[0], 0), LABELSET_MAX_VALUES + 1);
	labelsets_release(&sets);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys_that_tell_samples_apart),
		cmocka_unit_test(test_samples_without_labels_are_one_set),
		cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
