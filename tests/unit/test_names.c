// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a worker says of addresses (worker/names.h), as main reads it (sandbox/namesreply.h), and the replies of
 * tests/fuzz/make_reply_corpus.py with one thing wrong each.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "sandbox/namesreply.h"
#include "worker/names.h"

#define BOTH (MESSAGE_NAMES_LINES | MESSAGE_NAMES_INLINED)

static const struct names_symbol foo = {MESSAGE_NAME_SYMBOL, .raw = "_Z3foov"};

/* The reply, read; for free(). */
static struct reply_name *finish(struct names *names, uint32_t nr)
{
	struct payload payload = {0};
	struct reply_name *read = NULL;
	size_t nr_split;

	assert_int_equal(names_finish(names, &payload), nr);
	assert_true(payload.nr <= MESSAGE_NAMES_BYTES);
	assert_int_equal(reply_read_names(payload.at, payload.nr, nr, &read, &nr_split), 0);
	/* a byte more or less is no reply */
	assert_int_equal(reply_read_names(payload.at, payload.nr - 1, nr, &read, &nr_split),
			 -EBADMSG);
	names_free(names);
	vec_release(&payload);
	return read;
}

static void expect(const struct reply_frame *frame, const char *raw, const char *display,
		   const char *file, uint32_t line, uint32_t start_line)
{
	assert_string_equal(frame->raw, raw);
	assert_string_equal(frame->display, display);
	assert_string_equal(frame->file, file);
	assert_int_equal(frame->line, line);
	assert_int_equal(frame->start_line, start_line);
}

static void test_frames(void **state)
{
	static const struct source_frame frames[] = {{"_Z3barv", "/src/bar.h", 7, 5},
						     {"baz", "", 0, 0},
						     {"_Z3foov", "/src/foo.c", 12, 10}};
	static const struct names_symbol nothing = {MESSAGE_NAME_NONE},
					 start = {MESSAGE_NAME_START, .start = 0x1000},
					 plain = {MESSAGE_NAME_SYMBOL, .raw = "a", .display = "b"};
	struct names *names = names_new(BOTH, 4);
	struct reply_name *read;

	(void)state;
	assert_true(names_wants_lines(names));
	names_add_frames(names, 2, frames, 3); /* in any order */
	names_add_frames(names, 0, frames, 3);
	names_add_frames(names, 0, frames + 1, 2); /* the first source is kept */
	names_add_frames(names, 1, &frames[1], 1);
	assert_true(names_has_lines(names, 0) && !names_has_lines(names, 3));
	assert_true(names_add(names, &(struct names_symbol){MESSAGE_NAME_SYMBOL, .raw = "alias"}));
	assert_true(names_add(names, &start));
	assert_true(names_add(names, &nothing));
	assert_true(names_add(names, &plain));
	assert_false(names_add(names, &plain));
	read = finish(names, 4);
	/* the symbol's name is that of the outermost frame */
	assert_string_equal(read[0].raw, "alias");
	assert_int_equal(read[0].nr_frames, 3);
	expect(&read[0].frames[0], "_Z3barv", "bar()", "/src/bar.h", 7, 5);
	expect(&read[0].frames[1], "baz", "baz", "", 0, 0);
	expect(&read[0].frames[2], "", "", "/src/foo.c", 12, 10);
	/* where there is no symbol the frame names the address */
	assert_int_equal(read[1].kind, MESSAGE_NAME_SYMBOL);
	assert_string_equal(read[1].raw, "baz");
	assert_int_equal(read[1].nr_frames, 1);
	assert_string_equal(read[2].raw, "_Z3foov");
	assert_string_equal(read[2].display, "foo()");
	assert_ptr_equal(read[2].frames[0].file, read[0].frames[0].file);
	assert_string_equal(read[3].raw, "a");
	assert_string_equal(read[3].display, "b");
	assert_int_equal(read[3].nr_frames, 0);
	free(read);
}

static void test_without_inlined(void **state)
{
	static const struct source_frame frames[] = {{"in", "a.c", 1, 1}, {NULL, "b.c", 2, 0}};
	struct names *names = names_new(MESSAGE_NAMES_LINES, 1);
	struct reply_name *read;

	(void)state;
	names_add_frames(names, 0, frames, 2);
	assert_true(names_add(names, &foo));
	read = finish(names, 1);
	assert_int_equal(read->nr_frames, 1);
	expect(read->frames, "", "", "b.c", 2, 0);
	free(read);
	names = names_new(0, 1);
	assert_false(names_wants_lines(names));
	names_free(names);
}

/* Chains that fill a reply: it ends early, the rest is asked for again, and one that never fits has its name alone. */
static void test_bounds(void **state)
{
	struct source_frame frames[SOURCE_MAX_FRAMES];
	char *texts[SOURCE_MAX_FRAMES];
	struct names *names = names_new(BOTH, 3);
	struct reply_name *read;

	(void)state;
	for (size_t i = 0; i < SOURCE_MAX_FRAMES; i++) {
		texts[i] = xmalloc(20000);
		memset(texts[i], 'a' + (int)(i % 26), 19999);
		texts[i][i] = '#';
		texts[i][19999] = '\0';
		frames[i] = (struct source_frame){texts[i], "f.c", i + 1, 1};
	}
	names_add_frames(names, 0, frames, 40);
	names_add_frames(names, 1, frames, SOURCE_MAX_FRAMES);
	names_add_frames(names, 2, frames, 0);
	names_add_frames(names, 3, frames, 1); /* was not asked for */
	assert_true(names_add(names, &foo));
	assert_false(names_add(names, &foo)); /* 64 of these are more than a reply */
	read = finish(names, 1);
	assert_int_equal(read->nr_frames, 40);
	assert_int_equal(strlen(read->frames[38].raw), 19999);
	free(read);
	names = names_new(BOTH, 1);
	names_add_frames(names, 0, frames, SOURCE_MAX_FRAMES);
	assert_true(names_add(names, &foo));
	read = finish(names, 1);
	assert_string_equal(read->display, "foo()");
	assert_int_equal(read->nr_frames, 0);
	free(read);
	for (size_t i = 0; i < SOURCE_MAX_FRAMES; i++)
		free(texts[i]);
}

/* More than is kept of the sources: the reply ends where frames may be missing. */
static void test_too_much_to_keep(void **state)
{
	char *text = xmalloc(MESSAGE_NAME_MAX_BYTES + 10);
	struct names *names = names_new(BOTH, 400);
	struct reply_name *read;
	uint32_t nr = 0;

	(void)state;
	memset(text, 'x', MESSAGE_NAME_MAX_BYTES + 9);
	text[MESSAGE_NAME_MAX_BYTES + 9] = '\0';
	for (size_t i = 400; i-- > 0;) {
		struct source_frame frames[2] = {{text, "", 1, 0}, {NULL, "f.c", 2, 0}};

		text[0] = (char)('a' + i % 26);
		text[1] = (char)('a' + i / 26);
		names_add_frames(names, i, frames, 2);
	}
	while (names_add(names, &foo))
		nr++;
	assert_int_equal(nr, 1); /* those of the first addresses came last */
	read = finish(names, 1);
	assert_int_equal(read->nr_frames, 0);
	free(read);
	free(text);
}

static void test_lies(void **state)
{
	static const char *const good[] = {"names", "names_same", "names_lines", "names_cut",
					   "names_unread"};
	char *folder scoped(freep) = xasprintf("%s/fuzz/corpus/reply", TESTS_DIR);
	DIR *dir = opendir(folder);
	struct dirent *entry;
	size_t nr_read = 0;

	(void)state;
	assert_non_null(dir);
	while ((entry = readdir(dir)) != NULL) {
		char *path scoped(freep) = xasprintf("%s/%s", folder, entry->d_name);
		struct reply_name *read scoped(freep) = NULL;
		bool is_good = false;
		FILE *file = fopen(path, "r");
		char bytes[1 << 17];
		uint32_t nr;
		size_t len, nr_split;

		if (strncmp(entry->d_name, "names", 5) != 0) {
			fclose(file);
			continue;
		}
		len = fread(bytes, 1, sizeof(bytes), file);
		fclose(file);
		memcpy(&nr, bytes + 1, sizeof(nr));
		for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
			is_good |= !strcmp(entry->d_name, good[i]);
		if (reply_read_names(bytes + 5, len - 5, nr, &read, &nr_split) !=
		    (is_good ? 0 : -EBADMSG))
			fail_msg("%s", entry->d_name);
		nr_read++;
	}
	closedir(dir);
	assert_true(nr_read > 15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames), cmocka_unit_test(test_without_inlined),
		cmocka_unit_test(test_bounds), cmocka_unit_test(test_too_much_to_keep),
		cmocka_unit_test(test_lies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
