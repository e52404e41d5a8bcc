// SPDX-License-Identifier: BSD-2-Clause
/*
 * A DIE is a code and the values of its attributes, without names or lengths; the abbreviation with that code says what
 * they are:
 *
 *	.debug_abbrev	code 5: DW_TAG_variable, no children, DW_AT_name DW_FORM_strp, DW_AT_decl_line DW_FORM_data1, ...
 *	.debug_info	05 | 4a 01 00 00 | 17 | ...
 *
 * Most DIEs are of no interest here and are passed over, so that is what must be fast: neighbouring forms of fixed size
 * become one addition. (DWARF 5, sections 7.5.3 to 7.5.6.)
 */
#include "object/dwarfabbrev.h"

#include <dwarf.h>
#include <stdlib.h>

#include "base/alloc.h"

#define CACHE_MAX_BYTES (8u << 20)
#define TABLE_MAX_NR	(1u << 20) /* abbreviations */
#define TABLE_MAX_ATTRS (4u << 20)

int dwarfabbrev_form_bytes(uint16_t form, struct dwarfshape shape)
{
	switch (form) {
	case DW_FORM_implicit_const:
	case DW_FORM_flag_present:
		return 0;
	case DW_FORM_data1:
	case DW_FORM_ref1:
	case DW_FORM_flag:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return 1;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		return 2;
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		return 3;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
	case DW_FORM_ref_sup4:
		return 4;
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sig8:
	case DW_FORM_ref_sup8:
		return 8;
	case DW_FORM_data16:
		return 16;
	case DW_FORM_addr:
		return shape.addr_bytes;
	case DW_FORM_ref_addr:
		return shape.version < 3 ? shape.addr_bytes : shape.offset_bytes;
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_strp_sup:
	case DW_FORM_sec_offset:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		return shape.offset_bytes;
	}
	return -1;
}

void dwarfabbrev_skip_form(struct dwarfcursor *cursor, uint16_t form, struct dwarfshape shape)
{
	int len_bytes = dwarfabbrev_form_bytes(form, shape);

	if (len_bytes >= 0) {
		dwarfcursor_skip(cursor, (uint64_t)len_bytes);
		return;
	}
	switch (form) {
	case DW_FORM_block1:
		dwarfcursor_skip(cursor, dwarfcursor_u8(cursor));
		return;
	case DW_FORM_block2:
		dwarfcursor_skip(cursor, dwarfcursor_u16(cursor));
		return;
	case DW_FORM_block4:
		dwarfcursor_skip(cursor, dwarfcursor_u32(cursor));
		return;
	case DW_FORM_block:
	case DW_FORM_exprloc:
		dwarfcursor_skip(cursor, dwarfcursor_uleb(cursor));
		return;
	case DW_FORM_string:
		dwarfcursor_string(cursor);
		return;
	case DW_FORM_sdata:
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_str_index:
	case DW_FORM_GNU_addr_index:
		dwarfcursor_uleb(cursor);
		return;
	case DW_FORM_indirect:
		form = (uint16_t)dwarfcursor_uleb(cursor);
		if (form != DW_FORM_indirect && form != DW_FORM_implicit_const) {
			dwarfabbrev_skip_form(cursor, form, shape);
			return;
		}
	}
	dwarfcursor_fail(cursor); /* unknown: all that follows is */
}

void dwarfabbrev_skip(const struct dwarfabbrevs *table, const struct dwarfabbrev *abbrev,
		      struct dwarfcursor *cursor, struct dwarfshape shape)
{
	for (uint32_t i = 0; i < abbrev->nr_skips; i++) {
		const struct dwarfskip *skip = &table->skips.at[abbrev->first_skip + i];

		dwarfcursor_skip(cursor, skip->len_bytes);
		if (skip->form)
			dwarfabbrev_skip_form(cursor, skip->form, shape);
	}
}

static void add_attr(struct dwarfabbrevs *table, struct dwarfabbrev *abbrev, struct dwarfattr attr,
		     struct dwarfshape shape)
{
	int len_bytes = dwarfabbrev_form_bytes(attr.form, shape);
	struct dwarfskip *last;

	vec_push(&table->attrs, attr);
	abbrev->nr_attrs++;
	abbrev->has_sibling |= attr.name == DW_AT_sibling;
	abbrev->has_code |= attr.name == DW_AT_low_pc || attr.name == DW_AT_ranges;
	if (!abbrev->nr_skips || table->skips.at[table->skips.nr - 1].form) {
		vec_push(&table->skips, (struct dwarfskip){0});
		abbrev->nr_skips++;
	}
	last = &table->skips.at[table->skips.nr - 1];
	if (len_bytes < 0)
		last->form = attr.form;
	else
		last->len_bytes += (uint32_t)len_bytes;
}

/* One abbreviation. false: it was the last. */
static bool compile_one(struct dwarfabbrevs *table, struct dwarfcursor *cursor,
			struct dwarfshape shape)
{
	struct dwarfabbrev abbrev = {.code = dwarfcursor_uleb(cursor)};

	if (!abbrev.code || table->abbrevs.nr >= TABLE_MAX_NR || table->attrs.nr >= TABLE_MAX_ATTRS)
		return false;
	abbrev.tag = (uint16_t)dwarfcursor_uleb(cursor);
	abbrev.has_children = dwarfcursor_u8(cursor);
	abbrev.first_attr = (uint32_t)table->attrs.nr;
	abbrev.first_skip = (uint32_t)table->skips.nr;
	while (!cursor->is_bad && table->attrs.nr < TABLE_MAX_ATTRS) {
		struct dwarfattr attr = {.name = (uint16_t)dwarfcursor_uleb(cursor)};

		attr.form = (uint16_t)dwarfcursor_uleb(cursor);
		if (attr.form == DW_FORM_implicit_const)
			attr.constant = (int32_t)dwarfcursor_sleb(cursor);
		if (!attr.name && !attr.form)
			break;
		add_attr(table, &abbrev, attr, shape);
	}
	if (cursor->is_bad)
		return false;
	table->codes_are_dense &= abbrev.code == table->abbrevs.nr + 1;
	vec_push(&table->abbrevs, abbrev);
	return true;
}

static int by_code(const void *a, const void *b)
{
	const struct dwarfabbrev *x = a, *y = b;

	return (x->code > y->code) - (x->code < y->code);
}

static struct dwarfabbrevs *compile(const struct dwarffile *file, uint64_t off,
				    struct dwarfshape shape)
{
	struct dwarfcursor cursor = dwarffile_cursor(file, DWARF_ABBREV, off);
	struct dwarfabbrevs *table = xcalloc(1, sizeof(*table));
	const uint8_t *begin = cursor.at;

	table->codes_are_dense = true;
	while (compile_one(table, &cursor, shape) && !file->work->is_over)
		;
	dwarfwork_spend(file->work, (uint64_t)(cursor.at - begin));
	if (!table->codes_are_dense)
		qsort(table->abbrevs.at, table->abbrevs.nr, sizeof(*table->abbrevs.at), by_code);
	return table;
}

static bool same_key(const void *ctx, uint32_t value, const void *key)
{
	const struct dwarfabbrev_cache *cache = ctx;
	const struct dwarfabbrevs *table = cache->tables.at[value], *wanted = key;

	return table->key == wanted->key && table->file == wanted->file;
}

const struct dwarfabbrevs *dwarfabbrev_get(struct dwarfabbrev_cache *cache,
					   const struct dwarffile *file, uint64_t off,
					   struct dwarfshape shape)
{
	const struct dwarfabbrevs wanted = {.file = file,
					    .key = off << 8 | shape.version << 5 |
						   (shape.addr_bytes & 15) << 1 |
						   (shape.offset_bytes == 8)};
	uint64_t code = hash_combine(hash_combine(0, wanted.key), (uintptr_t)file);
	uint32_t found = hash_find(&cache->index, code, same_key, cache, &wanted);
	struct dwarfabbrevs *table;

	if (found != HASH_NONE)
		return cache->tables.at[found];
	table = compile(file, off, shape);
	table->key = wanted.key;
	table->file = file;
	hash_insert(&cache->index, code, (uint32_t)cache->tables.nr);
	vec_push(&cache->tables, table);
	cache->len_bytes += sizeof(*table) + table->abbrevs.cap * sizeof(*table->abbrevs.at) +
			    table->attrs.cap * sizeof(*table->attrs.at) +
			    table->skips.cap * sizeof(*table->skips.at);
	return table;
}

void dwarfabbrev_release(struct dwarfabbrev_cache *cache)
{
	vec_for_each(&cache->tables, table) {
		vec_release(&(*table)->abbrevs);
		vec_release(&(*table)->attrs);
		vec_release(&(*table)->skips);
		free(*table);
	}
	vec_release(&cache->tables);
	hash_release(&cache->index);
	cache->len_bytes = 0;
}

void dwarfabbrev_trim(struct dwarfabbrev_cache *cache)
{
	if (cache->len_bytes > CACHE_MAX_BYTES)
		dwarfabbrev_release(cache);
}

const struct dwarfabbrev *dwarfabbrev_find(const struct dwarfabbrevs *table, uint64_t code)
{
	size_t nr;

	if (table->codes_are_dense)
		return code && code <= table->abbrevs.nr ? &table->abbrevs.at[code - 1] : NULL;
	nr = vec_partition(&table->abbrevs, abbrev, abbrev->code <= code);
	return nr && table->abbrevs.at[nr - 1].code == code ? &table->abbrevs.at[nr - 1] : NULL;
}
