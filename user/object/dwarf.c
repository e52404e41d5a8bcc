// SPDX-License-Identifier: BSD-2-Clause
/*
 * From addresses to frames, each step once for all addresses of a unit:
 *
 *	index	which unit an address is in: from the first DIE of each unit (its ranges), and where that has none, from
 *		its line program; .debug_aranges is not used, clang and rustc write none
 *	sort	the addresses by unit
 *	lines	one pass over a touched unit's line program (object/dwarflines.h)
 *	dies	one pass over its DIEs (object/dwarfdies.h)
 *	names	of the functions that were found, by DIE (object/dwarfnames.h)
 *
 * libdw has functions for all of this, and they are what a profiler must not use: each address costs a walk from the
 * unit's first DIE and a table of all its lines, units are found by .debug_aranges alone, and it opens the paths that stand
 * in a file.
 */
#include "object/dwarf.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "object/altlink.h"
#include "object/dwarfdies.h"
#include "object/dwarflines.h"
#include "object/dwarfnames.h"
#include "object/dwarfsplit.h"
#include "object/spans.h"

#define RANGES_MAX  (4u << 20) /* of all units */
#define WORK_MIN    (64u << 20)
#define WORK_FACTOR 16 /* times the sections' size: no honest file needs half as much */

struct unit_range {
	struct dwarfrange range;
	uint32_t unit;
};

struct dwarf_source {
	struct dwarffile *file, *alt, *split;
	struct dwarfwork work;
	struct dwarfabbrev_cache abbrevs;
	struct dwarfnames *names;
	struct spans units; /* owners are positions in file->units */
	bool has_index;
	vec_of(struct unit_range)
		indexed; /* of the units before next_unit, while there is no index */
	size_t next_unit;
	struct altlink altlink;	      /* path "": it refers to no alternate file */
	const struct dwarffile *dies; /* of the unit that is being read: where its DIEs are */
	dwarffunction_vec functions;  /* in it */
	size_t nr_split;
};

/* What one dwarf_source_frames() is asked. */
struct question {
	bool inlines;
	source_frames_fn fn;
	void *ctx;
};

struct dwarf_source *dwarf_source_new(const struct elf_file *file, struct workbudget *budget)
{
	struct dwarf_source *source;

	if (!file || !elf_file_is_linked(file))
		return NULL;
	source = xcalloc(1, sizeof(*source));
	source->work.budget = budget;
	source->file = dwarffile_new(file, false, &source->work);
	if (!source->file) {
		free(source);
		return NULL;
	}
	source->names = dwarfnames_new(&source->abbrevs);
	altlink_read(source->file->elf, &source->altlink);
	return source;
}

void dwarf_source_free(struct dwarf_source *source)
{
	if (!source)
		return;
	dwarfnames_free(source->names);
	dwarfabbrev_release(&source->abbrevs);
	spans_release(&source->units);
	vec_release(&source->functions);
	vec_release(&source->indexed);
	dwarffile_free(source->file);
	dwarffile_free(source->alt);
	dwarffile_free(source->split);
	free(source);
}

int dwarf_source_set_alt(struct dwarf_source *source, const struct elf_file *alt,
			 struct workbudget *budget)
{
	struct dwarffile *opened;

	if (!*source->altlink.path || !altlink_is(alt, source->altlink.id))
		return -ESTALE;
	source->work.budget = budget;
	opened = dwarffile_new(alt, false, &source->work);
	if (!opened)
		return -ENOENT;
	dwarffile_free(source->alt);
	source->file->alt = source->alt = opened;
	return 0;
}

/* Index ------------------------------------------------------------------------------------------ */

/* By start; of equal ones the shortest last, so that it counts. */
static int by_start(const void *a, const void *b)
{
	const struct unit_range *x = a, *y = b;

	if (x->range.start != y->range.start)
		return x->range.start < y->range.start ? -1 : 1;
	if (x->range.limit != y->range.limit)
		return x->range.limit > y->range.limit ? -1 : 1;
	return (x->unit > y->unit) - (x->unit < y->unit);
}

static void ranges_of(const struct dwarffile *file, size_t i, dwarfrange_vec *ranges)
{
	struct dwarflines *lines;
	struct dwarfunit unit;

	ranges->nr = 0;
	if (dwarfunit_open(file, i, &unit) || unit.tag == DW_TAG_partial_unit)
		return;
	dwarfunit_ranges(&unit, &unit.low, &unit.high, &unit.ranges, ranges);
	if (ranges->nr)
		return;
	lines = dwarflines_new(&unit);
	if (lines)
		dwarflines_ranges(lines, ranges);
	dwarflines_free(lines);
}

/* Is the time over, rather than the work that a file may take? */
static bool is_late(const struct dwarf_source *source)
{
	return source->work.is_over && source->work.budget &&
	       workbudget_is_over(source->work.budget);
}

/* What was read when time was up may be half of it. */
static void forget_names(struct dwarf_source *source)
{
	dwarfnames_free(source->names);
	dwarfabbrev_release(&source->abbrevs);
	source->names = dwarfnames_new(&source->abbrevs);
}

/* The units' ranges, as far as there is time: the next call goes on behind the last unit that was read whole. */
static void read_ranges(struct dwarf_source *source)
{
	dwarfrange_vec ranges = {0};

	for (; source->next_unit < source->file->units.nr && source->indexed.nr < RANGES_MAX;
	     source->next_unit++) {
		ranges_of(source->file, source->next_unit, &ranges);
		if (source->work.is_over)
			break;
		vec_for_each(&ranges, range)
			vec_push(&source->indexed,
				 (struct unit_range){*range, (uint32_t)source->next_unit});
	}
	vec_release(&ranges);
}

/* There is none yet, if there is no time for all units. */
static void build_index(struct dwarf_source *source)
{
	read_ranges(source);
	if (is_late(source))
		return;
	if (source->indexed.nr)
		qsort(source->indexed.at, source->indexed.nr, sizeof(*source->indexed.at),
		      by_start);
	vec_for_each(&source->indexed, each)
		spans_add(&source->units, each->range.start, each->range.limit, each->unit);
	spans_finish(&source->units);
	vec_release(&source->indexed);
	source->has_index = true;
}

/* Frames ----------------------------------------------------------------------------------------- */

/* Adds a frame; of more than SOURCE_MAX_FRAMES the last one replaces the one before. */
static size_t add_frame(struct source_frame *frames, size_t nr, struct source_frame frame)
{
	size_t i = nr < SOURCE_MAX_FRAMES ? nr : SOURCE_MAX_FRAMES - 1;

	frames[i] = frame;
	return i + 1;
}

/* An inlined call without a name is left out: its caller is at the line of the call all the same. */
static size_t chain(struct dwarf_source *source, struct dwarflines *lines,
		    const struct dwarfquery *query, struct source_frame *frames)
{
	struct source_frame frame = {.file = ""};
	uint32_t at = query->function;
	size_t nr = 0;

	if (query->line_width) {
		frame.file = dwarflines_path(lines, query->file);
		frame.line = query->line;
	}
	while (at != DWARF_NO_FUNCTION) {
		const struct dwarffunction *function = &source->functions.at[at];
		struct dwarfname name = dwarfnames_get(source->names, source->dies, function->die);

		frame.name = name.text;
		frame.start_line = name.line;
		at = function->caller;
		if (name.text || at == DWARF_NO_FUNCTION)
			nr = add_frame(frames, nr, frame);
		frame = (struct source_frame){.file = dwarflines_path(lines, function->call_file),
					      .line = function->call_line};
	}
	if (!nr && query->line_width)
		nr = add_frame(frames, nr, frame);
	return nr;
}

static void answer(struct dwarf_source *source, struct dwarflines *lines,
		   const struct dwarfquery *query, const struct question *question)
{
	struct source_frame frames[SOURCE_MAX_FRAMES];
	size_t nr = chain(source, lines, query, frames);

	if (nr && question->inlines)
		question->fn(question->ctx, query->i, frames, nr);
	else if (nr)
		question->fn(question->ctx, query->i, &frames[nr - 1], 1);
}

/* All addresses of one unit. */
static void answer_unit(struct dwarf_source *source, struct dwarfquery *queries, size_t nr,
			const struct question *question)
{
	struct dwarfunit unit, split;
	struct dwarflines *lines;

	if (dwarfunit_open(source->file, queries->unit, &unit))
		return;
	lines = dwarflines_new(&unit);
	if (lines)
		dwarflines_find(lines, queries, nr);
	dwarfabbrev_trim(&source->abbrevs);
	if (unit.is_split && source->split && !dwarfsplit_open(source->split, &unit, &split))
		unit = split;
	source->nr_split += unit.is_split ? nr : 0;
	source->dies = unit.file;
	dwarfdies_find(&unit, &source->abbrevs, queries, nr, &source->functions);
	for (size_t i = 0; i < nr; i++)
		answer(source, lines, &queries[i], question);
	dwarflines_free(lines);
}

static int by_unit(const void *a, const void *b)
{
	const struct dwarfquery *x = a, *y = b;

	if (x->unit != y->unit)
		return x->unit < y->unit ? -1 : 1;
	if (x->elf_addr != y->elf_addr)
		return x->elf_addr < y->elf_addr ? -1 : 1;
	return (x->i > y->i) - (x->i < y->i);
}

static uint64_t bytes_of_all(const struct dwarf_source *source)
{
	return dwarffile_bytes(source->file) + dwarffile_bytes(source->alt) +
	       dwarffile_bytes(source->split);
}

uint64_t dwarf_source_memory(const struct dwarf_source *source)
{
	return dwarffile_memory(source->file) + dwarffile_memory(source->alt) +
	       dwarffile_memory(source->split);
}

uint64_t dwarf_source_views(const struct dwarf_source *source)
{
	return bytes_of_all(source) - dwarf_source_memory(source);
}

/* What a call may spend. */
static void begin_work(struct dwarf_source *source, struct workbudget *budget)
{
	source->work = (struct dwarfwork){.left = WORK_MIN + WORK_FACTOR * bytes_of_all(source),
					  .budget = budget};
}

typedef vec_of(struct dwarfquery) dwarfquery_vec;

/* The addresses that are in a unit, sorted by unit. */
static void sort_queries(struct dwarf_source *source, const uint64_t *elf_addrs, size_t nr,
			 dwarfquery_vec *queries)
{
	if (!source->has_index)
		build_index(source);
	if (!source->has_index)
		return;
	for (size_t i = 0; i < nr; i++) {
		uint32_t unit = spans_find(&source->units, elf_addrs[i]);

		if (unit != SPANS_NONE)
			vec_push(queries, (struct dwarfquery){.elf_addr = elf_addrs[i],
							      .i = i,
							      .unit = unit,
							      .function = DWARF_NO_FUNCTION});
	}
	if (queries->nr)
		qsort(queries->at, queries->nr, sizeof(*queries->at), by_unit);
}

/* Returns the index after the last query that is in the same unit as the first. */
static size_t end_of_unit(const dwarfquery_vec *queries, size_t first)
{
	size_t end = first + 1;

	while (end < queries->nr && queries->at[end].unit == queries->at[first].unit)
		end++;
	return end;
}

void dwarf_source_frames(struct dwarf_source *source, const uint64_t *elf_addrs, size_t nr,
			 bool inlines, struct workbudget *budget, source_frames_fn fn, void *ctx)
{
	const struct question question = {inlines, fn, ctx};
	dwarfquery_vec queries = {0};

	begin_work(source, budget);
	source->nr_split = 0;
	sort_queries(source, elf_addrs, nr, &queries);
	for (size_t first = 0, end; first < queries.nr && !source->work.is_over; first = end) {
		end = end_of_unit(&queries, first);
		answer_unit(source, &queries.at[first], end - first, &question);
	}
	if (is_late(source))
		forget_names(source);
	vec_release(&queries);
}

/* Split units ------------------------------------------------------------------------------------ */

/* What is known by the place of a split unit's DIEs is forgotten: the next file may come to lie where this one was. */
int dwarf_source_set_split(struct dwarf_source *source, const struct elf_file *split,
			   struct workbudget *budget)
{
	struct dwarffile *opened;

	source->work.budget = budget;
	opened = dwarffile_new(split, true, &source->work);
	if (!opened)
		return -ENOENT;
	forget_names(source);
	dwarffile_free(source->split);
	source->split = opened;
	return 0;
}

bool dwarf_source_has_unread(const struct dwarf_source *source)
{
	return source->work.is_unread;
}

bool dwarf_is_there(const struct elf_file *elf)
{
	static const char *const names[] = {".debug_info", ".zdebug_info"};
	struct elf_section section;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (elf_file_section_named(elf, names[i], &section) && section.len_bytes)
			return true;
	return false;
}

size_t dwarf_source_nr_split(const struct dwarf_source *source)
{
	return source->nr_split;
}

void dwarf_source_splits(struct dwarf_source *source, const uint64_t *elf_addrs, size_t nr,
			 struct workbudget *budget, dwarf_split_fn fn, void *ctx)
{
	dwarfquery_vec queries = {0};

	begin_work(source, budget);
	sort_queries(source, elf_addrs, nr, &queries);
	for (size_t first = 0, end; first < queries.nr && !source->work.is_over; first = end) {
		const char *name, *dir;
		struct dwarfunit unit;

		end = end_of_unit(&queries, first);
		if (dwarfunit_open(source->file, queries.at[first].unit, &unit) || !unit.is_split ||
		    !unit.has_dwo_id ||
		    (source->split && dwarfsplit_has(source->split, unit.dwo_id)))
			continue;
		name = dwarfunit_string(&unit, &unit.dwo_name);
		dir = dwarfunit_string(&unit, &unit.comp_dir);
		for (size_t i = first; i < end; i++)
			fn(ctx, queries.at[i].i, unit.dwo_id, name ? name : "", dir ? dir : "");
	}
	vec_release(&queries);
}
