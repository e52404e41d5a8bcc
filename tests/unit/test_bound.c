// SPDX-License-Identifier: BSD-2-Clause
/* What is said of values where something was lost: by the run, in its comment, and by those who read it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "profile/bound.h"
#include "record/report.h"

static char *comment_of(uint64_t nr_lost, uint64_t nr_untracked, uint64_t nr_frees_lost,
			enum heap_view view)
{
	static const struct options options = {.command = OPTIONS_HEAP, .rate_bytes = 1};
	const struct tally tally = {.nr_frees_lost = nr_frees_lost,
				    .nr_untracked = nr_untracked,
				    .nr_losses = nr_lost ? 1 : 0,
				    .losses = {{.reason = "some", .nr = nr_lost}}};
	struct builder *builder =
		builder_new(&(struct builder_options){.kind = PROFILE_HEAP, .period = 1}, NULL);
	const struct report report = {.options = &options, .tally = &tally, .builder = builder};
	struct report_part part = {.view = view, .is_whole = true};
	char *comment;

	report_losses(&report, true, &part.lost);
	comment = report_comment(&report, &part);
	builder_free(builder);
	return comment;
}

/* Of a profile with the comments of several files. */
static void check(char *const comments[], size_t nr, const char *alloc, const char *inuse)
{
	struct profile *profile = profile_new();

	for (size_t i = 0; i < nr; i++)
		vec_push(&profile->comments, profile_string(profile, comments[i]));
	assert_string_equal(bound_word(bound_said(profile, "alloc_space")), alloc);
	assert_string_equal(bound_word(bound_said(profile, "inuse_objects")), inuse);
	assert_string_equal(bound_word(bound_said(profile, "samples")), "");
	profile_free(profile);
}

static void test_losses(void **state)
{
	static const struct {
		uint64_t nr_lost, nr_untracked, nr_frees_lost;
		enum heap_view view;
		const char *alloc, *inuse, *end;
	} cases[] = {
		{0, 0, 0, VIEW_ALL, "", "", "taken 0 = written 0"},
		{7, 7, 0, VIEW_ALL, "at least ", "at least ",
		 "; allocated is at least this; in use is at least this: it lacks up to 7 sampled "
		 "blocks (live map full)"},
		{7, 0, 0, VIEW_ALL, "at least ", "at least ",
		 "; in use is at least this: it lacks up to 7 sampled blocks"},
		{0, 0, 3, VIEW_ALL, "", "at most ", "; in use is at most this: 3 frees were lost"},
		{7, 2, 3, VIEW_ALL, "at least ", "about ",
		 "; in use is about this: it lacks up to 7 sampled blocks, and 3 frees were lost"},
		{7, 2, 3, VIEW_ALLOC, "at least ", "", "; allocated is at least this"},
		{7, 2, 0, VIEW_INUSE, "", "at least ",
		 "; in use is at least this: it lacks up to 7 sampled blocks"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *comment = comment_of(cases[i].nr_lost, cases[i].nr_untracked,
					   cases[i].nr_frees_lost, cases[i].view);
		size_t len = strlen(comment), end = strlen(cases[i].end);

		assert_true(len >= end);
		assert_string_equal(comment + len - end, cases[i].end);
		check(&comment, 1, cases[i].alloc, cases[i].inuse);
		free(comment);
	}
}

static void test_of_a_peak(void **state)
{
	char *comment = comment_of(7, 2, 3, VIEW_PEAK);

	(void)state;
	assert_non_null(
		strstr(comment, "in use at the peak of each process, about 0 bytes in sum"));
	free(comment);
}

/* Too low in one file, too high in another. */
static void test_merged(void **state)
{
	char *comments[] = {comment_of(1, 0, 0, VIEW_ALL), comment_of(0, 0, 1, VIEW_ALL)};

	(void)state;
	check(comments, 2, "at least ", "about ");
	free(comments[0]);
	free(comments[1]);
}

static void test_rest(void **state)
{
	(void)state;
	assert_string_equal(bound_word(bound_of_rest(BOUND_LEAST)), "at most ");
	assert_string_equal(bound_word(bound_of_rest(BOUND_MOST)), "at least ");
	assert_string_equal(bound_word(bound_of_rest(BOUND_ABOUT)), "about ");
	assert_string_equal(bound_word(bound_of_rest(BOUND_NONE)), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_losses),
		cmocka_unit_test(test_of_a_peak),
		cmocka_unit_test(test_merged),
		cmocka_unit_test(test_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
