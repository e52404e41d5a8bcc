// SPDX-License-Identifier: BSD-2-Clause
/* The table of formats: which name means which, and that none hides what its sink says. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "output/format.h"
#include "profile_case.h"
#include "sinks.h"

static void test_suffixes(void **state)
{
	static const struct {
		const char *path, *name, *suffix;
	} cases[] = {
		{"p.pb.gz", "proto", ".pb.gz"},
		{"p.tar.gz", "proto", ".gz"},
		{"p.pb", "proto-plain", ".pb"},
		{"a.b/p.speedscope.json", "speedscope", ".speedscope.json"},
		{"p.folded.txt", "folded", ".folded.txt"},
		{"p.txt", "text", ".txt"},
		{"p.html", "html", ".html"},
		{"p.json", NULL, ""},
		{"pb.gz/p", NULL, ""},
		{"", NULL, ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *suffix;
		const struct output_format *format = format_of_path(cases[i].path, &suffix);

		assert_string_equal(suffix, cases[i].suffix);
		if (cases[i].name)
			assert_ptr_equal(format, format_by_name(cases[i].name));
		else
			assert_null(format);
	}
	assert_null(format_by_name("pdf"));
}

/* Gives every function a start, and every location lines, as formats of source lines want them. */
static void give_lines(struct profile *profile, struct profile_line *lines)
{
	vec_for_each(&profile->functions, function)
		function->start_line = 1;
	vec_for_each(&profile->locations, location) {
		memcpy(lines, location->lines, location->nr_lines * sizeof(*lines));
		location->lines = lines;
		for (uint32_t i = 0; i < location->nr_lines; i++)
			lines++->line = 2;
	}
}

static void test_full_disk(void **state)
{
	struct profile *profile = case_new("samples/count cpu/nanoseconds");
	struct profile_line lines[8];

	(void)state;
	case_add(profile, "main;f,inl;g", "comm=sh pid#7", 1, 10);
	case_add(profile, "main;f", "comm=sh pid#8", 2, 20);
	give_lines(profile, lines);
	for (unsigned int i = 0; format_at(i); i++) {
		size_t left = 0, plenty = 1 << 20;

		assert_int_equal(format_at(i)->encode(profile, 1, sink_disk, &left), -ENOSPC);
		assert_int_equal(format_at(i)->encode(profile, 1, sink_disk, &plenty), 0);
		assert_true(plenty < 1 << 20);
	}
	profile_free(profile);
}

/* A profile of nothing is a file, too. */
static void test_empty(void **state)
{
	struct profile *profile = case_new("samples/count");

	(void)state;
	for (unsigned int i = 0; format_at(i); i++) {
		size_t plenty = 1 << 20;

		assert_int_equal(format_at(i)->encode(profile, 0, sink_disk, &plenty), 0);
	}
	profile_free(profile);
}

/* The word at *rest, without the marks and remarks of --help; false: there is none. */
static bool next_word(const char **rest, char word[32])
{
	size_t len;

	*rest += strspn(*rest, " ,\n");
	if (**rest == '(') /* a remark */
		*rest += strcspn(*rest, ")") + 1;
	*rest += strspn(*rest, " ,\n");
	len = strcspn(*rest, " ,\n");
	assert_true(len < 32);
	memcpy(word, *rest, len);
	word[len] = '\0';
	*rest += len;
	return len;
}

/* --help names each format of the table, in its order, and no other. */
static void test_help(void **state)
{
	const char *names = FORMAT_NAMES_HELP, *suffixes = FORMAT_SUFFIXES_HELP;
	char word[32];

	(void)state;
	for (unsigned int i = 0; format_at(i); i++) {
		assert_true(next_word(&names, word));
		assert_string_equal(word, format_at(i)->name);
		assert_true(next_word(&suffixes, word));
		assert_ptr_equal(format_of_path(word, NULL), format_at(i));
	}
	assert_false(next_word(&names, word));
	assert_false(next_word(&suffixes, word));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_suffixes),
		cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_help),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
