// SPDX-License-Identifier: BSD-2-Clause
/*
 * A unit's first DIE has the bases that the indirect forms of all its DIEs count from, its own among them and maybe before
 * the base; so it is read whole before any value is looked up:
 *
 *	DW_FORM_strx	.debug_str_offsets[str_offsets_base + n * offset size]	an offset in .debug_str
 *	DW_FORM_addrx	.debug_addr[addr_base + n * address size]		an address
 *	DW_FORM_rnglistx  .debug_rnglists[rnglists_base + n * offset size]	an offset from that base
 *
 * (DWARF 5, sections 7.5.1, 7.26 to 7.28.) A table of abbreviations is not compiled for one DIE: its abbreviation is
 * looked for in the bytes, and is nearly always the first.
 */
#include "object/dwarfunit.h"

#include <dwarf.h>
#include <errno.h>

#define RANGES_MAX (64u << 10)

struct dwarfvalue dwarfunit_read(const struct dwarfunit *unit, struct dwarfcursor *cursor,
				 const struct dwarfattr *attr)
{
	struct dwarfvalue value = {.form = attr->form};
	int len_bytes;

	if (value.form == DW_FORM_indirect) {
		value.form = (uint16_t)dwarfcursor_uleb(cursor);
		if (value.form == DW_FORM_indirect || value.form == DW_FORM_implicit_const) {
			dwarfcursor_fail(cursor);
			return (struct dwarfvalue){0};
		}
	}
	switch (value.form) {
	case DW_FORM_implicit_const:
		value.number = (uint64_t)(int64_t)attr->constant;
		return value;
	case DW_FORM_flag_present:
		value.number = 1;
		return value;
	case DW_FORM_string:
		value.text = dwarfcursor_string(cursor);
		return value;
	case DW_FORM_sdata:
		value.number = (uint64_t)dwarfcursor_sleb(cursor);
		return value;
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_str_index:
	case DW_FORM_GNU_addr_index:
		value.number = dwarfcursor_uleb(cursor);
		return value;
	}
	len_bytes = dwarfabbrev_form_bytes(value.form, unit->shape);
	if (len_bytes >= 0 && len_bytes <= 8)
		value.number = dwarfcursor_sized(cursor, (unsigned int)len_bytes);
	else
		dwarfabbrev_skip_form(cursor, value.form, unit->shape);
	return value;
}

/* The n-th entry of a table. false: it is not there. */
static bool entry(const struct dwarffile *file, enum dwarfsection section, uint64_t base,
		  uint64_t n, unsigned int entry_bytes, uint64_t *value)
{
	struct dwarfcursor cursor;
	uint64_t off;

	if (__builtin_mul_overflow(n, entry_bytes, &off) || __builtin_add_overflow(off, base, &off))
		return false;
	cursor = dwarffile_cursor(file, section, off);
	*value = dwarfcursor_sized(&cursor, entry_bytes);
	return !cursor.is_bad;
}

const char *dwarfunit_string(const struct dwarfunit *unit, const struct dwarfvalue *value)
{
	uint64_t off;

	switch (value->form) {
	case DW_FORM_string:
		return value->text;
	case DW_FORM_strp:
		return dwarffile_string(unit->file, DWARF_STR, value->number);
	case DW_FORM_line_strp:
		return dwarffile_string(unit->file, DWARF_LINE_STR, value->number);
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_strp_alt:
		return unit->file->alt ? dwarffile_string(unit->file->alt, DWARF_STR, value->number)
				       : NULL;
	case DW_FORM_strx:
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
	case DW_FORM_GNU_str_index:
		return entry(unit->file, DWARF_STR_OFFSETS, unit->str_offsets_base, value->number,
			     unit->shape.offset_bytes, &off)
			       ? dwarffile_string(unit->file, DWARF_STR, off)
			       : NULL;
	}
	return NULL;
}

bool dwarfunit_addr(const struct dwarfunit *unit, const struct dwarfvalue *value, uint64_t *addr)
{
	switch (value->form) {
	case DW_FORM_addr:
		*addr = value->number;
		return true;
	case DW_FORM_addrx:
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4:
	case DW_FORM_GNU_addr_index:
		return entry(unit->addr_file, DWARF_ADDR, unit->addr_base, value->number,
			     unit->shape.addr_bytes, addr);
	}
	return false;
}

bool dwarfunit_reference(const struct dwarfunit *unit, const struct dwarfvalue *value,
			 const struct dwarffile **file, uint64_t *off)
{
	*file = unit->file;
	switch (value->form) {
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
		*off = unit->off + value->number;
		return value->number < unit->end - unit->off;
	case DW_FORM_ref_addr:
		*off = value->number;
		return true;
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
		*file = unit->file->alt;
		*off = value->number;
		return *file != NULL;
	}
	return false;
}

bool dwarfunit_is_code(const struct dwarfunit *unit, uint64_t elf_addr)
{
	uint64_t last = unit->shape.addr_bytes == 4 ? UINT32_MAX : UINT64_MAX;

	return elf_addr > 1 && elf_addr < last - 1;
}

static bool add_range(const struct dwarfunit *unit, uint64_t start, uint64_t limit,
		      dwarfrange_vec *to)
{
	if (dwarfunit_is_code(unit, start) && start < limit)
		vec_push(to, (struct dwarfrange){start, limit});
	return to->nr < RANGES_MAX && dwarfwork_spend(unit->file->work, 1);
}

/* .debug_ranges: pairs relative to a base; a pair that begins with the last address sets it (DWARF 4, 2.17.3). */
static void read_ranges(const struct dwarfunit *unit, uint64_t off, dwarfrange_vec *to)
{
	uint64_t split_base = unit->file->is_split ? unit->ranges_base : 0;
	struct dwarfcursor cursor =
		dwarffile_cursor(unit->addr_file, DWARF_RANGES, split_base + off);
	unsigned int addr_bytes = unit->shape.addr_bytes;
	uint64_t base = unit->low_pc;

	for (;;) {
		uint64_t start = dwarfcursor_sized(&cursor, addr_bytes);
		uint64_t limit = dwarfcursor_sized(&cursor, addr_bytes);

		if (!cursor.is_bad && !start && !limit)
			return;
		if (cursor.is_bad) {
			dwarfwork_note_unread(unit->file->work);
			return;
		}
		if (start == (addr_bytes == 4 ? UINT32_MAX : UINT64_MAX))
			base = limit;
		else if (!add_range(unit, base + start, base + limit, to))
			return;
	}
}

static uint64_t address_at(const struct dwarfunit *unit, struct dwarfcursor *cursor)
{
	uint64_t addr = 0, n = dwarfcursor_uleb(cursor);

	if (!entry(unit->addr_file, DWARF_ADDR, unit->addr_base, n, unit->shape.addr_bytes, &addr))
		dwarfcursor_fail(cursor);
	return addr;
}

/* One entry of .debug_rnglists (DWARF 5, 7.25). false: it was the last. */
static bool read_rnglist_entry(const struct dwarfunit *unit, struct dwarfcursor *cursor,
			       uint64_t *base, struct dwarfrange *range)
{
	*range = (struct dwarfrange){0};
	switch (dwarfcursor_u8(cursor)) {
	case DW_RLE_base_addressx:
		*base = address_at(unit, cursor);
		break;
	case DW_RLE_startx_endx:
		range->start = address_at(unit, cursor);
		range->limit = address_at(unit, cursor);
		break;
	case DW_RLE_startx_length:
		range->start = address_at(unit, cursor);
		range->limit = range->start + dwarfcursor_uleb(cursor);
		break;
	case DW_RLE_offset_pair:
		range->start = *base + dwarfcursor_uleb(cursor);
		range->limit = *base + dwarfcursor_uleb(cursor);
		break;
	case DW_RLE_base_address:
		*base = dwarfcursor_sized(cursor, unit->shape.addr_bytes);
		break;
	case DW_RLE_start_end:
		range->start = dwarfcursor_sized(cursor, unit->shape.addr_bytes);
		range->limit = dwarfcursor_sized(cursor, unit->shape.addr_bytes);
		break;
	case DW_RLE_start_length:
		range->start = dwarfcursor_sized(cursor, unit->shape.addr_bytes);
		range->limit = range->start + dwarfcursor_uleb(cursor);
		break;
	case DW_RLE_end_of_list:
		return false;
	default:
		dwarfcursor_fail(cursor);
	}
	return !cursor->is_bad;
}

static void read_rnglist(const struct dwarfunit *unit, uint64_t off, dwarfrange_vec *to)
{
	struct dwarfcursor cursor = dwarffile_cursor(unit->file, DWARF_RNGLISTS, off);
	uint64_t base = unit->low_pc;
	struct dwarfrange range;

	while (read_rnglist_entry(unit, &cursor, &base, &range) &&
	       add_range(unit, range.start, range.limit, to))
		;
	if (cursor.is_bad)
		dwarfwork_note_unread(unit->file->work);
}

void dwarfunit_ranges(const struct dwarfunit *unit, const struct dwarfvalue *low,
		      const struct dwarfvalue *high, const struct dwarfvalue *ranges,
		      dwarfrange_vec *to)
{
	uint64_t start = 0, limit, off = ranges->number;

	if (ranges->form == DW_FORM_rnglistx) {
		if (entry(unit->file, DWARF_RNGLISTS, unit->rnglists_base, ranges->number,
			  unit->shape.offset_bytes, &off))
			read_rnglist(unit, unit->rnglists_base + off, to);
	} else if (ranges->form) {
		if (unit->shape.version >= 5)
			read_rnglist(unit, off, to);
		else
			read_ranges(unit, off, to);
	} else if (dwarfunit_addr(unit, low, &start) && high->form) {
		if (!dwarfunit_addr(unit, high, &limit))
			limit = start + high->number; /* a length, since DWARF 4 */
		add_range(unit, start, limit, to);
	}
}

/* *type: of the unit, before DWARF 5 DW_UT_compile. */
static bool read_header(struct dwarfunit *unit, struct dwarfcursor *cursor, uint8_t *type)
{
	const uint8_t *begin = cursor->at;
	uint64_t len_bytes = dwarfcursor_length(cursor, &unit->shape.offset_bytes);

	*type = DW_UT_compile;
	if (len_bytes > dwarfcursor_left(cursor))
		return false;
	cursor->end = cursor->at + len_bytes;
	unit->end = unit->off + (uint64_t)(cursor->end - begin);
	unit->shape.version = (uint8_t)dwarfcursor_u16(cursor);
	if (unit->shape.version >= 5) {
		*type = dwarfcursor_u8(cursor);
		unit->shape.addr_bytes = dwarfcursor_u8(cursor);
	}
	unit->abbrev_off = dwarfcursor_sized(cursor, unit->shape.offset_bytes);
	if (unit->shape.version < 5)
		unit->shape.addr_bytes = dwarfcursor_u8(cursor);
	unit->has_dwo_id = *type == DW_UT_skeleton || *type == DW_UT_split_compile;
	if (unit->has_dwo_id)
		unit->dwo_id = dwarfcursor_sized(cursor, 8);
	unit->is_split = *type == DW_UT_skeleton;
	unit->first_die = unit->off + (uint64_t)(cursor->at - begin);
	return !cursor->is_bad && unit->shape.version >= 2 && unit->shape.version <= 5 &&
	       (unit->shape.addr_bytes == 8 || unit->shape.addr_bytes == 4) && *type &&
	       *type <= DW_UT_split_type;
}

/* Units of types are passed over. */
static bool has_code(const struct dwarfunit *unit, uint8_t type)
{
	return type == DW_UT_compile || type == DW_UT_partial ||
	       type == (unit->file->is_split ? DW_UT_split_compile : DW_UT_skeleton);
}

/* Moves to the attributes of the abbreviation with this code. false: there is none. */
static bool find_abbrev(struct dwarfunit *unit, uint64_t code, struct dwarfcursor *abbrev)
{
	*abbrev = dwarffile_cursor(unit->file, DWARF_ABBREV, unit->abbrev_off);
	while (!abbrev->is_bad) {
		const uint8_t *begin = abbrev->at;
		uint64_t found = dwarfcursor_uleb(abbrev), name, form;

		if (!found)
			return false;
		unit->tag = (uint16_t)dwarfcursor_uleb(abbrev);
		dwarfcursor_u8(abbrev);
		if (found == code)
			return !abbrev->is_bad;
		do {
			name = dwarfcursor_uleb(abbrev);
			form = dwarfcursor_uleb(abbrev);
			if (form == DW_FORM_implicit_const)
				dwarfcursor_sleb(abbrev);
		} while ((name || form) && !abbrev->is_bad);
		if (!dwarfwork_spend(unit->file->work, (uint64_t)(abbrev->at - begin)))
			return false;
	}
	return false;
}

static void keep(struct dwarfunit *unit, uint16_t name, const struct dwarfvalue *value)
{
	switch (name) {
	case DW_AT_low_pc:
		unit->low = *value;
		break;
	case DW_AT_high_pc:
		unit->high = *value;
		break;
	case DW_AT_ranges:
		unit->ranges = *value;
		break;
	case DW_AT_stmt_list:
		unit->stmt_list = *value;
		break;
	case DW_AT_comp_dir:
		unit->comp_dir = *value;
		break;
	case DW_AT_str_offsets_base:
		unit->str_offsets_base = value->number;
		break;
	case DW_AT_addr_base:
	case DW_AT_GNU_addr_base:
		unit->addr_base = value->number;
		break;
	case DW_AT_rnglists_base:
		unit->rnglists_base = value->number;
		break;
	case DW_AT_GNU_ranges_base:
		unit->ranges_base = value->number;
		break;
	case DW_AT_GNU_dwo_id:
		unit->dwo_id = value->number;
		unit->has_dwo_id = true;
		break;
	case DW_AT_dwo_name:
	case DW_AT_GNU_dwo_name:
		unit->dwo_name = *value;
		unit->is_split = !unit->file->is_split;
		break;
	}
}

/* A split unit says nothing of its bases: its tables begin behind their headers. */
static void set_split_bases(struct dwarfunit *unit)
{
	unsigned int length_bytes = unit->shape.offset_bytes == 8 ? 12 : 4;

	unit->abbrev_off += unit->file->parts.abbrev;
	unit->str_offsets_base = unit->file->parts.str_offsets;
	unit->rnglists_base = unit->file->parts.rnglists;
	if (unit->shape.version >= 5) {
		unit->str_offsets_base += length_bytes + 4;
		unit->rnglists_base += length_bytes + 8;
	}
}

int dwarfunit_open(const struct dwarffile *file, size_t i, struct dwarfunit *unit)
{
	struct dwarfunit opened = {.file = file, .addr_file = file, .off = file->units.at[i]};
	struct dwarfcursor cursor = dwarffile_cursor(file, DWARF_INFO, opened.off), abbrev;
	uint8_t type;

	if (file->sections[DWARF_CU_INDEX].bytes && file->parts.info != opened.off)
		return -EINVAL;
	if (!read_header(&opened, &cursor, &type)) {
		dwarfwork_note_unread(file->work);
		return -EINVAL;
	}
	if (!has_code(&opened, type))
		return -EINVAL;
	if (file->is_split)
		set_split_bases(&opened);
	if (!find_abbrev(&opened, dwarfcursor_uleb(&cursor), &abbrev)) {
		dwarfwork_note_unread(file->work);
		return -EINVAL;
	}
	while (!abbrev.is_bad && !cursor.is_bad && dwarfwork_spend(file->work, 1)) {
		struct dwarfattr attr = {.name = (uint16_t)dwarfcursor_uleb(&abbrev)};
		struct dwarfvalue value;

		attr.form = (uint16_t)dwarfcursor_uleb(&abbrev);
		if (attr.form == DW_FORM_implicit_const)
			attr.constant = (int32_t)dwarfcursor_sleb(&abbrev);
		if (!attr.name && !attr.form)
			break;
		value = dwarfunit_read(&opened, &cursor, &attr);
		keep(&opened, attr.name, &value);
	}
	if (cursor.is_bad) {
		dwarfwork_note_unread(file->work);
		return -EINVAL;
	}
	dwarfunit_addr(&opened, &opened.low, &opened.low_pc);
	*unit = opened;
	return 0;
}

size_t dwarfunit_at(const struct dwarffile *file, uint64_t off)
{
	size_t nr = vec_partition(&file->units, unit, *unit <= off);

	return nr ? nr - 1 : file->units.nr;
}
