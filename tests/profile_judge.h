/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What must be true of every profile that a reader gives out, and whether two are the same to the last
 * field. Both return NULL, or a few words on what is wrong. For unit tests and fuzz targets.
 */
#ifndef CPROF_TESTS_PROFILE_JUDGE_H
#define CPROF_TESTS_PROFILE_JUDGE_H

#include <stdbool.h>
#include <string.h>

#include "profile/model.h"

static inline const char *judge_mapping(const struct profile *p, const struct profile_mapping *m)
{
	size_t nr = strtab_nr(&p->strings);

	return m->path < nr && m->build_id < nr ? NULL : "a mapping's string";
}

static inline const char *judge_function(const struct profile *p, const struct profile_function *f)
{
	size_t nr = strtab_nr(&p->strings);

	return f->name < nr && f->system_name < nr && f->path < nr ? NULL : "a function's string";
}

static inline const char *judge_location(const struct profile *p, const struct profile_location *l)
{
	if (l->mapping > p->mappings.nr)
		return "a location's mapping";
	for (uint32_t i = 0; i < l->nr_lines; i++)
		if (!l->lines[i].function || l->lines[i].function > p->functions.nr)
			return "a line's function";
	return NULL;
}

static inline const char *judge_sample(const struct profile *p, const struct profile_sample *s)
{
	size_t nr = strtab_nr(&p->strings);
	volatile int64_t seen = 0;

	for (uint32_t i = 0; i < s->nr_locations; i++)
		if (!s->locations[i] || s->locations[i] > p->locations.nr)
			return "a sample's location";
	for (uint32_t i = 0; i < s->nr_labels; i++) {
		const struct profile_label *label = &s->labels[i];

		if (label->key >= nr || label->str >= nr || label->num_unit >= nr)
			return "a label's string";
		if (label->str && (label->num || label->num_unit))
			return "a label with a string and a number";
	}
	for (uint32_t i = 0; i < p->nr_types; i++)
		seen += (uint64_t)s->values[i] & 1; /* is it memory of ours? */
	return NULL;
}

static inline const char *judge_header(const struct profile *p)
{
	size_t nr = strtab_nr(&p->strings);

	if (p->nr_types > PROFILE_MAX_TYPES || (p->samples.nr && !p->nr_types))
		return "number of sample types";
	for (uint32_t i = 0; i < p->nr_types; i++)
		if (p->types[i].type >= nr || p->types[i].unit >= nr)
			return "a sample type's string";
	if (p->period_type.type >= nr || p->period_type.unit >= nr || p->default_type >= nr ||
	    p->drop_frames >= nr || p->keep_frames >= nr || p->doc_url >= nr)
		return "a string of the profile";
	for (size_t i = 0; i < p->comments.nr; i++)
		if (p->comments.at[i] >= nr)
			return "a comment's string";
	return *strtab_get(&p->strings, 0) ? "string 0" : NULL;
}

static inline const char *profile_judge(const struct profile *p)
{
	const char *why = judge_header(p);

	for (size_t i = 0; !why && i < p->mappings.nr; i++)
		why = judge_mapping(p, &p->mappings.at[i]);
	for (size_t i = 0; !why && i < p->functions.nr; i++)
		why = judge_function(p, &p->functions.at[i]);
	for (size_t i = 0; !why && i < p->locations.nr; i++)
		why = judge_location(p, &p->locations.at[i]);
	for (size_t i = 0; !why && i < p->samples.nr; i++)
		why = judge_sample(p, &p->samples.at[i]);
	return why;
}

struct judge_pair {
	const struct profile *a, *b;
};

static inline bool same_text(const struct judge_pair *pair, uint32_t a, uint32_t b)
{
	return !strcmp(strtab_get(&pair->a->strings, a), strtab_get(&pair->b->strings, b));
}

static inline bool same_locations(const struct profile_location *a,
				  const struct profile_location *b)
{
	if (a->mapping != b->mapping || a->address != b->address || a->is_folded != b->is_folded ||
	    a->nr_lines != b->nr_lines)
		return false;
	for (uint32_t i = 0; i < a->nr_lines; i++)
		if (a->lines[i].function != b->lines[i].function ||
		    a->lines[i].line != b->lines[i].line ||
		    a->lines[i].column != b->lines[i].column)
			return false;
	return true;
}

static inline bool same_samples(const struct judge_pair *pair, const struct profile_sample *a,
				const struct profile_sample *b)
{
	if (a->nr_locations != b->nr_locations || a->nr_labels != b->nr_labels)
		return false;
	for (uint32_t i = 0; i < a->nr_locations; i++)
		if (a->locations[i] != b->locations[i])
			return false;
	for (uint32_t i = 0; i < pair->a->nr_types; i++)
		if (a->values[i] != b->values[i])
			return false;
	for (uint32_t i = 0; i < a->nr_labels; i++)
		if (!same_text(pair, a->labels[i].key, b->labels[i].key) ||
		    !same_text(pair, a->labels[i].str, b->labels[i].str) ||
		    !same_text(pair, a->labels[i].num_unit, b->labels[i].num_unit) ||
		    a->labels[i].num != b->labels[i].num)
			return false;
	return true;
}

static inline bool same_types(const struct judge_pair *pair, struct value_type a,
			      struct value_type b)
{
	return same_text(pair, a.type, b.type) && same_text(pair, a.unit, b.unit);
}

static inline const char *same_tables(const struct judge_pair *pair)
{
	const struct profile *a = pair->a, *b = pair->b;

	for (size_t i = 0; i < a->mappings.nr; i++) {
		const struct profile_mapping *m = &a->mappings.at[i], *n = &b->mappings.at[i];

		if (m->start != n->start || m->limit != n->limit || m->file_off != n->file_off ||
		    m->has_functions != n->has_functions || m->has_filenames != n->has_filenames ||
		    m->has_line_numbers != n->has_line_numbers ||
		    m->has_inline_frames != n->has_inline_frames ||
		    !same_text(pair, m->path, n->path) ||
		    !same_text(pair, m->build_id, n->build_id))
			return "a mapping";
	}
	for (size_t i = 0; i < a->functions.nr; i++) {
		const struct profile_function *f = &a->functions.at[i], *g = &b->functions.at[i];

		if (!same_text(pair, f->name, g->name) || !same_text(pair, f->path, g->path) ||
		    !same_text(pair, f->system_name, g->system_name) ||
		    f->start_line != g->start_line)
			return "a function";
	}
	for (size_t i = 0; i < a->locations.nr; i++)
		if (!same_locations(&a->locations.at[i], &b->locations.at[i]))
			return "a location";
	for (size_t i = 0; i < a->samples.nr; i++)
		if (!same_samples(pair, &a->samples.at[i], &b->samples.at[i]))
			return "a sample";
	return NULL;
}

static inline const char *profile_differs(const struct profile *a, const struct profile *b)
{
	struct judge_pair pair = {a, b};

	if (a->mappings.nr != b->mappings.nr || a->functions.nr != b->functions.nr ||
	    a->locations.nr != b->locations.nr || a->samples.nr != b->samples.nr ||
	    a->nr_types != b->nr_types || a->comments.nr != b->comments.nr)
		return "a number of items";
	for (uint32_t i = 0; i < a->nr_types; i++)
		if (!same_types(&pair, a->types[i], b->types[i]))
			return "a sample type";
	for (size_t i = 0; i < a->comments.nr; i++)
		if (!same_text(&pair, a->comments.at[i], b->comments.at[i]))
			return "a comment";
	if (!same_types(&pair, a->period_type, b->period_type) || a->period != b->period ||
	    a->time_ns != b->time_ns || a->duration_ns != b->duration_ns ||
	    !same_text(&pair, a->default_type, b->default_type) ||
	    !same_text(&pair, a->drop_frames, b->drop_frames) ||
	    !same_text(&pair, a->keep_frames, b->keep_frames) ||
	    !same_text(&pair, a->doc_url, b->doc_url))
		return "the header";
	return same_tables(&pair);
}

#endif
