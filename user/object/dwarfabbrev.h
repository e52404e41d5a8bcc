/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Abbreviation tables (.debug_abbrev), compiled: what the attributes of each kind of DIE are, and how to skip them.
 *
 * A table is decoded once and kept for the units that share it, until the tables take too much memory.
 */
#ifndef CPROF_OBJECT_DWARFABBREV_H
#define CPROF_OBJECT_DWARFABBREV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "object/dwarffile.h"

/* What the sizes of forms depend on. */
struct dwarfshape {
	uint8_t version, addr_bytes, offset_bytes;
};

struct dwarfattr {
	uint16_t name, form; /* DW_AT_..., DW_FORM_... */
	int32_t constant;    /* of DW_FORM_implicit_const */
};

/* Some bytes, and then a form whose size is in the file; form 0: none. */
struct dwarfskip {
	uint32_t len_bytes;
	uint16_t form;
};

struct dwarfabbrev {
	uint64_t code;
	uint16_t tag;
	bool has_children, has_sibling, has_code; /* has_code: DW_AT_low_pc or DW_AT_ranges */
	uint32_t first_attr, nr_attrs;
	uint32_t first_skip, nr_skips;
};

struct dwarfabbrevs {
	const struct dwarffile *file; /* this and the next are private */
	uint64_t key;
	bool codes_are_dense;		    /* abbrevs.at[i].code is i + 1 */
	vec_of(struct dwarfabbrev) abbrevs; /* sorted by code */
	vec_of(struct dwarfattr) attrs;
	vec_of(struct dwarfskip) skips;
};

/* A zeroed cache is empty. */
struct dwarfabbrev_cache {
	vec_of(struct dwarfabbrevs *) tables;
	struct hash index;
	size_t len_bytes;
};

/*
 * The table at off, borrowed until dwarfabbrev_trim(). Empty where it is damaged.
 */
const struct dwarfabbrevs *dwarfabbrev_get(struct dwarfabbrev_cache *cache,
					   const struct dwarffile *file, uint64_t off,
					   struct dwarfshape shape);
/* Frees all tables if they take more than 8 MiB. Call where none is in use. */
void dwarfabbrev_trim(struct dwarfabbrev_cache *cache);
void dwarfabbrev_release(struct dwarfabbrev_cache *cache);

/* The abbreviation of a code, NULL if there is none. */
const struct dwarfabbrev *dwarfabbrev_find(const struct dwarfabbrevs *table, uint64_t code);
/* How many bytes a form takes; -1: that is in the file. */
int dwarfabbrev_form_bytes(uint16_t form, struct dwarfshape shape);
/* Skips a value of a form. */
void dwarfabbrev_skip_form(struct dwarfcursor *cursor, uint16_t form, struct dwarfshape shape);
/* Skips all attributes of a DIE. */
void dwarfabbrev_skip(const struct dwarfabbrevs *table, const struct dwarfabbrev *abbrev,
		      struct dwarfcursor *cursor, struct dwarfshape shape);

#endif
