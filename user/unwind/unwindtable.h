/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An unwind table: rows packed in the layout of unwind_abi.h, ready to be copied to where the BPF unwinder reads
 * them, and the look-up in it.
 *
 * One table per executable; addresses are elf_addr, so every process that maps the file shares it.
 */
#ifndef CPROF_UNWIND_UNWINDTABLE_H
#define CPROF_UNWIND_UNWINDTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stream.h"
#include "unwind/codestarts.h"
#include "unwind/unwindarch.h"
#include "unwind_abi.h"

/*
 * Code beyond this many pages (2 GB: the reach of a call instruction) after the first row has no
 * rows. This also limits the memory that a section of a few bytes can request to 4 MB.
 */
#define UNWIND_TABLE_MAX_PAGES (1u << 19)

/* What call frame information (unwind/ehframe.h) a table was made of. */
struct ehframe_stats {
	size_t nr_fdes; /* used */
	size_t nr_cies;
	size_t nr_skipped; /* FDEs: of length 0, outside the code asked for, or a double */
	size_t nr_damaged; /* FDEs that could not be read, or not to their end */
	bool truncated;	   /* the section's chain of lengths leads out of it: its rest is unread */
};

struct unwind_table {
	const struct unwind_arch *arch;
	uint64_t
		start; /* elf_addr of the first page, a multiple of what pages of this machine have */
	uint32_t nr_pages; /* 0: no code has unwind information */
	uint32_t nr_rows;
	uint32_t nr_extended;
	uint32_t *pages; /* nr_pages + 1 indices into rows, the last of them nr_rows */
	uint32_t *rows;
	struct unwind_rule *extended; /* the first UNWIND_NR_FIXED_EXTENDED are always there */
	bool tracks_extra;	      /* rules say where rbx is */
	bool truncated;		      /* rows beyond UNWIND_TABLE_MAX_PAGES were dropped */
	uint32_t
		nr_extended_dropped; /* rows that are UNWIND_UNSUPPORTED because extended is full */
	struct ehframe_stats stats;
	struct codestarts starts; /* in code that is not described */
};

/* Frees a table with its arrays, each of them malloc()ed. NULL is fine. */
void unwind_table_free(struct unwind_table *table);

/* The rule for elf_addr. false: outside the table, which means the same as UNWIND_GAP. */
bool unwind_table_find(const struct unwind_table *table, uint64_t elf_addr,
		       struct unwind_rule *rule);

/* The table in the form that is copied to BPF; borrowed from it. */
struct table_image unwind_table_image(const struct unwind_table *table);

/* The bytes of pages, rows and extended rules together. */
size_t unwind_table_bytes(const struct unwind_table *table);

#endif
