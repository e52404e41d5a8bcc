// SPDX-License-Identifier: BSD-2-Clause
/*
 * The sums are over every location of every stack, but seldom need be made: where no location has more
 * functions than the average may have, and no name is long, no sum can be too large.
 */
#include "input/expansion.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "input/reader.h"

/* What one location stands for, or all of them. */
struct expansion {
	uint64_t frames, bytes;
};

struct check {
	const struct profile *profile;
	struct expansion *of; /* of each location; id - 1 */
	struct expansion most;
	uint64_t nr_named; /* locations in all stacks, and labels */
};

static uint64_t length_of(const struct profile *profile, uint32_t string)
{
	return string ? strlen(strtab_get(&profile->strings, string)) : 0;
}

/* Sums stick at their end. */
static void add(uint64_t *sum, uint64_t more)
{
	if (__builtin_add_overflow(*sum, more, sum))
		*sum = UINT64_MAX;
}

static void measure_locations(struct check *check)
{
	const struct profile *profile = check->profile;
	uint64_t *bytes_of scoped(freep) = xcalloc(profile->functions.nr, sizeof(*bytes_of));

	for (size_t i = 0; i < profile->functions.nr; i++)
		bytes_of[i] = length_of(profile, profile->functions.at[i].name) +
			      length_of(profile, profile->functions.at[i].path);
	for (size_t i = 0; i < profile->locations.nr; i++) {
		const struct profile_location *location = &profile->locations.at[i];
		struct expansion *of = &check->of[i];
		uint32_t mapping = location->mapping;

		of->frames = location->nr_lines ? location->nr_lines : 1;
		if (mapping)
			of->bytes = length_of(profile, profile->mappings.at[mapping - 1].path);
		for (uint32_t line = 0; line < location->nr_lines; line++)
			if (location->lines[line].function)
				add(&of->bytes, bytes_of[location->lines[line].function - 1]);
		if (of->frames > check->most.frames)
			check->most.frames = of->frames;
		if (of->bytes > check->most.bytes)
			check->most.bytes = of->bytes;
	}
}

static void measure_strings(struct check *check)
{
	for (size_t i = 0; i < strtab_nr(&check->profile->strings); i++) {
		uint64_t bytes = length_of(check->profile, i);

		if (bytes > check->most.bytes)
			check->most.bytes = bytes;
	}
}

static struct expansion sum_all(const struct check *check)
{
	const struct profile *profile = check->profile;
	struct expansion sum = {0};

	vec_for_each(&profile->samples, sample) {
		for (uint32_t i = 0; i < sample->nr_locations; i++) {
			const struct expansion *of = &check->of[sample->locations[i] - 1];

			add(&sum.frames, of->frames);
			add(&sum.bytes, of->bytes);
		}
		for (uint32_t i = 0; i < sample->nr_labels; i++)
			add(&sum.bytes, length_of(profile, sample->labels[i].str));
	}
	return sum;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static int judge(const struct check *check, const struct expansion *sum, struct input_error *error)
{
	uint64_t frames =
		larger(EXPANSION_FREE_FRAMES, check->nr_named * EXPANSION_FRAMES_PER_LOCATION);
	uint64_t bytes =
		larger(EXPANSION_FREE_BYTES, check->nr_named * EXPANSION_BYTES_PER_LOCATION);

	if (frames > EXPANSION_MAX_FRAMES)
		frames = EXPANSION_MAX_FRAMES;
	if (sum->frames > frames)
		return input_fail(
			error, -EFBIG, INPUT_NO_OFFSET,
			"its stacks expand to %" PRIu64
			" frames with all inlined functions: too large (the limit is %" PRIu64 ")",
			sum->frames, frames);
	if (sum->bytes > bytes)
		return input_fail(error, -EFBIG, INPUT_NO_OFFSET,
				  "the names in its stacks expand to %" PRIu64
				  " MB: too large (the limit is %" PRIu64 ")",
				  sum->bytes >> 20, bytes >> 20);
	return 0;
}

int expansion_check(const struct profile *profile, struct input_error *error)
{
	struct check check = {.profile = profile};
	struct expansion *of scoped(freep) = xcalloc(profile->locations.nr, sizeof(*of));
	struct expansion sum;

	check.of = of;
	vec_for_each(&profile->samples, sample)
		check.nr_named += (uint64_t)sample->nr_locations + sample->nr_labels;
	measure_locations(&check);
	measure_strings(&check);
	if (check.most.frames <= EXPANSION_FRAMES_PER_LOCATION &&
	    check.nr_named <= EXPANSION_MAX_FRAMES / EXPANSION_FRAMES_PER_LOCATION &&
	    check.most.bytes <= EXPANSION_BYTES_PER_LOCATION)
		return 0;
	sum = sum_all(&check);
	return judge(&check, &sum, error);
}
