// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reads the stacks of threads, one for each thread, from tcmalloc's /threadz, and Go's counts of stacks.
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
 * Go's counts (goroutine, threadcreate with debug=1):
 *
 *	goroutine profile: total 7
 *	3 @ 0x42f5f0 0x42a5c8			so many of them, return addresses
 */
#include "input/legacy.h"

#include <ctype.h>
#include <errno.h>

struct threads {
	struct legacy legacy;
	bool in_thread, same;
};

static bool is_thread_head(struct text line)
{
	const char *head = text_find(line, "--- Thread ");
	struct text rest = {head, head ? line.at + line.len - head : 0};

	return head && text_find(rest, "(name: ") && text_find(rest, "stack: ---");
}

bool legacy_threads_detect(const struct source *source)
{
	struct text line = input_first_line(source);

	return text_find(line, "--- threadz ") || is_thread_head(line);
}

/* The thread that was read so far, if there is one. */
static int end_thread(struct threads *threads)
{
	const int64_t one = 1;
	bool in_thread = threads->in_thread, same = threads->same || !threads->legacy.stack.nr;
	struct addresses *addresses = &threads->legacy.addresses;
	int err = 0;

	threads->in_thread = threads->same = false;
	if (in_thread && !same)
		err = legacy_add(&threads->legacy, &one, 0);
	else if (in_thread && addresses->stacks.nr)
		addresses->stacks.at[addresses->stacks.nr - 1].values[0]++;
	threads->legacy.stack.nr = 0;
	return err;
}

static int read_thread_line(struct threads *threads, struct text line)
{
	if (text_find(line, "same as previous thread")) {
		threads->same = true;
		return 0;
	}
	return threads->in_thread ? legacy_take_stack(&threads->legacy, line, 1) : 0;
}

/* behind: a head may stand behind something else in its line, as in the first. */
static int read_line(struct threads *threads, struct text line, bool behind)
{
	int err;

	if (behind ? is_thread_head(line) : text_starts(line, "---") && is_thread_head(line)) {
		err = end_thread(threads);
		threads->in_thread = true;
		return err;
	}
	if (text_starts(line, "---") && !text_starts(line, "--- threadz "))
		return input_fail_line(threads->legacy.error, -EBADMSG, threads->legacy.lines.nr,
				       "not the heading of a thread");
	return read_thread_line(threads, line);
}

/* Up to the memory map, or the threads that have no stack. */
static int read_threads(struct threads *threads)
{
	struct lines *lines = &threads->legacy.lines;
	bool is_first = true, begun = false, behind;
	struct text line;
	int err = 0;

	while (!err && lines_next(lines, &line)) {
		if (is_first && text_is_comment(line))
			continue;
		behind = is_first || (!begun && text_starts(line, "-"));
		begun |= is_first ? is_thread_head(line) : text_starts(line, "-");
		line = text_trim(line);
		if (addresses_is_map_head(line))
			break;
		if (begun && text_starts(line, "---- no stack trace for")) {
			err = end_thread(threads);
			addresses_skip_to_map(lines);
			return err;
		}
		if (begun) /* before the first thread anything may stand */
			err = read_line(threads, line, behind);
		is_first = false;
	}
	return err ? err : end_thread(threads);
}

static void threads_release(struct threads *threads)
{
	legacy_release(&threads->legacy);
}

int legacy_threads_read(const struct source *source, struct profile *profile,
			struct input_error *error)
{
	struct threads threads scoped(threads_release) = {
		.legacy = legacy_begin(source, profile, error)};
	int err;

	profile_add_type(profile, "thread", "count");
	profile_set_period(profile, "thread", "count", 1);
	err = read_threads(&threads);
	err = err ? err : legacy_finish(&threads.legacy, LEGACY_CPU);
	if (!err)
		legacy_drop_double_leaf(profile);
	return err;
}

/* "NAME profile: total N"; *name is NAME. */
static bool is_count_head(struct text line, struct text *name)
{
	struct text total;

	if (!text_take_token(&line, name) || !text_take_word(&line, " profile: total "))
		return false;
	return text_take_digits(&line, &total) && text_is_blank(line);
}

bool legacy_count_detect(const struct source *source)
{
	struct text name;

	return is_count_head(input_first_line(source), &name);
}

static int bad_count(struct legacy *legacy)
{
	return input_fail_text(legacy->error, &legacy->lines, "not a line of a count profile");
}

static int read_count(struct legacy *legacy, struct text line)
{
	struct text digits;
	int64_t nr;
	int err;

	legacy->stack.nr = 0;
	if (!text_take_digits(&line, &digits) || !text_go_int(digits, &nr) ||
	    !text_take_word(&line, " @ ") || legacy_stack_part(line).len != line.len)
		return bad_count(legacy);
	err = legacy_take_stack(legacy, line, 0);
	if (!err && !legacy->stack.nr)
		return bad_count(legacy);
	return err ? err : legacy_add(legacy, &nr, 0);
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
	struct legacy legacy scoped(legacy_release) = legacy_begin(source, profile, error);
	struct lines *lines = &legacy.lines;
	struct text line, name;
	int err = 0;

	lines_next_said(lines, &line);
	if (!is_count_head(line, &name))
		return input_fail_line(error, -EBADMSG, lines->nr,
				       "not the heading of a count profile");
	set_count_type(profile, name);
	while (!err && lines_next_said(lines, &line)) {
		if (text_starts(line, "---") || addresses_is_map_head(line))
			break;
		err = read_count(&legacy, line);
	}
	if (!addresses_is_map_head(lines->line))
		addresses_skip_to_map(lines);
	return err ? err : legacy_finish(&legacy, LEGACY_CPU);
}
