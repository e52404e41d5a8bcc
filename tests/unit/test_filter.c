// SPDX-License-Identifier: BSD-2-Clause
/* Filtering, pruning, labels. The judge of the whole is pprof itself: tests/e2e/test_algebra.py. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "profile/filter.h"
#include "profile/prune.h"
#include "base/saferegex.h"
#include "profile_case.h"

static struct profile *stacks(void)
{
	struct profile *profile = case_new("samples/count");

	case_add(profile, "main;f;malloc", "comm=sh bytes#65536:bytes", 1);
	case_add(profile, "main;g,inl,leaf", "comm=nginx request#1024", 2);
	case_add(profile, "main;f;f2;f", "tid#7", 3);
	case_add(profile, "", "", 4);
	return profile;
}

/* Which regex goes where; the rest is NULL. Frees nothing. */
static void check_frames(const char *what, const char *text, const char *expected)
{
	struct profile *profile = stacks();
	struct profile_filter filter = {0};
	const struct {
		const char *name;
		const regex_t **place;
	} places[] = {{"focus", &filter.focus},
		      {"ignore", &filter.ignore},
		      {"hide", &filter.hide},
		      {"show", &filter.show},
		      {"show_from", &filter.show_from}};
	regex_t regex;

	assert_int_equal(regcomp(&regex, text, REG_EXTENDED | REG_NOSUB), 0);
	for (size_t i = 0; i < 5; i++)
		if (!strcmp(places[i].name, what))
			*places[i].place = &regex;
	profile_filter_samples(profile, &filter);
	assert_case(profile, expected);
	regfree(&regex);
	profile_free(profile);
}

#define SH    " comm=sh bytes#65536:bytes 1\n"
#define NGINX " comm=nginx request#1024 2\n"
#define TID   " tid#7 3\n"

static void test_frames(void **state)
{
	(void)state;
	check_frames("focus", "^f$", "main;f;malloc" SH "main;f;f2;f" TID);
	check_frames("focus", "inl", "main;g,inl,leaf" NGINX);
	check_frames("focus", "malloc\\.c", "main;f;malloc" SH);
	check_frames("focus", "/bin/case",
		     "main;f;malloc" SH "main;g,inl,leaf" NGINX "main;f;f2;f" TID);
	check_frames("focus", "nothing", "");
	check_frames("ignore", "^f$", "main;g,inl,leaf" NGINX);
	check_frames("hide", "^f$", "main;malloc" SH "main;g,inl,leaf" NGINX "main;f2" TID);
	check_frames("hide", "^(main|inl|f2?|malloc)$", "g,leaf" NGINX);
	check_frames("hide", "/bin/case", "");
	check_frames("show", "^(main|inl|f)$", "main;f" SH "main;inl" NGINX "main;f;f" TID);
	check_frames("show_from", "^f$", "f;malloc" SH "f;f2;f" TID);
	check_frames("show_from", "^inl$", "inl,leaf" NGINX);
}

static void test_frames_without_lines(void **state)
{
	struct profile *profile = case_new("samples/count");
	struct profile_location unnamed = {.mapping = case_mapping(profile)};
	struct profile_filter filter = {0};
	regex_t regex;

	(void)state;
	case_add_at(profile, profile_location_id(profile, &unnamed), 1);
	assert_int_equal(regcomp(&regex, "case", REG_NOSUB), 0);
	filter.show = &regex;
	assert_int_equal(profile_filter_samples(profile, &filter), 0); /* pprof drops it */
	filter = (struct profile_filter){.hide = &regex};
	assert_int_equal(profile_filter_samples(profile, &filter), 1);
	regfree(&regex);
	profile_free(profile);
}

static void check_tag(const char *text, const char *expected)
{
	struct profile *profile = stacks();
	struct profile_filter filter = {0};
	struct tag *tag;
	char why[TAG_WHY_BYTES], *rest scoped(freep) = NULL;
	size_t nr = profile->samples.nr;

	assert_int_equal(tag_new(text, &tag, why), 0);
	filter.tag_focus = tag;
	profile_filter_samples(profile, &filter);
	assert_case(profile, expected);
	nr -= profile->samples.nr;
	profile_free(profile);

	profile = stacks();
	filter = (struct profile_filter){.tag_ignore = tag};
	assert_int_equal(profile_filter_samples(profile, &filter),
			 profile->samples.nr ? 4 - nr : 4);
	assert_int_equal(profile->samples.nr, nr);
	profile_free(profile);
	tag_free(tag);
}

static void test_tags(void **state)
{
	struct tag *tag;
	char why[TAG_WHY_BYTES];

	(void)state;
	check_tag("comm=^sh$", "main;f;malloc" SH);
	check_tag("comm=x,nginx", "main;g,inl,leaf" NGINX); /* one of them */
	check_tag("comm:nginx,n", "main;g,inl,leaf" NGINX); /* each of them */
	check_tag("comm:nginx,y", "");
	check_tag("7", "main;f;f2;f" TID);
	check_tag("tid=7", "main;f;f2;f" TID);
	check_tag("tid=8:", "");
	check_tag("64kb", "main;f;malloc" SH);
	check_tag("1kb:64kb", "main;f;malloc" SH "main;g,inl,leaf" NGINX); /* request: bytes */
	check_tag("bytes=1kb:64kb", "main;f;malloc" SH);
	check_tag(":1023b", "");
	check_tag("1024b:", "main;f;malloc" SH "main;g,inl,leaf" NGINX);
	check_tag("1mb:2s", ""); /* no range: a regex that matches nothing */
	check_tag("1s:", "");
	assert_int_equal(tag_new("comm=(", &tag, why), -EINVAL);
	assert_string_not_equal(why, "");
	tag_free(NULL);
}

static void check_prune(const char *drop, const char *keep, const char *stack, const char *expected)
{
	struct profile *profile = case_new("samples/count");
	char *line scoped(freep) = xasprintf("%s 1\n", expected);

	profile->drop_frames = profile_string(profile, drop);
	profile->keep_frames = profile_string(profile, keep);
	case_add(profile, stack, "", 1);
	assert_int_equal(profile_prune(profile), 0);
	assert_case(profile, line);
	profile_free(profile);
}

static void test_prune(void **state)
{
	struct profile *profile = case_new("samples/count");

	(void)state;
	check_prune("malloc", "", "main;f;malloc;brk", "main;f");
	check_prune("malloc", "", "main;f;xmalloc", "main;f;xmalloc"); /* the whole name */
	check_prune("m.*", "malloc", "main;f;malloc", "main;f;malloc");
	check_prune("m.*", "", "main;f;malloc", "main;f"); /* no user frame before main */
	check_prune("m.*", "", "main;malloc", "main;malloc");
	check_prune("inl", "", "main;g,inl,leaf;h", "main;g"); /* inlined: its caller stays */
	check_prune("operator new", "", "main;operator new(unsigned long)", "main");
	check_prune("f|(anonymous namespace)::g", "", "main;(anonymous namespace)::g(int)",
		    "main;(anonymous namespace)::g(int)"); /* parentheses of a regex group */
	check_prune("\\(anonymous namespace\\)::g", "", "main;(anonymous namespace)::g(int)",
		    "main");
	check_prune("A::operator\\(\\)", "", "main;A::operator()(int)", "main");
	check_prune("", "", "main;f", "main;f");
	profile->drop_frames = profile_string(profile, "((a+)+){9}");
	assert_int_equal(profile_prune(profile), -EINVAL);
	profile->drop_frames = profile_string(profile, "a(");
	assert_int_equal(profile_prune(profile), -EINVAL);
	profile_free(profile);
}

static void test_saferegex(void **state)
{
	char deep[41] = "", long_text[9001];
	regex_t regex;

	(void)state;
	assert_true(saferegex_is("^(runtime\\..*|operator new(\\[\\])?|[^]()a-z[:alpha:]+]+)$"));
	assert_true(saferegex_is(""));
	assert_true(saferegex_is("+*?"));
	assert_false(saferegex_is("a{2}"));
	assert_true(saferegex_is("a\\{2}"));
	assert_false(saferegex_is("(a)\\1"));
	assert_false(saferegex_is("a++++++++++++++++++++++++++++++"));
	assert_false(saferegex_is("((((((((((((((((a+b)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+"));
	assert_true(saferegex_is("a\\[b"));
	assert_false(saferegex_is("\\[++++++++++++++++++++++++++++++]"));
	assert_false(saferegex_is("(a"));
	assert_false(saferegex_is("a)"));
	assert_false(saferegex_is("[a"));
	assert_false(saferegex_is("[[:alpha"));
	assert_false(saferegex_is("a\\"));
	memset(deep, '(', 20);
	memset(deep + 20, ')', 20);
	assert_false(saferegex_is(deep));
	memset(long_text, 'a', 9000);
	long_text[9000] = '\0';
	assert_false(saferegex_is(long_text));
	assert_int_equal(saferegex_compile("b$", &regex), 0);
	assert_true(saferegex_matches(&regex, "abc", 2));
	assert_false(saferegex_matches(&regex, "abc", 3));
	regfree(&regex);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames),	  cmocka_unit_test(test_frames_without_lines),
		cmocka_unit_test(test_tags),	  cmocka_unit_test(test_prune),
		cmocka_unit_test(test_saferegex),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
