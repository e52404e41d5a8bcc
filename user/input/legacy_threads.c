// SPDX-License-Identifier: BSD-2-Clause
/*
 * Threads, and what they were at: tcmalloc's /threadz, one stack each.
 *
 *	--- threadz 1 ---
 *
 *	--- Thread 7f794ab90940 (name: main/14748) stack: ---
 *	  PC: 0x00bccc97: helper(arg *)
 *	      0x7f794b32d1ba
 *	--- Thread 7f794a32d940 (name: pool/14751) stack: ---
 *	    [same as previous thread]
 *	---- no stack trace for ... ---
 *
 * And the counts of Go's older tools (goroutine, threadcreate with debug=1):
 *
 *	goroutine profile: total 7
 *	3 @ 0x42f5f0 0x42a5c8			so many of them, return addresses
 */
#include "input/legacy.h"

#include <ctype.h>
#include <errno.h>

struct threads {
	struct addresses addresses;
	struct input_error *error;
	legacy_stack stack;
	bool in_thread, same;
};

static bool is_thread_head(struct text line)
{
	return text_starts(line, "--- Thread ") && text_find(line, "(name: ") &&
	       text_find(line, "stack: ---");
}

bool legacy_threads_detect(const struct source *source)
{
	struct text line = legacy_first_line(source);

	return text_starts(line, "--- threadz ") || is_thread_head(line);
}

/* The thread that was read so far, if there is one. */
static int end_thread(struct threads *threads, uint64_t line_nr)
{
	const int64_t one = 1;
	bool in_thread = threads->in_thread, same = threads->same || !threads->stack.nr;
	size_t nr = threads->stack.nr;

	threads->in_thread = threads->same = false;
	threads->stack.nr = 0;
	if (!in_thread)
		return 0;
	if (same) {
		if (threads->addresses.stacks.nr)
			threads->addresses.stacks.at[threads->addresses.stacks.nr - 1].values[0]++;
		return 0;
	}
	if (addresses_add(&threads->addresses, threads->stack.at, nr, &one, 0))
		return legacy_too_many(threads->error, -EFBIG, line_nr);
	return 0;
}

static int read_thread_line(struct threads *threads, const struct lines *lines, struct text line)
{
	if (text_find(line, "same as previous thread")) {
		threads->same = true;
		return 0;
	}
	if (threads->in_thread && !legacy_take_stack(line, 1, &threads->stack))
		return input_fail_line(threads->error, -EBADMSG, lines->nr,
				       "an address of more than 64 bits");
	return 0;
}

/* Up to the memory map, or the threads that have no stack. */
static int read_threads(struct threads *threads, struct lines *lines)
{
	struct text line;
	int err = 0;

	while (!err && lines_next(lines, &line)) {
		if (addresses_is_map_head(line))
			break;
		if (text_starts(line, "---- no stack trace for")) {
			err = end_thread(threads, lines->nr);
			addresses_skip_to_map(lines);
			return err;
		}
		if (is_thread_head(line)) {
			err = end_thread(threads, lines->nr);
			threads->in_thread = true;
		} else if (text_starts(line, "---") && !text_starts(line, "--- threadz ")) {
			err = input_fail_line(threads->error, -EBADMSG, lines->nr,
					      "no head of a thread");
		} else {
			err = read_thread_line(threads, lines, line);
		}
	}
	return err ? err : end_thread(threads, lines->nr);
}

int legacy_threads_read(const struct source *source, struct profile *profile,
			struct input_error *error)
{
	struct threads threads = {
		.addresses = {.profile = profile, .max_items = source->limits->max_items},
		.error = error};
	struct lines lines = legacy_lines(source);
	int err;

	profile_add_type(profile, "thread", "count");
	profile_set_period(profile, "thread", "count", 1);
	err = read_threads(&threads, &lines);
	legacy_drop_double_leaf(&threads.addresses);
	if (!err && addresses_finish(&threads.addresses, &lines))
		err = legacy_too_many(error, -EFBIG, 0);
	if (!err)
		legacy_drop_frames(profile, LEGACY_CPU);
	addresses_release(&threads.addresses);
	vec_release(&threads.stack);
	return err;
}

/* "NAME profile: total N"; *name is NAME. */
static bool is_count_head(struct text line, struct text *name)
{
	int64_t total;

	if (!text_take_token(&line, name) || !text_take_word(&line, " profile: total "))
		return false;
	return text_take_int(&line, &total) && text_is_blank(line);
}

bool legacy_count_detect(const struct source *source)
{
	struct text name;

	return is_count_head(legacy_first_line(source), &name);
}

static int read_count(struct threads *threads, const struct lines *lines, struct text line)
{
	int64_t nr;

	threads->stack.nr = 0;
	if (!text_take_int(&line, &nr) || nr < 0 || !text_take_word(&line, " @ ") ||
	    !legacy_take_stack(line, 0, &threads->stack) || !threads->stack.nr)
		return input_fail_line(
			threads->error, -EBADMSG, lines->nr, "no line of a count profile: '%.*s'",
			(int)(lines->line.len < 60 ? lines->line.len : 60), lines->line.at);
	if (addresses_add(&threads->addresses, threads->stack.at, threads->stack.nr, &nr, 0))
		return legacy_too_many(threads->error, -EFBIG, lines->nr);
	return 0;
}

/* The sample type is called what the profile is. */
static void set_count_type(struct profile *profile, struct text name)
{
	char *word scoped(freep) = xcalloc(name.len + 1, 1);

	for (size_t i = 0; i < name.len; i++)
		word[i] = name.at[i] ? name.at[i] : '?';
	profile_add_type(profile, word, "count");
	profile_set_period(profile, word, "count", 1);
}

int legacy_count_read(const struct source *source, struct profile *profile,
		      struct input_error *error)
{
	struct threads threads = {
		.addresses = {.profile = profile, .max_items = source->limits->max_items},
		.error = error};
	struct lines lines = legacy_lines(source);
	struct text line, name;
	int err = 0;

	while (lines_next(&lines, &line) && text_is_comment(line))
		;
	if (!is_count_head(line, &name))
		return input_fail_line(error, -EBADMSG, lines.nr, "no head of a count profile");
	set_count_type(profile, name);
	while (!err && lines_next(&lines, &line)) {
		if (text_is_comment(line))
			continue;
		if (text_starts(line, "---") || addresses_is_map_head(line))
			break;
		err = read_count(&threads, &lines, line);
	}
	if (!addresses_is_map_head(lines.line))
		addresses_skip_to_map(&lines);
	if (!err && addresses_finish(&threads.addresses, &lines))
		err = legacy_too_many(error, -EFBIG, 0);
	if (!err)
		legacy_drop_frames(profile, LEGACY_CPU);
	addresses_release(&threads.addresses);
	vec_release(&threads.stack);
	return err;
}
