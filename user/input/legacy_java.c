// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reads the profiles of Java programs that pprof reads (heapz, contentionz, profilez): samples of
 * numbers that stand for places in code, followed by a list of these places. Heap and contention
 * profiles are text:
 *
 *	--- heapz 1 ---				(--- contentionz 1 ---)
 *	format = java
 *	resolution = bytes			(microseconds; the second value's unit)
 *	   7048     1 @ 0x00000003 0x00000004	value, how many, places, leaf first
 *
 *	 0x0000003 com.example.f (source.java:3)
 *	 0x0000004 Gen::g (/usr/lib/libjvm.so)
 *	 0x0000005 generated stub/JIT
 *	 0x0000006 GC
 *
 * A CPU profile has the words of legacy_cpu.c and then such places. Nothing in it is an address, and so
 * no location has one. A place that is not in the list belongs to a mapping without a name.
 *
 * Source: pprof's profile/legacy_java_profile.go.
 */
#include "input/legacy.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#define HEAP_RATE 524288 /* bytes: what heapz samples by */

struct java {
	struct legacy legacy;
	bool is_heap;
	bool has_resolution;
};

static bool is_heap_head(struct text line)
{
	return text_equals(text_trim(line), "--- heapz 1 ---");
}

/* C++'s contention profiles begin so, too, but have no format or resolution. */
static bool has_java_attribute(struct lines lines)
{
	struct text line;

	while (lines_next_said(&lines, &line)) {
		const char *equals = memchr(line.at, '=', line.len);
		struct text name;

		if (!equals || text_starts(text_trim(line), "---"))
			return false;
		name = text_trim((struct text){line.at, equals - line.at});
		if (text_equals(name, "format") || text_equals(name, "resolution"))
			return true;
	}
	return false;
}

bool legacy_java_detect(const struct source *source)
{
	struct lines lines = input_lines(source);
	struct text line;

	if (!lines_next_said(&lines, &line))
		return false;
	return is_heap_head(line) ||
	       (text_equals(text_trim(line), "--- contentionz 1 ---") && has_java_attribute(lines));
}

static int bad_line(struct java *java)
{
	return input_fail_text(java->legacy.error, &java->legacy.lines,
			       "not a line of a Java program's profile");
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == ' ';
}

/* "name = value" anywhere in the line, both of letters, digits, '_' and blanks. */
static bool take_attribute(struct text line, struct text *name, struct text *value)
{
	const char *end = line.at + line.len;

	for (const char *at = line.at; at < end; at++) {
		const char *begin = at, *stop = at + 1;

		if (*at != '=' || at == line.at || !is_word(at[-1]) || stop == end ||
		    !is_word(*stop))
			continue;
		while (begin > line.at && is_word(begin[-1]))
			begin--;
		while (stop < end && is_word(*stop))
			stop++;
		*name = text_trim((struct text){begin, at - begin});
		*value = text_trim((struct text){at + 1, stop - at - 1});
		return true;
	}
	return false;
}

static void set_types(struct java *java, struct text unit)
{
	struct profile *profile = java->legacy.addresses.profile;

	profile->nr_types = 0;
	profile_add_type(profile, java->is_heap ? "inuse_objects" : "contentions", "count");
	profile_add_type(profile, java->is_heap ? "inuse_space" : "delay", "");
	profile->types[1].unit = input_string(profile, unit.at, unit.len);
	java->has_resolution = true;
}

static int set_attribute(struct java *java, struct text name, struct text value)
{
	struct profile *profile = java->legacy.addresses.profile;
	int64_t number;

	if (text_equals(name, "format") && text_equals(value, "java"))
		return 0;
	if (text_equals(name, "resolution")) {
		set_types(java, value);
		return 0;
	}
	if (java->is_heap || !text_go_int(value, &number))
		return bad_line(java);
	if (text_equals(name, "sampling period"))
		profile_set_period(profile, "contentions", "count", number);
	else if (!text_equals(name, "ms since reset") ||
		 __builtin_mul_overflow(number, 1000000, &profile->duration_ns))
		return bad_line(java);
	return 0;
}

struct java_sample {
	struct text nr, value, stack;
};

static bool take_blanks(struct text *text)
{
	size_t len = text->len;

	text_skip(text, ' ');
	return text->len < len;
}

/* "7048  1 @ 0x3 0x4", behind whatever stands before it. */
static bool take_sample(struct text line, struct java_sample *sample)
{
	for (; line.len; line.at++, line.len--) {
		struct text rest = line;

		if (!text_take_digits(&rest, &sample->value))
			continue;
		line = (struct text){rest.at - 1, rest.len + 1}; /* the next number */
		if (take_blanks(&rest) && text_take_digits(&rest, &sample->nr) &&
		    take_blanks(&rest) && text_take(&rest, '@') && take_blanks(&rest)) {
			sample->stack = legacy_stack_part(rest);
			return true;
		}
	}
	return false;
}

static int64_t to_int(double value)
{
	return value >= 0x1p63 ? INT64_MAX : (int64_t)value;
}

static int add(struct java *java, const struct java_sample *sample)
{
	struct legacy *legacy = &java->legacy;
	int64_t values[2], period = legacy->addresses.profile->period, block_bytes = 0;

	legacy->stack.nr = 0;
	if (!text_go_int(sample->nr, &values[0]) || !text_go_int(sample->value, &values[1]) ||
	    (java->is_heap && !values[0]))
		return bad_line(java);
	if (java->is_heap) {
		double factor;

		block_bytes = values[1] / values[0];
		factor = 1 / (1 - exp(-((double)values[1] / values[0]) / HEAP_RATE));
		values[0] = values[1] ? to_int(values[0] * factor) : 0;
		values[1] = values[1] ? to_int(values[1] * factor) : 0;
	} else if (period && (__builtin_mul_overflow(values[0], period, &values[0]) ||
			      __builtin_mul_overflow(values[1], period, &values[1]))) {
		return bad_line(java);
	}
	return legacy_take_stack(legacy, sample->stack, SIZE_MAX)
		       ?: legacy_add(legacy, values, block_bytes);
}

/* Lines that end: what is left of a file that was cut off is no sample. */
static bool next_line(struct lines *lines, struct text *line)
{
	while (lines->at < lines->end && memchr(lines->at, '\n', lines->end - lines->at)) {
		lines_next(lines, line);
		*line = text_trim(*line);
		if (line->len)
			return true;
	}
	return false;
}

/* Attributes, then samples; the places are what is left. */
static int read_lines(struct java *java)
{
	struct lines *lines = &java->legacy.lines, before = *lines;
	struct text line, name, value;
	struct java_sample sample;
	int err = 0;

	for (; !err && next_line(lines, &line) && take_attribute(line, &name, &value);
	     before = *lines)
		err = set_attribute(java, name, value);
	if (err)
		return err;
	*lines = before;
	for (; !err && next_line(lines, &line) && take_sample(line, &sample); before = *lines)
		err = java->has_resolution
			      ? add(java, &sample)
			      : input_fail_line(java->legacy.error, -EBADMSG, lines->nr,
						"the samples come before their resolution");
	*lines = before;
	return err;
}

static void java_release(struct java *java)
{
	legacy_release(&java->legacy);
}

int legacy_java_read(const struct source *source, struct profile *profile,
		     struct input_error *error)
{
	struct java java scoped(java_release) = {.legacy = legacy_begin(source, profile, error)};
	struct text head;
	int err;

	lines_next_said(&java.legacy.lines, &head);
	java.is_heap = is_heap_head(head);
	err = read_lines(&java);
	if (!err && !java.has_resolution)
		return bad_line(&java);
	return err ? err
		   : legacy_java_locations(&java.legacy,
					   java.is_heap ? LEGACY_HEAP : LEGACY_CONTENTION);
}
