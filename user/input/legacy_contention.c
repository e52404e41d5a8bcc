// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reads contention profiles (time spent waiting for locks): tcmalloc's /contentionz, and Go's mutex and
 * block profiles with debug=1.
 *
 *	--- contention:
 *	cycles/second=3201000000
 *	sampling period=100
 *	ms since reset=16502830
 *	19490304 27 @ 0xbccc97 0xc61202		cycles waited, how often, return addresses
 *
 * A sample is how often, and how many nanoseconds; both times the sampling period.
 */
#include "input/legacy.h"

#include <ctype.h>
#include <errno.h>

static const char *const heads[] = {"--- contentionz ", "--- mutex:", "--- contention:"};

struct contention {
	struct legacy legacy;
	int64_t cycles_per_second, period;
};

bool legacy_contention_detect(const struct source *source)
{
	struct text line = input_first_line(source);

	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		if (text_starts(line, heads[i]))
			return true;
	return false;
}

static int bad_line(struct contention *contention)
{
	return input_fail_text(contention->legacy.error, &contention->legacy.lines,
			       "not a line of a contention profile");
}

/* "name = value": of the whole profile. */
static int read_attribute(struct contention *contention, struct text line, const char *equals)
{
	struct text name = text_trim((struct text){line.at, equals - line.at});
	struct text value = text_trim((struct text){equals + 1, line.at + line.len - equals - 1});
	struct profile *profile = contention->legacy.addresses.profile;
	int64_t number, duration_ns;

	if (text_equals(name, "discarded samples"))
		return 0;
	if (!text_go_int(value, &number))
		return bad_line(contention);
	if (text_equals(name, "cycles/second")) {
		contention->cycles_per_second = number;
	} else if (text_equals(name, "sampling period")) {
		contention->period = number;
	} else if (text_equals(name, "ms since reset")) {
		if (__builtin_mul_overflow(number, 1000000, &duration_ns))
			return bad_line(contention);
		profile->duration_ns = duration_ns;
	} else {
		return bad_line(contention);
	}
	return 0;
}

static int64_t to_int(double value)
{
	return value >= 0x1p63 ? INT64_MAX : (int64_t)value;
}

/*
 * Two numbers before " @", behind whatever stands before them. Where there is but one, of several digits,
 * the last digit is the second number, since pprof wants no blank between the two.
 */
static bool take_numbers(struct text *line, int64_t *cycles, int64_t *nr)
{
	const char *at;

	for (struct text rest = *line; (at = text_find(rest, " @"));
	     rest = (struct text){at + 1, rest.at + rest.len - at - 1}) {
		const char *second = at, *first_end, *first;

		while (second > line->at && isdigit((unsigned char)second[-1]))
			second--;
		for (first_end = second; first_end > line->at && first_end[-1] == ' ';)
			first_end--;
		for (first = first_end; first > line->at && isdigit((unsigned char)first[-1]);)
			first--;
		if (first == first_end && at - second > 1)
			first = second, first_end = second = at - 1;
		if (first == first_end || second == at)
			continue;
		*line = (struct text){at + 2, line->at + line->len - at - 2};
		return text_take_int(&(struct text){first, first_end - first}, cycles) &&
		       text_take_int(&(struct text){second, at - second}, nr);
	}
	return false;
}

static int read_sample(struct contention *contention, struct text line)
{
	int64_t cycles, nr, values[2];
	int err;

	if (!take_numbers(&line, &cycles, &nr))
		return bad_line(contention);
	contention->legacy.stack.nr = 0;
	err = legacy_take_stack(&contention->legacy, legacy_stack_part(line), 0);
	if (err)
		return err;
	values[0] = nr;
	values[1] = cycles;
	if (contention->period > 0) {
		if (contention->cycles_per_second > 0)
			values[1] = to_int((double)cycles * contention->period /
					   (contention->cycles_per_second / 1e9));
		if (__builtin_mul_overflow(nr, contention->period, &values[0]))
			return bad_line(contention);
	}
	return legacy_add(&contention->legacy, values, 0);
}

/* Attributes come before the samples. */
static int read_lines(struct contention *contention)
{
	struct lines *lines = &contention->legacy.lines;
	struct text line;
	bool in_samples = false;
	int err = 0;

	while (!err && lines_next_said(lines, &line)) {
		const char *equals = text_find(line, "=");

		if (text_starts(text_trim(line), "---"))
			break;
		in_samples |= !equals;
		err = in_samples ? read_sample(contention, line)
				 : read_attribute(contention, line, equals);
	}
	if (!err && !addresses_is_map_head(lines->line))
		addresses_skip_to_map(lines);
	return err;
}

static void contention_release(struct contention *contention)
{
	legacy_release(&contention->legacy);
}

int legacy_contention_read(const struct source *source, struct profile *profile,
			   struct input_error *error)
{
	struct contention contention scoped(contention_release) = {
		.legacy = legacy_begin(source, profile, error), .period = 1};
	struct text head;
	int err;

	profile_add_type(profile, "contentions", "count");
	profile_add_type(profile, "delay", "nanoseconds");
	lines_next_said(&contention.legacy.lines, &head);
	err = read_lines(&contention);
	profile_set_period(profile, "contentions", "count", contention.period);
	return err ? err : legacy_finish(&contention.legacy, LEGACY_CONTENTION);
}
