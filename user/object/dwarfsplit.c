// SPDX-License-Identifier: BSD-2-Clause
/*
 * A split unit has no addresses of its own, so that nothing in it has to be relocated by the linker:
 *
 *	linked file				.dwo
 *	.debug_info  skeleton: dwo_id 7		.debug_info.dwo  unit: dwo_id 7
 *			addr_base, low_pc		 inlined_subroutine  low_pc addrx(3)
 *	.debug_addr  [addr_base + 3 * 8]  <-------------------------------------+
 *	.debug_line				.debug_str_offsets.dwo, .debug_str.dwo, .debug_rnglists.dwo
 *
 * (DWARF 5, 7.3.2; before it the same as a GNU extension, whose ranges are in the linked file.) The files of the lines
 * that calls are at are those of the linked file's line table.
 *
 * A package has many units' sections one after the other, and .debug_cu_index says which part of each is whose (7.3.5.3):
 *
 *	version, number of columns, of units, of slots
 *	slots: dwo_id		slots: row, from 1; 0: free
 *	columns: which section
 *	rows: an offset for each column		rows: a size for each column
 *
 * The table of slots is open-addressed; as the number of slots is nobody's promise, a look-up ends after as many.
 */
#include "object/dwarfsplit.h"

#include <errno.h>

#define MAX_COLUMNS 16
/* Sections, as .debug_cu_index calls them. */
#define SECT_INFO	 1
#define SECT_ABBREV	 3
#define SECT_STR_OFFSETS 6
#define SECT_RNGLISTS	 8 /* since DWARF 5 */

/* The parts of .debug_cu_index, by where they begin. */
struct index {
	uint32_t version, nr_columns, nr_units, nr_slots;
	uint64_t rows_off, columns_off, offsets_off;
};

static uint64_t number_at(const struct dwarffile *split, uint64_t off, unsigned int len_bytes)
{
	struct dwarfcursor cursor = dwarffile_cursor(split, DWARF_CU_INDEX, off);

	return dwarfcursor_sized(&cursor, len_bytes);
}

static bool read_index(const struct dwarffile *split, struct index *index)
{
	struct dwarfcursor cursor = dwarffile_cursor(split, DWARF_CU_INDEX, 0);
	size_t all_bytes = dwarfcursor_left(&cursor);

	index->version = dwarfcursor_u32(&cursor) &
			 0xffff; /* since DWARF 5: 2 bytes, and padding */
	index->nr_columns = dwarfcursor_u32(&cursor);
	index->nr_units = dwarfcursor_u32(&cursor);
	index->nr_slots = dwarfcursor_u32(&cursor);
	index->rows_off = 16 + 8ull * index->nr_slots;
	index->columns_off = index->rows_off + 4ull * index->nr_slots;
	index->offsets_off = index->columns_off + 4ull * index->nr_columns;
	return !cursor.is_bad && (index->version == 2 || index->version == 5) &&
	       index->nr_columns <= MAX_COLUMNS && index->nr_slots &&
	       !(index->nr_slots & (index->nr_slots - 1)) && index->columns_off <= all_bytes;
}

/* The row of a unit, from 0 on. false: it is not there. */
static bool find_row(const struct dwarffile *split, const struct index *index, uint64_t dwo_id,
		     uint32_t *row)
{
	uint32_t mask = index->nr_slots - 1, slot = (uint32_t)dwo_id & mask,
		 step = ((uint32_t)(dwo_id >> 32) & mask) | 1;

	for (uint32_t i = 0; i < index->nr_slots && dwarfwork_spend(split->work, 1); i++) {
		*row = (uint32_t)number_at(split, index->rows_off + 4ull * slot, 4) - 1;
		if (*row >= index->nr_units)
			return false;
		if (number_at(split, 16 + 8ull * slot, 8) == dwo_id)
			return true;
		slot = (slot + step) & mask;
	}
	return false;
}

/* Sets the parts of the package's unit. */
static int open_parts(struct dwarffile *split, uint64_t dwo_id)
{
	struct index index;
	uint32_t row;

	if (!read_index(split, &index))
		return -EINVAL;
	if (!find_row(split, &index, dwo_id, &row))
		return -ENOENT;
	split->parts.abbrev = split->parts.str_offsets = split->parts.rnglists = 0;
	split->parts.info = UINT64_MAX;
	for (uint32_t i = 0; i < index.nr_columns; i++) {
		uint64_t which = number_at(split, index.columns_off + 4ull * i, 4);
		uint64_t off = number_at(
			split, index.offsets_off + 4ull * ((uint64_t)row * index.nr_columns + i),
			4);

		if (which == SECT_INFO)
			split->parts.info = off;
		else if (which == SECT_ABBREV)
			split->parts.abbrev = off;
		else if (which == SECT_STR_OFFSETS)
			split->parts.str_offsets = off;
		else if (which == SECT_RNGLISTS && index.version == 5)
			split->parts.rnglists = off;
	}
	return 0;
}

/* The unit with this id in a .dwo file, opened. */
static int open_in_dwo(const struct dwarffile *split, uint64_t dwo_id, struct dwarfunit *unit)
{
	for (size_t i = 0; i < split->units.nr && !split->work->is_over; i++)
		if (!dwarfunit_open(split, i, unit) && unit->has_dwo_id && unit->dwo_id == dwo_id)
			return 0;
	return -ENOENT;
}

static int open_in_package(struct dwarffile *split, uint64_t dwo_id, struct dwarfunit *unit)
{
	int err = open_parts(split, dwo_id);
	size_t i;

	if (err)
		return err;
	i = dwarfunit_at(split, split->parts.info);
	if (i == split->units.nr)
		return -EINVAL;
	err = dwarfunit_open(split, i, unit);
	if (!err && (!unit->has_dwo_id || unit->dwo_id != dwo_id))
		err = -EINVAL;
	return err;
}

static int open_unit(struct dwarffile *split, uint64_t dwo_id, struct dwarfunit *unit)
{
	return split->sections[DWARF_CU_INDEX].bytes ? open_in_package(split, dwo_id, unit)
						     : open_in_dwo(split, dwo_id, unit);
}

bool dwarfsplit_has(struct dwarffile *split, uint64_t dwo_id)
{
	struct dwarfunit unit;

	return !open_unit(split, dwo_id, &unit);
}

int dwarfsplit_open(struct dwarffile *split, const struct dwarfunit *skeleton,
		    struct dwarfunit *unit)
{
	int err = skeleton->has_dwo_id ? open_unit(split, skeleton->dwo_id, unit) : -ENOENT;

	if (err)
		return err;
	if (unit->shape.addr_bytes != skeleton->shape.addr_bytes)
		return -EINVAL;
	unit->addr_file = skeleton->file;
	unit->addr_base = skeleton->addr_base;
	unit->ranges_base = skeleton->ranges_base;
	unit->low_pc = skeleton->low_pc;
	return 0;
}
