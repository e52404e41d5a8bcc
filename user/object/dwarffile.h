/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One file's DWARF: its sections, decompressed, and where its units begin; and how much work it may cause.
 */
#ifndef CPROF_OBJECT_DWARFFILE_H
#define CPROF_OBJECT_DWARFFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "base/workbudget.h"
#include "object/dwarfcursor.h"
#include "object/elf.h"

enum dwarfsection {
	DWARF_INFO,
	DWARF_ABBREV,
	DWARF_LINE,
	DWARF_STR,
	DWARF_LINE_STR,
	DWARF_ADDR,
	DWARF_RNGLISTS,
	DWARF_RANGES,
	DWARF_STR_OFFSETS,
	DWARF_CU_INDEX, /* of a package of split units */
	DWARF_NR_SECTIONS
};

/* All sections of a file, those in memory and those that are looked at where they are. */
#define DWARF_MAX_BYTES	     (384u << 20) /* with its alternate file less than a worker may have */
#define DWARF_MAX_VIEW_BYTES (1536u << 20)
#define DWARF_MAX_UNITS	     (1u << 20)

/* What a source may spend, in bytes read and DIEs visited, and the budget in time of the call that runs. */
struct dwarfwork {
	uint64_t left, until_look;
	struct workbudget *budget;
	bool is_over;
	bool is_unread; /* something that was wanted is damaged, or of a kind that is not known */
};

/* Notes that something could not be read, unless that is because all is spent. */
void dwarfwork_note_unread(struct dwarfwork *work);

/* Spends nr. false: stop, all is spent. */
bool dwarfwork_spend(struct dwarfwork *work, uint64_t nr);

struct dwarffile {
	struct elf_file *elf;
	struct {
		const uint8_t *bytes; /* NULL: absent */
		size_t len_bytes;
		void *unpacked; /* the same bytes, if they were decompressed, to be freed */
		bool is_view;	/* for fileview_close() */
	} sections[DWARF_NR_SECTIONS];
	vec_of(uint64_t) units; /* where they begin in .debug_info, ascending */
	bool is_split; /* its sections are those of split units: .debug_info.dwo and so on */
	struct {       /* of a package: where the parts of the unit that is open begin */
		uint64_t info, abbrev, str_offsets, rnglists;
	} parts;
	struct dwarffile *alt;	/* borrowed; NULL: none */
	struct dwarfwork *work; /* borrowed */
};

/*
 * Reads the sections through an elf_file of its own; is_split: those of split units. NULL: no .debug_info, or its sections are
 * larger than may be, or work's budget was over before they were decompressed.
 */
struct dwarffile *dwarffile_new(const struct elf_file *elf, bool is_split, struct dwarfwork *work);
void dwarffile_free(struct dwarffile *file); /* NULL is fine */
/* The size of its sections, and how much of it this process has in memory, in bytes. 0 for NULL. */
uint64_t dwarffile_bytes(const struct dwarffile *file);
uint64_t dwarffile_memory(const struct dwarffile *file);

/* Reads on from off in a section, to its end; bad from the beginning if there is no such offset. */
struct dwarfcursor dwarffile_cursor(const struct dwarffile *file, enum dwarfsection section,
				    uint64_t off);
/* The string at off, borrowed. NULL: none, or it is longer than 64 KiB. */
const char *dwarffile_string(const struct dwarffile *file, enum dwarfsection section, uint64_t off);

#endif
