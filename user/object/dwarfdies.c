// SPDX-License-Identifier: BSD-2-Clause
/*
 * DIEs are a tree, written depth first; a function's inlined calls are below it, and theirs below those:
 *
 *	compile_unit
 *	  namespace
 *	    subprogram f		[0x1000, 0x1080)
 *	      lexical_block
 *	        inlined_subroutine g	[0x1010, 0x1030)	called from f
 *	          inlined_subroutine h	[0x1018, 0x101c)	called from g
 *	  class_type ...
 *
 * One pass in the order of the file, with a stack of what is around, finds the innermost for each address: a DIE comes
 * after those around it and takes from them the addresses in its ranges.
 *
 * Most of the tree is types, and functions that no address is in. So the first pass leaves out what is below them: it jumps
 * where a DIE says where its sibling is (gcc), and elsewhere (clang) reads on without looking at attributes. Functions may
 * stand there all the same (methods of a class that is local to a function, Rust's), so where an address has found no
 * function, a second pass leaves out nothing.
 */
#include "object/dwarfdies.h"

#include <dwarf.h>

#define DEPTH_MAX 256

/* A DIE around the one that is being read. */
struct scope {
	uint64_t die;
	uint32_t call_file, call_line;
	uint32_t function; /* its position; DWARF_NO_FUNCTION: not appended yet */
	uint16_t tag;	   /* 0: it is no function */
};

struct walk {
	const struct dwarfunit *unit;
	const struct dwarfabbrevs *table;
	struct dwarfcursor cursor;
	struct dwarfquery *queries;
	size_t nr;
	dwarffunction_vec *functions;
	dwarfrange_vec ranges; /* of one DIE */
	bool prunes;
	unsigned int depth,
		passed_over; /* passed_over: below this depth nothing is looked at; 0: all is */
	struct scope scopes[DEPTH_MAX];
};

/* Attributes of one DIE. */
struct about {
	struct dwarfvalue low, high, ranges, sibling;
	uint32_t call_file, call_line;
};

static struct about read_about(struct walk *walk, const struct dwarfabbrev *abbrev)
{
	struct about about = {0};

	for (uint32_t i = 0; i < abbrev->nr_attrs; i++) {
		const struct dwarfattr *attr = &walk->table->attrs.at[abbrev->first_attr + i];
		struct dwarfvalue value;

		switch (attr->name) {
		case DW_AT_low_pc:
			about.low = dwarfunit_read(walk->unit, &walk->cursor, attr);
			continue;
		case DW_AT_high_pc:
			about.high = dwarfunit_read(walk->unit, &walk->cursor, attr);
			continue;
		case DW_AT_ranges:
			about.ranges = dwarfunit_read(walk->unit, &walk->cursor, attr);
			continue;
		case DW_AT_sibling:
			about.sibling = dwarfunit_read(walk->unit, &walk->cursor, attr);
			continue;
		case DW_AT_call_file:
			value = dwarfunit_read(walk->unit, &walk->cursor, attr);
			about.call_file = (uint32_t)value.number;
			continue;
		case DW_AT_call_line:
			value = dwarfunit_read(walk->unit, &walk->cursor, attr);
			about.call_line = (uint32_t)value.number;
			continue;
		}
		if (attr->form != DW_FORM_implicit_const)
			dwarfabbrev_skip_form(&walk->cursor, attr->form, walk->unit->shape);
	}
	return about;
}

/* The position of the function at the walk's depth; it, and what is around it, is appended if it is not there yet. */
static uint32_t append_function(struct walk *walk)
{
	uint32_t around = walk->scopes[walk->depth].function;

	if (around != DWARF_NO_FUNCTION)
		return around;
	for (unsigned int i = 0; i <= walk->depth; i++) {
		struct scope *scope = &walk->scopes[i];
		struct dwarffunction function = {scope->die, DWARF_NO_FUNCTION, 0, scope->call_file,
						 scope->call_line};

		if (!scope->tag)
			continue;
		if (scope->function == DWARF_NO_FUNCTION) {
			scope->function = function.outermost = (uint32_t)walk->functions->nr;
			if (scope->tag == DW_TAG_inlined_subroutine &&
			    around != DWARF_NO_FUNCTION) {
				function.caller = around;
				function.outermost = walk->functions->at[around].outermost;
			}
			vec_push(walk->functions, function);
		}
		around = scope->function;
	}
	return around;
}

static size_t first_from(const struct walk *walk, uint64_t addr)
{
	size_t low = 0, high = walk->nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (walk->queries[mid].elf_addr < addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void assign(struct walk *walk, struct dwarfquery *query, uint64_t width, uint16_t tag)
{
	uint32_t had = query->function, is = append_function(walk);

	if (tag == DW_TAG_subprogram) {
		if (had != DWARF_NO_FUNCTION && query->function_width < width)
			return;
		query->function_width = width;
	} else if (had != DWARF_NO_FUNCTION &&
		   walk->functions->at[had].outermost != walk->functions->at[is].outermost) {
		return; /* of another function, which overlaps */
	}
	query->function = is;
}

/* Gives the function at the walk's depth the addresses in its ranges. false: there are none. */
static bool assign_ranges(struct walk *walk, uint16_t tag)
{
	size_t nr = 0;

	vec_for_each(&walk->ranges, range) {
		size_t first = first_from(walk, range->start), i = first;

		for (; i < walk->nr && walk->queries[i].elf_addr < range->limit; i++)
			assign(walk, &walk->queries[i], range->limit - range->start, tag);
		nr += i - first;
	}
	if (!dwarfwork_spend(walk->unit->file->work, nr))
		dwarfcursor_fail(&walk->cursor);
	return nr;
}

/* Below these there may be functions, wherever they are from. */
static bool holds_functions(uint16_t tag)
{
	switch (tag) {
	case DW_TAG_compile_unit:
	case DW_TAG_partial_unit:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_inlined_subroutine:
		return true;
	}
	return false;
}

/* Leaves out what is below the DIE. true: the cursor is behind it already. */
static bool pass_over(struct walk *walk, const struct dwarfvalue *sibling)
{
	const uint8_t *info = walk->unit->file->sections[DWARF_INFO].bytes;
	const struct dwarffile *file;
	uint64_t off;

	if (sibling->form && dwarfunit_reference(walk->unit, sibling, &file, &off) &&
	    file == walk->unit->file && off > (uint64_t)(walk->cursor.at - info) &&
	    off < walk->unit->end) {
		walk->cursor.at = info + off;
		return true;
	}
	walk->passed_over = walk->depth;
	return false;
}

/* A DIE that is looked at. true: its children are behind the cursor. */
static bool visit(struct walk *walk, const struct dwarfabbrev *abbrev, uint64_t die)
{
	bool is_function = abbrev->tag == DW_TAG_inlined_subroutine ||
			   (abbrev->tag == DW_TAG_subprogram && abbrev->has_code);
	bool prunes = walk->prunes && abbrev->has_children && !holds_functions(abbrev->tag);
	bool is_sought = false;
	struct about about = {0};

	if (is_function || (prunes && abbrev->has_sibling))
		about = read_about(walk, abbrev);
	else
		dwarfabbrev_skip(walk->table, abbrev, &walk->cursor, walk->unit->shape);
	walk->scopes[walk->depth] = (struct scope){.die = die,
						   .call_file = about.call_file,
						   .call_line = about.call_line,
						   .function = DWARF_NO_FUNCTION,
						   .tag = is_function ? abbrev->tag : 0};
	if (is_function) {
		walk->ranges.nr = 0;
		dwarfunit_ranges(walk->unit, &about.low, &about.high, &about.ranges, &walk->ranges);
		is_sought = assign_ranges(walk, abbrev->tag);
	}
	return prunes && !is_sought && pass_over(walk, &about.sibling);
}

/* false: it was the last of its siblings, or cannot be read. */
static bool read_die(struct walk *walk)
{
	const uint8_t *info = walk->unit->file->sections[DWARF_INFO].bytes;
	uint64_t die = (uint64_t)(walk->cursor.at - info);
	uint64_t code = dwarfcursor_uleb(&walk->cursor);
	const struct dwarfabbrev *abbrev = dwarfabbrev_find(walk->table, code);

	if (!abbrev) {
		if (!code && !walk->depth)
			return false; /* padding, behind the unit's own */
		if (code)
			dwarfcursor_fail(&walk->cursor);
		else if (--walk->depth == walk->passed_over)
			walk->passed_over = 0;
		return !walk->cursor.is_bad;
	}
	if (walk->passed_over)
		dwarfabbrev_skip(walk->table, abbrev, &walk->cursor, walk->unit->shape);
	else if (visit(walk, abbrev, die))
		return true;
	if (abbrev->has_children)
		walk->depth++;
	return walk->depth && walk->depth < DEPTH_MAX;
}

static void pass(struct walk *walk, bool prunes)
{
	const struct dwarfunit *unit = walk->unit;

	walk->prunes = prunes;
	walk->depth = walk->passed_over = 0;
	walk->cursor = dwarffile_cursor(unit->file, DWARF_INFO, unit->first_die);
	if (!walk->cursor.is_bad)
		walk->cursor.end = walk->cursor.at + (unit->end - unit->first_die);
	while (walk->cursor.at < walk->cursor.end && read_die(walk))
		;
	if (walk->cursor.is_bad)
		dwarfwork_note_unread(unit->file->work);
}

static bool may_pass(const struct dwarfunit *unit)
{
	return dwarfwork_spend(unit->file->work, unit->end - unit->first_die);
}

static bool all_are_found(const struct walk *walk)
{
	for (size_t i = 0; i < walk->nr; i++)
		if (walk->queries[i].function == DWARF_NO_FUNCTION)
			return false;
	return true;
}

static void forget(struct walk *walk)
{
	for (size_t i = 0; i < walk->nr; i++)
		walk->queries[i].function = DWARF_NO_FUNCTION;
	walk->functions->nr = 0;
}

void dwarfdies_find(const struct dwarfunit *unit, struct dwarfabbrev_cache *cache,
		    struct dwarfquery *queries, size_t nr, dwarffunction_vec *functions)
{
	struct walk walk = {.unit = unit, .queries = queries, .nr = nr, .functions = functions};

	walk.table = dwarfabbrev_get(cache, unit->file, unit->abbrev_off, unit->shape);
	forget(&walk);
	if (may_pass(unit))
		pass(&walk, true);
	/* What was found stays, if there is no time for more. */
	if (!all_are_found(&walk) && may_pass(unit)) {
		forget(&walk);
		pass(&walk, false);
	}
	vec_release(&walk.ranges);
}
