// SPDX-License-Identifier: BSD-2-Clause
/*
 * Functions are numbered across all runs by a hash table of their names; a run's cells are found by an
 * array from function to cell, which lasts only while its profile is added. A function that is in a
 * stack several times counts once: it remembers the sample that counted there last.
 *
 * A frame that is an address in a file without names counts for two functions, the address and the
 * whole file, and so do its calls; runs_compared() chooses between them when all builds are known.
 */
#include "gate/runs.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gate/amount.h"
#include "profile/frames.h"

/* Adding a profile: its functions' positions in runs, and the cells touched by it. */
struct adding {
	struct runs *runs;
	size_t run;
	const struct profile *profile;
	const struct identity *identity;
	struct sampling sampling;
	struct frames frames;
	uint32_t *functions;	  /* frame to position + 1; 0: not looked up */
	uint32_t *files;	  /* frame without a name to its file's position + 1; else 0 */
	vec_of(uint32_t) cell_of; /* function to cell + 1 of this run */
	vec_of(size_t) seen;	  /* function to the sample + 1 that it was counted for last */
	struct callset calls;
	/* the frame before, which the next one calls: 1 + its function, and 1 + that of its file */
	uint32_t callee[2];
};

struct run *runs_add(struct runs *runs, const char *name, enum run_side side)
{
	vec_push(&runs->at, (struct run){
				    .name = arena_strndup(&runs->arena, name, strlen(name)),
				    .side = side,
				    .kind = "",
			    });
	return &runs->at.at[runs->at.nr - 1];
}

static bool same_name(const void *ctx, uint32_t value, const void *key)
{
	const struct runs *runs = ctx;

	return !strcmp(runs->functions.at[value].name, key);
}

uint32_t runs_function(struct runs *runs, const char *name, const char *file, int64_t line)
{
	uint64_t code = hash_bytes(name, strlen(name), 0);
	uint32_t at = hash_find(&runs->index, code, same_name, runs, name);

	if (at != HASH_NONE)
		return at;
	at = runs->functions.nr;
	vec_push(&runs->functions, (struct run_function){
					   .name = arena_strndup(&runs->arena, name, strlen(name)),
					   .file = arena_strndup(&runs->arena, file, strlen(file)),
					   .line = line > 0 ? line : 0,
				   });
	hash_insert(&runs->index, code, at);
	return at;
}

static const char *string(const struct profile *profile, uint32_t id)
{
	return strtab_get(&profile->strings, id);
}

/* Cells ------------------------------------------------------------------------------------------ */

/* A frame that is an address in a file stands for the file, too. */
static void add_file_of(struct adding *adding, uint32_t frame, uint32_t function)
{
	struct runs *runs = adding->runs;
	char *file scoped(freep) = identity_file(adding->frames.at[frame].name);
	char *name scoped(freep) = file ? identity_name(adding->identity, file) : NULL;
	uint32_t all;

	if (!file) {
		runs->functions.at[function].is_named = true;
		return;
	}
	all = runs_function(runs, name, "", 0);
	runs->functions.at[function].address_in = strtab_intern(&runs->builds.files, file);
	runs->functions.at[all].all_of = runs->functions.at[function].address_in;
	adding->files[frame] = all + 1;
}

/* The function of a frame of a location; line NULL: the location has none. */
static uint32_t function_of(struct adding *adding, uint32_t frame, const struct profile_line *line)
{
	const struct profile *profile = adding->profile;
	const struct profile_function *function = line ? &profile->functions.at[line->function - 1]
						       : NULL;
	uint32_t *at = &adding->functions[frame];
	char *name scoped(freep) = NULL;

	if (*at)
		return *at - 1;
	name = identity_name(adding->identity, adding->frames.at[frame].name);
	*at = 1 + runs_function(adding->runs, name, function ? string(profile, function->path) : "",
				!function	       ? 0
				: function->start_line ? function->start_line
						       : line->line);
	add_file_of(adding, frame, *at - 1);
	return *at - 1;
}

static struct run_cell *cell_of(struct adding *adding, uint32_t function)
{
	struct run *run = &adding->runs->at.at[adding->run];
	uint32_t *at;

	while (adding->cell_of.nr <= function) {
		vec_push(&adding->cell_of, 0);
		vec_push(&adding->seen, 0);
	}
	at = &adding->cell_of.at[function];
	if (!*at) {
		vec_push(&run->cells, (struct run_cell){.function = function});
		*at = run->cells.nr;
	}
	return &run->cells.at[*at - 1];
}

/* What stands for frames that were not seen is no function that could regress. */
static bool is_unknown(const char *name)
{
	return !strncmp(name, "[unknown", strlen("[unknown")) ||
	       !strncmp(name, "[truncated", strlen("[truncated"));
}

/* A function that calls itself, by whatever way, has a stack's value once. */
static void add_frame(struct adding *adding, uint32_t function, size_t sample,
		      const struct amount *amount, bool is_leaf)
{
	struct run_cell *cell = cell_of(adding, function);

	if (is_leaf) {
		cell->flat += amount->value;
		cell->flat_variance += amount->variance;
	}
	if (adding->seen.at[function] == sample + 1)
		return;
	adding->seen.at[function] = sample + 1;
	cell->cum += amount->value;
	cell->cum_variance += amount->variance;
}

/* Functions + 1, or 0: what a frame is, and its file where it has no name of its own. */
static void add_calls(struct adding *adding, const uint32_t caller[2], size_t sample, double value)
{
	for (int i = 0; i < 2; i++)
		for (int j = 0; j < 2; j++)
			if (caller[i] && adding->callee[j])
				callset_add(&adding->calls, caller[i] - 1, adding->callee[j] - 1,
					    sample, value);
	memcpy(adding->callee, caller, sizeof(adding->callee));
}

static void add_sample(struct adding *adding, size_t at)
{
	const struct profile *profile = adding->profile;
	const struct profile_sample *sample = &profile->samples.at[at];
	struct amount amount = amount_of(&adding->sampling, sample->values);
	bool unknown = false;
	struct run *run;

	adding->callee[0] = adding->callee[1] = 0;
	for (uint32_t i = 0; i < sample->nr_locations; i++) {
		const struct profile_location *location =
			&profile->locations.at[sample->locations[i] - 1];
		uint32_t nr;
		const uint32_t *frames = frames_of(&adding->frames, sample->locations[i], &nr);

		for (uint32_t j = 0; j < nr; j++) {
			uint32_t function = function_of(
				adding, frames[j], location->nr_lines ? &location->lines[j] : NULL);

			uint32_t file = adding->files[frames[j]];
			uint32_t caller[] = {function + 1, file};

			if (is_unknown(adding->runs->functions.at[function].name)) {
				unknown = true;
				caller[0] = 0;
			} else {
				add_frame(adding, function, at, &amount, !i && !j);
			}
			if (file)
				add_frame(adding, file - 1, at, &amount, !i && !j);
			add_calls(adding, caller, at, amount.value);
		}
	}
	run = &adding->runs->at.at[adding->run];
	run->total += amount.value;
	run->total_variance += amount.variance;
	run->nr_samples += amount.nr_samples;
	run->unknown += unknown ? amount.value : 0;
	run->has_negative |= amount.value < 0;
}

/* The run itself --------------------------------------------------------------------------------- */

/* "29,703" at *text, moved behind it; -1 where there is no number. */
static double parse_number(const char **text)
{
	const char *p = *text;
	double number = 0;

	if (!isdigit((unsigned char)*p))
		return -1;
	for (; isdigit((unsigned char)*p) || (*p == ',' && isdigit((unsigned char)p[1])); p++)
		if (*p != ',')
			number = number * 10 + (*p - '0');
	*text = p;
	return number;
}

static double number_after(const char *text, const char *word)
{
	const char *at = strstr(text, word);

	if (!at)
		return 0;
	at += strlen(word);
	return fmax(0, parse_number(&at));
}

/* What cprof says of each run: "... taken N = written M + lost K (...)". */
static void read_accounts(const struct profile *profile, struct run *run)
{
	for (size_t i = 0; i < profile->comments.nr; i++) {
		const char *comment = string(profile, profile->comments.at[i]);
		double nr_taken = number_after(comment, "taken ");

		if (nr_taken <= 0 || !strstr(comment, " = written "))
			continue;
		run->nr_taken += nr_taken;
		run->nr_lost += number_after(comment, " + lost ");
	}
}

static char *kind_of(struct runs *runs, const struct profile *profile)
{
	char *text scoped(freep) = xasprintf("period %ld %s/%s of", profile->period,
					     string(profile, profile->period_type.type),
					     string(profile, profile->period_type.unit));

	for (uint32_t i = 0; i < profile->nr_types; i++) {
		char *longer = xasprintf("%s %s/%s", text, string(profile, profile->types[i].type),
					 string(profile, profile->types[i].unit));

		free(text);
		text = longer;
	}
	return arena_strndup(&runs->arena, text, strlen(text));
}

static uint64_t content_of(const struct profile *profile)
{
	uint64_t code = hash_combine(hash_u64(profile->time_ns), profile->duration_ns);

	for (size_t i = 0; i < profile->samples.nr; i++) {
		const struct profile_sample *sample = &profile->samples.at[i];

		code = hash_bytes(sample->values, profile->nr_types * sizeof(*sample->values),
				  code);
		for (uint32_t j = 0; j < sample->nr_locations; j++)
			code = hash_combine(
				code, profile->locations.at[sample->locations[j] - 1].address);
	}
	for (size_t i = 0; i < profile->functions.nr; i++) {
		const char *name = string(profile, profile->functions.at[i].name);

		code = hash_bytes(name, strlen(name), code);
	}
	return code;
}

void runs_add_profile(struct runs *runs, const char *name, enum run_side side,
		      const struct profile *profile, uint32_t type, const struct identity *identity)
{
	const char *type_name = string(profile, profile->types[type].type);
	const char *unit = string(profile, profile->types[type].unit);
	struct run *run = runs_add(runs, name, side);
	struct adding adding = {
		.runs = runs,
		.run = runs->at.nr - 1,
		.profile = profile,
		.identity = identity,
		.sampling = amount_sampling(profile, type),
	};

	frames_make(profile, FRAME_BY_FUNCTION, &adding.frames);
	adding.functions = xcalloc(adding.frames.nr, sizeof(*adding.functions));
	adding.files = xcalloc(adding.frames.nr, sizeof(*adding.files));
	identity_builds_add(&runs->builds, profile, side == RUN_HEAD);
	run->kind = kind_of(runs, profile);
	run->content = content_of(profile);
	read_accounts(profile, run);
	if (!runs->type) {
		runs->type = arena_strndup(&runs->arena, type_name, strlen(type_name));
		runs->unit = arena_strndup(&runs->arena, unit, strlen(unit));
	}
	for (size_t i = 0; i < profile->samples.nr; i++)
		add_sample(&adding, i);
	runs->at.at[adding.run].calls = adding.calls.calls;
	callset_release(&adding.calls);
	free(adding.functions);
	free(adding.files);
	frames_release(&adding.frames);
	vec_release(&adding.cell_of);
	vec_release(&adding.seen);
}

bool *runs_compared(const struct runs *runs)
{
	bool *compared = xcalloc(runs->functions.nr + 1, sizeof(*compared));
	bool *changed scoped(freep) = identity_builds_changed(&runs->builds);

	for (size_t i = 0; i < runs->functions.nr; i++) {
		const struct run_function *function = &runs->functions.at[i];

		compared[i] = function->is_named || !(function->address_in | function->all_of) ||
			      (function->address_in ? !changed[function->address_in]
						    : changed[function->all_of]);
	}
	return compared;
}

void runs_release(struct runs *runs)
{
	vec_for_each(&runs->at, run) {
		vec_release(&run->cells);
		vec_release(&run->calls);
	}
	vec_release(&runs->at);
	vec_release(&runs->functions);
	hash_release(&runs->index);
	identity_builds_release(&runs->builds);
	arena_release(&runs->arena);
	*runs = (struct runs){0};
}
