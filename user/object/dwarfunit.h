/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One unit of .debug_info: its header, what its first DIE says, and the values of attributes.
 */
#ifndef CPROF_OBJECT_DWARFUNIT_H
#define CPROF_OBJECT_DWARFUNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "object/dwarfabbrev.h"
#include "object/dwarffile.h"

/* An attribute's value as it stands there. Zeroed: there is none. */
struct dwarfvalue {
	uint16_t form;
	uint64_t number;  /* a constant, an offset, an index */
	const char *text; /* of DW_FORM_string */
};

struct dwarfunit {
	const struct dwarffile *file;
	uint64_t off, end, first_die; /* offsets in .debug_info */
	uint64_t abbrev_off;
	struct dwarfshape shape;
	bool is_split;	 /* its DIEs are in another file, in the unit with the same dwo_id */
	uint16_t tag;	 /* DW_TAG_... of the first DIE */
	uint64_t dwo_id; /* of both of them */
	bool has_dwo_id;
	const struct dwarffile *addr_file; /* that has .debug_addr and .debug_ranges for it */
	uint64_t str_offsets_base, addr_base, rnglists_base;
	uint64_t ranges_base; /* of the split unit in .debug_ranges, before DWARF 5 */
	uint64_t low_pc;
	struct dwarfvalue comp_dir, stmt_list, low, high, ranges, dwo_name;
};

struct dwarfrange {
	uint64_t start, limit; /* elf_addr */
};
typedef vec_of(struct dwarfrange) dwarfrange_vec;

/* An address that is asked for, and what was found. Arrays of these are sorted by address. */
struct dwarfquery {
	uint64_t elf_addr;
	size_t i; /* the caller's */
	uint32_t unit;
	uint32_t file, line;
	uint32_t function;	 /* the innermost; DWARF_NO_FUNCTION */
	uint64_t line_width;	 /* of the line sequence that holds it; 0: it has no line */
	uint64_t function_width; /* of the range of the outermost function */
};
#define DWARF_NO_FUNCTION UINT32_MAX

/*
 * Opens the i-th unit of file. -EINVAL: its version or its address size is none that is known, it is damaged, or it is a
 * type unit.
 */
int dwarfunit_open(const struct dwarffile *file, size_t i, struct dwarfunit *unit);
/* The index of the unit of file that contains the offset; file->units.nr: none does. */
size_t dwarfunit_at(const struct dwarffile *file, uint64_t off);

/* Whether code can be there: linkers mark what they dropped with 0, 1 and the last addresses. */
bool dwarfunit_is_code(const struct dwarfunit *unit, uint64_t elf_addr);

/* Reads the value of an attribute. */
struct dwarfvalue dwarfunit_read(const struct dwarfunit *unit, struct dwarfcursor *cursor,
				 const struct dwarfattr *attr);
/* A string. NULL: it is none, or is not there. */
const char *dwarfunit_string(const struct dwarfunit *unit, const struct dwarfvalue *value);
/* false: it is no address, or is not there. */
bool dwarfunit_addr(const struct dwarfunit *unit, const struct dwarfvalue *value, uint64_t *addr);
/* The DIE that a value refers to: its file and its offset there. false: it refers to none. */
bool dwarfunit_reference(const struct dwarfunit *unit, const struct dwarfvalue *value,
			 const struct dwarffile **file, uint64_t *off);
/*
 * Appends the ranges of a DIE that has these three, in the file's order and without empty ones and those of code that the
 * linker dropped. No more than 64 Ki.
 */
void dwarfunit_ranges(const struct dwarfunit *unit, const struct dwarfvalue *low,
		      const struct dwarfvalue *high, const struct dwarfvalue *ranges,
		      dwarfrange_vec *to);

#endif
