// SPDX-License-Identifier: BSD-2-Clause
/*
 * Each regex is asked once about each function and each mapping; what a location or a sample is comes
 * from those answers. So the cost is that of the names, not that of the samples.
 */
#include "profile/filter.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/saferegex.h"

/* What a regex says of functions and mappings, by id; 0, none, does not match. */
struct answers {
	bool *functions, *mappings;
};

static bool matches_string(const regex_t *regex, const struct profile *profile, uint32_t string)
{
	const char *s = strtab_get(&profile->strings, string);

	return saferegex_matches(regex, s, strlen(s));
}

static struct answers ask(const struct profile *profile, const regex_t *regex)
{
	struct answers answers = {
		.functions = xcalloc(profile->functions.nr + 1, sizeof(bool)),
		.mappings = xcalloc(profile->mappings.nr + 1, sizeof(bool)),
	};

	for (size_t i = 0; i < profile->functions.nr; i++) {
		const struct profile_function *function = &profile->functions.at[i];

		answers.functions[i + 1] = matches_string(regex, profile, function->name) ||
					   matches_string(regex, profile, function->path);
	}
	for (size_t i = 0; i < profile->mappings.nr; i++)
		answers.mappings[i + 1] =
			matches_string(regex, profile, profile->mappings.at[i].path);
	return answers;
}

static void answers_release(struct answers *answers)
{
	free(answers->functions);
	free(answers->mappings);
}

static bool any_frame(const struct answers *answers, const struct profile_location *location)
{
	for (uint32_t i = 0; i < location->nr_lines; i++)
		if (answers->functions[location->lines[i].function])
			return true;
	return answers->mappings[location->mapping];
}

/* Marks, by id, the locations that the regex matches. */
static void mark(const struct profile *profile, const regex_t *regex, bool *marks)
{
	struct answers answers scoped(answers_release) = ask(profile, regex);

	for (size_t i = 0; i < profile->locations.nr; i++)
		marks[i + 1] = any_frame(&answers, &profile->locations.at[i]);
}

static bool any_marked(const bool *marks, const struct profile_sample *sample)
{
	for (uint32_t i = 0; i < sample->nr_locations; i++)
		if (marks[sample->locations[i]])
			return true;
	return false;
}

/* Keeps the samples with, or without, a marked location. */
static void keep_marked(struct profile *profile, const regex_t *regex, bool wanted)
{
	bool *marks scoped(freep) = xcalloc(profile->locations.nr + 1, sizeof(*marks));
	size_t nr = 0;

	mark(profile, regex, marks);
	vec_for_each(&profile->samples, sample)
		if (any_marked(marks, sample) == wanted)
			profile->samples.at[nr++] = *sample;
	profile->samples.nr = nr;
}

/* Does this line stay? pprof shows lines without a function whatever the regex. */
static bool line_stays(const struct answers *answers, const struct profile_line *line, bool wanted)
{
	return !line->function || answers->functions[line->function] == wanted;
}

/* Keeps the lines of the location that match (wanted), or that do not. false: none is left. */
static bool keep_lines(struct profile *profile, struct profile_location *location,
		       const struct answers *answers, bool wanted)
{
	struct profile_line *lines;
	uint32_t nr = 0;

	if (answers->mappings[location->mapping])
		return wanted;
	if (!location->nr_lines)
		return !wanted;
	for (uint32_t i = 0; i < location->nr_lines; i++)
		nr += line_stays(answers, &location->lines[i], wanted);
	if (!nr || nr == location->nr_lines)
		return nr;
	lines = arena_alloc(&profile->arena, nr * sizeof(*lines));
	nr = 0;
	for (uint32_t i = 0; i < location->nr_lines; i++)
		if (line_stays(answers, &location->lines[i], wanted))
			lines[nr++] = location->lines[i];
	location->lines = lines;
	location->nr_lines = nr;
	return true;
}

/* The stack without its hidden locations. */
static void hide_locations(struct profile *profile, struct profile_sample *sample,
			   const bool *hidden)
{
	uint32_t *locations, nr = 0;

	if (!any_marked(hidden, sample))
		return;
	locations = arena_alloc(&profile->arena, sample->nr_locations * sizeof(*locations));
	for (uint32_t i = 0; i < sample->nr_locations; i++)
		if (!hidden[sample->locations[i]])
			locations[nr++] = sample->locations[i];
	sample->locations = locations;
	sample->nr_locations = nr;
}

/* Keeps the frames that match, or that do not, and the samples that have any then. */
static void keep_frames(struct profile *profile, const regex_t *regex, bool wanted)
{
	struct answers answers scoped(answers_release) = ask(profile, regex);
	bool *hidden scoped(freep) = xcalloc(profile->locations.nr + 1, sizeof(*hidden));
	size_t nr = 0;

	for (size_t i = 0; i < profile->locations.nr; i++)
		hidden[i + 1] = !keep_lines(profile, &profile->locations.at[i], &answers, wanted);
	vec_for_each(&profile->samples, sample) {
		hide_locations(profile, sample, hidden);
		if (sample->nr_locations)
			profile->samples.at[nr++] = *sample;
	}
	profile->samples.nr = nr;
}

/* Leaves of the location what is below its outermost match, that one included. False: no match. */
static bool cut_location(const struct answers *answers, struct profile_location *location)
{
	if (answers->mappings[location->mapping])
		return true;
	for (uint32_t i = location->nr_lines; i-- > 0;)
		if (answers->functions[location->lines[i].function]) {
			location->nr_lines = i + 1;
			return true;
		}
	return false;
}

static void show_from(struct profile *profile, const regex_t *regex)
{
	struct answers answers scoped(answers_release) = ask(profile, regex);
	bool *marks scoped(freep) = xcalloc(profile->locations.nr + 1, sizeof(*marks));
	size_t nr = 0;

	for (size_t i = 0; i < profile->locations.nr; i++)
		marks[i + 1] = cut_location(&answers, &profile->locations.at[i]);
	vec_for_each(&profile->samples, sample) {
		while (sample->nr_locations && !marks[sample->locations[sample->nr_locations - 1]])
			sample->nr_locations--;
		if (sample->nr_locations)
			profile->samples.at[nr++] = *sample;
	}
	profile->samples.nr = nr;
}

static void keep_tagged(struct profile *profile, const struct tag *tag, bool wanted)
{
	size_t nr = 0;

	vec_for_each(&profile->samples, sample)
		if (tag_matches(tag, profile, sample) == wanted)
			profile->samples.at[nr++] = *sample;
	profile->samples.nr = nr;
}

static void drop_empty_stacks(struct profile *profile)
{
	size_t nr = 0;

	vec_for_each(&profile->samples, sample)
		if (sample->nr_locations)
			profile->samples.at[nr++] = *sample;
	profile->samples.nr = nr;
}

size_t profile_filter_samples(struct profile *profile, const struct profile_filter *filter)
{
	size_t nr_before = profile->samples.nr;

	if (filter->focus)
		keep_marked(profile, filter->focus, true);
	if (filter->ignore) {
		keep_marked(profile, filter->ignore, false);
		drop_empty_stacks(profile);
	}
	if (filter->hide)
		keep_frames(profile, filter->hide, false);
	if (filter->show)
		keep_frames(profile, filter->show, true);
	if (filter->show_from)
		show_from(profile, filter->show_from);
	if (filter->tag_focus)
		keep_tagged(profile, filter->tag_focus, true);
	if (filter->tag_ignore)
		keep_tagged(profile, filter->tag_ignore, false);
	profile_forget_interned(profile);
	return nr_before - profile->samples.nr;
}
