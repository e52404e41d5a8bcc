// SPDX-License-Identifier: BSD-2-Clause
/*
 * Contention: who waited for locks, from tcmalloc's /contentionz and Go's mutex and block profiles with
 * debug=1.
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

#include <errno.h>

static const char *const heads[] = {"--- contentionz ", "--- mutex:", "--- contention:"};

struct contention {
	struct addresses addresses;
	struct input_error *error;
	int64_t cycles_per_second, period;
	legacy_stack stack;
};

bool legacy_contention_detect(const struct source *source)
{
	struct text line = legacy_first_line(source);

	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		if (text_starts(line, heads[i]))
			return true;
	return false;
}

static int bad_line(struct contention *contention, const struct lines *lines)
{
	return input_fail_line(contention->error, -EBADMSG, lines->nr,
			       "no line of a contention profile: '%.*s'",
			       (int)(lines->line.len < 60 ? lines->line.len : 60), lines->line.at);
}

/* "name = value": of the whole profile. */
static int read_attribute(struct contention *contention, const struct lines *lines,
			  struct text line, const char *equals)
{
	struct text name = text_trim((struct text){line.at, equals - line.at});
	struct text value = text_trim((struct text){equals + 1, line.at + line.len - equals - 1});
	struct profile *profile = contention->addresses.profile;
	int64_t number, duration_ns;

	if (text_equals(name, "discarded samples"))
		return 0;
	if (!text_take_int(&value, &number) || value.len)
		return bad_line(contention, lines);
	if (text_equals(name, "cycles/second")) {
		contention->cycles_per_second = number;
	} else if (text_equals(name, "sampling period")) {
		contention->period = number;
	} else if (text_equals(name, "ms since reset")) {
		if (__builtin_mul_overflow(number, 1000000, &duration_ns))
			return bad_line(contention, lines);
		profile->duration_ns = duration_ns;
	} else {
		return bad_line(contention, lines);
	}
	return 0;
}

static int64_t to_int(double value)
{
	return value >= 0x1p63 ? INT64_MAX : (int64_t)value;
}

static int read_sample(struct contention *contention, const struct lines *lines, struct text line)
{
	int64_t cycles, nr, values[2];

	text_skip_spaces(&line);
	if (!text_take_int(&line, &cycles) || cycles < 0)
		return bad_line(contention, lines);
	text_skip_spaces(&line);
	if (!text_take_int(&line, &nr) || nr < 0)
		return bad_line(contention, lines);
	text_skip_spaces(&line);
	if (!text_take(&line, '@'))
		return bad_line(contention, lines);
	contention->stack.nr = 0;
	if (!legacy_take_stack(line, 0, &contention->stack))
		return input_fail_line(contention->error, -EBADMSG, lines->nr,
				       "an address of more than 64 bits");
	values[0] = nr;
	values[1] = cycles;
	if (contention->period > 0) {
		if (contention->cycles_per_second > 0)
			values[1] = to_int((double)cycles * contention->period /
					   (contention->cycles_per_second / 1e9));
		if (__builtin_mul_overflow(nr, contention->period, &values[0]))
			return bad_line(contention, lines);
	}
	if (addresses_add(&contention->addresses, contention->stack.at, contention->stack.nr,
			  values, 0))
		return legacy_too_many(contention->error, -EFBIG, lines->nr);
	return 0;
}

/* Attributes come before the samples. */
static int read_lines(struct contention *contention, struct lines *lines)
{
	struct text line;
	bool in_samples = false;
	int err = 0;

	while (!err && lines_next(lines, &line)) {
		const char *equals = text_find(line, "=");

		if (text_is_comment(line))
			continue;
		if (text_starts(line, "---"))
			break;
		in_samples |= !equals;
		err = in_samples ? read_sample(contention, lines, line)
				 : read_attribute(contention, lines, line, equals);
	}
	if (!err && !addresses_is_map_head(lines->line))
		addresses_skip_to_map(lines);
	return err;
}

int legacy_contention_read(const struct source *source, struct profile *profile,
			   struct input_error *error)
{
	struct contention contention = {
		.addresses = {.profile = profile, .max_items = source->limits->max_items},
		.error = error,
		.period = 1};
	struct lines lines = legacy_lines(source);
	struct text line;
	int err;

	profile_add_type(profile, "contentions", "count");
	profile_add_type(profile, "delay", "nanoseconds");
	while (lines_next(&lines, &line) && text_is_comment(line))
		;
	err = read_lines(&contention, &lines);
	profile_set_period(profile, "contentions", "count", contention.period);
	if (!err && addresses_finish(&contention.addresses, &lines))
		err = legacy_too_many(error, -EFBIG, 0);
	if (!err)
		legacy_drop_frames(profile, LEGACY_CONTENTION);
	addresses_release(&contention.addresses);
	vec_release(&contention.stack);
	return err;
}
