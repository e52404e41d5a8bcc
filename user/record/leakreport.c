// SPDX-License-Identifier: BSD-2-Clause
/*
 * A line for each leak: how much there is, how old it is, how fast it grows, what became of the other blocks, and the
 * functions that allocate. The profile has the stacks; this list is for the terminal only.
 */
#include "record/leakreport.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/text.h"
#include "base/vec.h"
#include "profile/interpreter.h"
#include "profile/scale.h"
#include "profile/shortname.h"
#include "record/leaktest.h"

#define MAX_SHOWN  10
#define MAX_FRAMES 3
#define NAME_BYTES 60 /* what is longer is cut */

/* "1.25 ms" */
static const char *age_text(uint64_t age_ns, char *text, size_t text_bytes)
{
	double seconds = age_ns / 1e9;

	if (seconds >= 1)
		snprintf(text, text_bytes, "%.1f s", seconds);
	else if (seconds >= 0.001)
		snprintf(text, text_bytes, "%.1f ms", seconds * 1e3);
	else
		snprintf(text, text_bytes, "%.0f us", seconds * 1e6);
	return text;
}

/* Returns the first frame to show: in an interpreted program its own function, not the interpreter's that calls malloc. */
static uint32_t first_shown(const struct profile *profile, const struct profile_sample *sample)
{
	for (uint32_t i = 0; i < sample->nr_locations; i++)
		if (interpreter_shows(profile, &profile->locations.at[sample->locations[i] - 1]))
			return i;
	return 0;
}

/* "name file.c:12"; the file for the first function alone. */
static size_t describe_line(const struct profile *profile, const struct profile_line *line,
			    bool is_first, char *text, size_t text_bytes)
{
	const struct profile_function *function = &profile->functions.at[line->function - 1];
	const char *path = strtab_get(&profile->strings, function->path);
	char *name scoped(freep) = short_name(strtab_get(&profile->strings, function->name));
	char safe[NAME_BYTES], file[NAME_BYTES], where[NAME_BYTES + 32] = "";

	if (is_first && line->line && *path)
		snprintf(where, sizeof(where), " %s:%ld",
			 text_escape(text_base_name(path), file, sizeof(file)), line->line);
	return snprintf(text, text_bytes, "%s%s%s", is_first ? "" : " < ",
			text_escape(name, safe, sizeof(safe)), where);
}

/* "leaf file.c:12 < caller < its caller" */
static void describe_stack(const struct profile *profile, const struct profile_sample *sample,
			   char *text, size_t text_bytes)
{
	size_t len = 0;
	uint32_t nr = 0;

	for (uint32_t i = first_shown(profile, sample); i < sample->nr_locations; i++) {
		const struct profile_location *location =
			&profile->locations.at[sample->locations[i] - 1];

		for (uint32_t j = 0; j < location->nr_lines && nr < MAX_FRAMES; j++)
			if (len < text_bytes)
				len += describe_line(profile, &location->lines[j], !nr++,
						     text + len, text_bytes - len);
	}
}

/* " of comm (pid)" */
static void describe_process(const struct profile *profile, const struct profile_sample *sample,
			     char *text, size_t text_bytes)
{
	const char *comm = "";
	char safe[NAME_BYTES];
	int64_t pid = 0;

	for (uint32_t i = 0; i < sample->nr_labels; i++) {
		const char *key = strtab_get(&profile->strings, sample->labels[i].key);

		if (!strcmp(key, "pid"))
			pid = sample->labels[i].num;
		else if (!strcmp(key, "comm"))
			comm = strtab_get(&profile->strings, sample->labels[i].str);
	}
	snprintf(text, text_bytes, " of %s (%ld)", text_escape(comm, safe, sizeof(safe)), pid);
}

static void say_leak(const struct profile *profile, const struct built_leak *leak, size_t number,
		     bool is_one_of_several, enum bound bound)
{
	const struct profile_sample *sample = &profile->samples.at[leak->sample];
	char stack[6 * NAME_BYTES] = "", oldest[32], least[32], freed[32], others[96];
	char process[NAME_BYTES + 32] = "";

	describe_stack(profile, sample, stack, sizeof(stack));
	if (is_one_of_several)
		describe_process(profile, sample, process, sizeof(process));
	if (leak->nr_freed)
		snprintf(others, sizeof(others), "%s others freed, after %s at most",
			 text_count(leak->nr_freed),
			 age_text(leak->oldest_freed_ns, freed, sizeof(freed)));
	else
		snprintf(others, sizeof(others), "none freed");
	say("leak %zu%s: %s%s bytes in %s blocks, %s to %s old, %+.0f bytes/s (standard error "
	    "%.0f); "
	    "%s: %s",
	    number, process, bound_word(bound), text_count(scale_round(leak->inuse.bytes)),
	    text_count(scale_round(leak->inuse.objects)),
	    age_text(leak->age_ns, least, sizeof(least)),
	    age_text(leak->oldest_ns, oldest, sizeof(oldest)), leak->slope, leak->error, others,
	    stack);
}

static int compare_scores(const void *a, const void *b)
{
	const struct built_leak *const *x = a, *const *y = b;

	return (*x)->score < (*y)->score ? 1 : (*x)->score > (*y)->score ? -1 : 0;
}

/* A process takes its blocks with it when it ends. */
static bool have_all_ended(struct builder *builder)
{
	size_t nr;
	const struct built_process *processes = builder_processes(builder, &nr);

	for (size_t i = 0; i < nr; i++)
		if (!processes[i].process->exited_ns)
			return false;
	return nr;
}

static void say_no_leak(struct builder *builder)
{
	uint64_t most_old = builder_most_old(builder);

	if (have_all_ended(builder))
		say("no leak was found: all processes have ended, and their blocks with them. Stop "
		    "before "
		    "they end (-d TIME), or look at what was in use at the peak (--peak)");
	else if (!builder_can_find_leaks(builder))
		say("no leak was found: the run was too short to tell");
	else if (most_old < LEAK_LEAST_OLD)
		say("no leak was found: too few samples to tell. A stack needs %d old blocks among "
		    "the samples, and the most that one has is %s: use a lower --rate or a longer "
		    "run",
		    LEAK_LEAST_OLD, text_count(most_old));
	else
		say("no leak was found: no stack has old blocks and grows steadily");
}

void leakreport_say_none(struct builder *builder)
{
	size_t nr;

	if (builder_unjudged(builder))
		say("not judged: %s stacks, more than a tenth of which is in records after the "
		    "first "
		    "%s (a stack, a size, a thread) that --leaks follows. Use a higher --rate.",
		    text_count(builder_unjudged(builder)), text_count(BUILDER_TIMELINES));
	builder_leaks(builder, &nr);
	if (!nr)
		say_no_leak(builder);
}

void leakreport_say(struct builder *builder, const struct profile *profile, enum bound bound)
{
	vec_of(const struct built_leak *) leaks = {0};
	size_t nr, nr_processes;
	const struct built_leak *all = builder_leaks(builder, &nr);

	builder_processes(builder, &nr_processes);
	for (size_t i = 0; i < nr; i++)
		if (all[i].sample >= 0)
			vec_push(&leaks, &all[i]);
	if (leaks.nr)
		qsort(leaks.at, leaks.nr, sizeof(*leaks.at), compare_scores);
	for (size_t i = 0; i < leaks.nr && i < MAX_SHOWN; i++)
		say_leak(profile, leaks.at[i], i + 1, nr_processes > 1, bound);
	if (leaks.nr > MAX_SHOWN)
		say("%zu more leaks are in the profile", leaks.nr - MAX_SHOWN);
	vec_release(&leaks);
}
