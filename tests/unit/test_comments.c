// SPDX-License-Identifier: BSD-2-Clause
/* Comments of merged profiles: those that differ in numbers only are folded. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "base/alloc.h"
#include "profile/comments.h"
#include "profile/merge.h"

static void comment(struct profile *profile, const char *text)
{
	vec_push(&profile->comments, profile_string(profile, text));
}

static void expect(const struct profile *profile, const char *const *texts, size_t nr)
{
	assert_int_equal(profile->comments.nr, nr);
	for (size_t i = 0; i < nr; i++)
		assert_string_equal(strtab_get(&profile->strings, profile->comments.at[i]),
				    texts[i]);
}

static void left_out(struct profile *profile, int from, int to)
{
	for (int i = from; i < to; i++) {
		char *text scoped(freep) =
			xasprintf("%d of 1,%03d addresses were not looked up", i, i);

		comment(profile, text);
	}
}

static void test_few_stay(void **state)
{
	struct profile *profile = profile_new();

	(void)state;
	profile_fold_comments(profile);
	assert_int_equal(profile->comments.nr, 0);
	comment(profile, "one");
	left_out(profile, 0, COMMENTS_MOST_ALIKE);
	comment(profile, "another 5");
	profile_fold_comments(profile);
	assert_int_equal(profile->comments.nr, COMMENTS_MOST_ALIKE + 2);
	profile_free(profile);
}

static void test_many_are_folded(void **state)
{
	static const char *const texts[] = {
		"cprof record: taken 1 = written 1",
		"0 of 1,000 addresses were not looked up",
		"1,999 more comments like this: 0 of 1,000 addresses were not looked up",
		"cprof record: taken 2 = written 2",
		"one",
		"cprof record: taken 3 = written 3",
		"cprof record: taken 4 = written 4",
		"cprof record: taken 5 = written 5",
	};
	static const char *const again[] = {
		"0 of 1,000 addresses were not looked up",
		"2,003 more comments like this: 0 of 1,000 addresses were not looked up",
	};
	struct profile *profile = profile_new();

	(void)state;
	comment(profile, texts[0]);
	left_out(profile, 0, 1000);
	comment(profile, texts[3]);
	comment(profile, texts[4]);
	left_out(profile, 0, 1000);
	for (int i = 5; i < 8; i++)
		comment(profile, texts[i]);
	profile_fold_comments(profile);
	expect(profile, texts, 8);
	profile_fold_comments(profile);
	expect(profile, texts, 8);
	profile_free(profile);

	profile = profile_new();
	comment(profile, texts[1]);
	left_out(profile, 7, 11);
	comment(profile, texts[2]);
	profile_fold_comments(profile);
	expect(profile, again, 2);
	profile_free(profile);
}

/* What two merges have folded alike is not one of the two; and what is folded twice does not shrink. */
static void test_folded_ones_are_added_up(void **state)
{
	static const char *const texts[] = {
		"5 more comments like this: lost 3 of 4",
		"10 more comments like this: lost 3 of 4",
		"a #",
	};
	struct merger *merger = merger_new();
	struct profile *one = profile_new(), *merged;

	(void)state;
	comment(one, texts[0]);
	for (int i = 0; i < 2; i++)
		assert_int_equal(merger_add(merger, one, NULL), 0);
	profile_free(one);
	merged = merger_finish(merger);
	for (int i = 0; i < 2; i++) {
		profile_fold_comments(merged);
		expect(merged, texts + 1, 1);
	}
	for (int i = 0; i < COMMENTS_MOST_ALIKE; i++) {
		char *text scoped(freep) = xasprintf("a %d", i);

		comment(merged, text);
	}
	comment(merged, texts[2]);
	profile_fold_comments(merged);
	assert_int_equal(merged->comments.nr, 1 + COMMENTS_MOST_ALIKE + 1);
	profile_free(merged);
}

static void test_what_only_looks_folded(void **state)
{
	static const char *const texts[] = {
		" more comments like this: x",
		"a more comments like this: x",
		"99999999999999999999999 more comments like this: x",
		"",
	};
	struct profile *profile = profile_new();

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		comment(profile, texts[i]);
	profile_fold_comments(profile);
	assert_int_equal(profile->comments.nr, 3); /* of an empty one nothing is said */
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_few_stay),
		cmocka_unit_test(test_many_are_folded),
		cmocka_unit_test(test_folded_ones_are_added_up),
		cmocka_unit_test(test_what_only_looks_folded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
