// SPDX-License-Identifier: BSD-2-Clause
/*
 * An optimizer wants to know how often a line ran. Samples say how long it took, which is more for a line of more
 * instructions: so a line counts what an address of it has on average, SCALE times, of those that were sampled at all.
 *
 * The leaf locations are sorted by their paths: function, line in it, function inlined there, line in that, and so on. What
 * shares a beginning is one range then, and what ends there comes first.
 *
 * Lines are offsets from where their function is declared, in 16 bits, as LLVM computes them for what it compiles; a line
 * above it, of a macro or an included file, wraps around there, too. Discriminators are not in a profile: what a compiler
 * unrolled or duplicated on one line is counted together.
 *
 * Samples do not tell how often a function was entered (its head), but the optimizer believes that one with a head of 0 is
 * not called: it is as much as on the function's most frequent line.
 */
#include "output/afdo.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "profile/allocframes.h"

#define MAX_DEPTH 256 /* of inlined functions; compilers inline less deep */

#define SCALE 100 /* an average is seldom a whole number */

/* One location, and what was sampled there; once sorted, the first of those on one line has the line's count. */
struct sampled_location {
	const struct profile_location *location;
	int64_t value;
};

struct afdo {
	const struct profile *profile;
	char **names; /* of functions, as a linker sees them; NULL: they cannot stand in the format. Owned */
	vec_of(struct sampled_location) sampled;
	int64_t nr_all, nr_placed; /* values */
	struct text_out out;
};

/* Names ------------------------------------------------------------------------------------------ */

/* A part of a function that the compiler split off or copied counts for the function. */
static size_t len_of_whole(const char *name)
{
	static const char *const parts[] = {".llvm.", ".cold", ".part.", ".constprop.", ".isra."};
	size_t len = strlen(name);

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		const char *found = strstr(name, parts[i]);

		if (found && found != name && (size_t)(found - name) < len)
			len = found - name;
	}
	return len;
}

static char *name_of(const struct profile *profile, const struct profile_function *function)
{
	const char *raw = strtab_get(&profile->strings, function->system_name);
	const char *name = *raw ? raw : strtab_get(&profile->strings, function->name);
	size_t len = len_of_whole(name);
	char *copy;

	if (!len || *name == '#')
		return NULL;
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)name[i] <= ' ' || name[i] == ':' || name[i] == 0x7f)
			return NULL;
	copy = xstrdup(name);
	copy[len] = '\0';
	return copy;
}

/* Paths ------------------------------------------------------------------------------------------ */

/* The line at a depth: 0 is the function that was compiled, the last one the innermost that was inlined. */
static const struct profile_line *line_at(const struct profile_location *location, uint32_t depth)
{
	return &location->lines[location->nr_lines - 1 - depth];
}

static const char *name_at(const struct afdo *afdo, const struct sampled_location *sampled,
			   uint32_t depth)
{
	return afdo->names[line_at(sampled->location, depth)->function - 1];
}

static uint16_t offset_at(const struct afdo *afdo, const struct sampled_location *sampled,
			  uint32_t depth)
{
	const struct profile_line *line = line_at(sampled->location, depth);

	return line->line - afdo->profile->functions.at[line->function - 1].start_line;
}

static bool has_path(const struct afdo *afdo, const struct profile_location *location)
{
	if (!location->nr_lines || location->nr_lines > MAX_DEPTH)
		return false;
	for (uint32_t i = 0; i < location->nr_lines; i++) {
		const struct profile_line *line = &location->lines[i];

		if (!line->function || line->line <= 0 || !afdo->names[line->function - 1] ||
		    afdo->profile->functions.at[line->function - 1].start_line <= 0)
			return false;
	}
	return true;
}

static int compare_paths(const void *x, const void *y, void *ctx)
{
	const struct sampled_location *a = x, *b = y;
	const struct afdo *afdo = ctx;

	for (uint32_t depth = 0;; depth++) {
		bool a_ended = depth == a->location->nr_lines;
		bool b_ended = depth == b->location->nr_lines;
		int order;

		if (a_ended || b_ended)
			return b_ended - a_ended;
		order = strcmp(name_at(afdo, a, depth), name_at(afdo, b, depth));
		if (!order)
			order = offset_at(afdo, a, depth) - offset_at(afdo, b, depth);
		if (order)
			return order;
	}
}

/* Output ----------------------------------------------------------------------------------------- */

static int64_t sum_of(const struct sampled_location *from, const struct sampled_location *to)
{
	int64_t sum = 0;

	for (; from < to; from++)
		sum = profile_sum(sum, from->value);
	return sum;
}

/* Of the lines of the function itself. */
static int64_t head_of(const struct sampled_location *from, const struct sampled_location *to)
{
	int64_t head = 0;

	for (; from < to; from++)
		if (from->location->nr_lines == 1 && from->value > head)
			head = from->value;
	return head;
}

/* Where the range ends that has the name, and (is_line) the line, of its first location at this depth. */
static const struct sampled_location *end_of(const struct afdo *afdo,
					     const struct sampled_location *from,
					     const struct sampled_location *to, uint32_t depth,
					     bool is_line)
{
	const struct sampled_location *at = from + 1;

	while (at < to && at->location->nr_lines > depth &&
	       !strcmp(name_at(afdo, at, depth), name_at(afdo, from, depth)) &&
	       (!is_line || offset_at(afdo, at, depth) == offset_at(afdo, from, depth)))
		at++;
	return at;
}

static void put_function(struct afdo *afdo, const struct sampled_location *from,
			 const struct sampled_location *to, uint32_t depth);

/* One line of a function: what was sampled there itself, then what is inlined there. */
static void put_line(struct afdo *afdo, const struct sampled_location *from,
		     const struct sampled_location *to, uint32_t depth)
{
	const struct sampled_location *inlined = from;

	while (inlined < to && inlined->location->nr_lines == depth + 1)
		inlined++;
	if (inlined > from)
		text_out_print(&afdo->out, "%*s%u: %" PRId64 "\n", (int)depth + 1, "",
			       offset_at(afdo, from, depth), sum_of(from, inlined));
	while (inlined < to) {
		const struct sampled_location *end = end_of(afdo, inlined, to, depth + 1, false);

		put_function(afdo, inlined, end, depth + 1);
		inlined = end;
	}
}

/* The recursion ends at MAX_DEPTH. */
static void put_function(struct afdo *afdo, const struct sampled_location *from,
			 const struct sampled_location *to, uint32_t depth)
{
	if (depth)
		text_out_print(&afdo->out, "%*s%u: %s:%" PRId64 "\n", (int)depth, "",
			       offset_at(afdo, from, depth - 1), name_at(afdo, from, depth),
			       sum_of(from, to));
	else
		text_out_print(&afdo->out, "%s:%" PRId64 ":%" PRId64 "\n", name_at(afdo, from, 0),
			       sum_of(from, to), head_of(from, to));
	while (from < to) {
		const struct sampled_location *end = end_of(afdo, from, to, depth, true);

		put_line(afdo, from, end, depth);
		from = end;
	}
}

/* Values ----------------------------------------------------------------------------------------- */

/* What was sampled at each location, as a leaf. -EDOM: a value is negative. */
static int count(struct afdo *afdo, uint32_t type)
{
	const struct profile *profile = afdo->profile;
	int64_t *of_location scoped(freep) =
		xcalloc(profile->locations.nr + 1, sizeof(*of_location));

	vec_for_each(&profile->samples, sample) {
		int64_t value = sample->values[type], *sum;

		if (value < 0)
			return -EDOM;
		sum = &of_location[sample->nr_locations ? sample->locations[0] : 0];
		*sum = profile_sum(*sum, value);
		afdo->nr_all = profile_sum(afdo->nr_all, value);
	}
	for (size_t i = 0; i < profile->locations.nr; i++) {
		struct sampled_location sampled = {&profile->locations.at[i], of_location[i + 1]};

		if (!sampled.value || !has_path(afdo, sampled.location))
			continue;
		vec_push(&afdo->sampled, sampled);
		afdo->nr_placed = profile_sum(afdo->nr_placed, sampled.value);
	}
	return afdo->sampled.nr || !afdo->nr_all ? 0 : -EDOM;
}

static int64_t average(int64_t sum, size_t nr)
{
	int64_t scaled = 0;

	if (__builtin_mul_overflow(sum, SCALE, &scaled))
		scaled = INT64_MAX;
	return scaled / (int64_t)nr ?: 1;
}

static void average_lines(struct afdo *afdo)
{
	struct sampled_location *from = afdo->sampled.at, *to = from + afdo->sampled.nr;

	while (from < to) {
		int64_t sum = 0;
		struct sampled_location *end = from;

		for (; end < to && (end == from || !compare_paths(from, end, afdo)); end++) {
			sum = profile_sum(sum, end->value);
			end->value = 0;
		}
		from->value = average(sum, end - from);
		from = end;
	}
}

static int put_profile(struct afdo *afdo, sink_fn sink, void *ctx)
{
	const struct sampled_location *from = afdo->sampled.at, *to = from + afdo->sampled.nr;

	if (afdo->sampled.nr)
		qsort_r(afdo->sampled.at, afdo->sampled.nr, sizeof(*afdo->sampled.at),
			compare_paths, afdo);
	average_lines(afdo);
	text_out_open(&afdo->out, sink, ctx);
	text_out_print(&afdo->out, "# cprof: %" PRId64 " of %" PRId64 " have source lines\n",
		       afdo->nr_placed, afdo->nr_all);
	while (from < to) {
		const struct sampled_location *end = end_of(afdo, from, to, 0, false);

		put_function(afdo, from, end, 0);
		from = end;
	}
	return text_out_close(&afdo->out);
}

int afdo_encode(const struct profile *profile, uint32_t type, sink_fn sink, void *ctx)
{
	struct afdo afdo = {.profile = profile};
	int err;

	if (profile_is_heap(profile))
		return -EDOM;
	afdo.names = xcalloc(profile->functions.nr + 1, sizeof(char *));
	for (size_t i = 0; i < profile->functions.nr; i++)
		afdo.names[i] = name_of(profile, &profile->functions.at[i]);
	err = count(&afdo, type);
	if (!err)
		err = put_profile(&afdo, sink, ctx);
	for (size_t i = 0; i < profile->functions.nr; i++)
		free(afdo.names[i]);
	free(afdo.names);
	vec_release(&afdo.sampled);
	return err;
}
