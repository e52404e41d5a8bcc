/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An unwind table: rows packed into the shape that unwind_abi.h draws, ready to be copied to where
 * the BPF unwinder reads it, and the look-up in it.
 *
 * One table per executable; addresses are elf_addr, so every process that maps the file shares it.
 */
#ifndef CPROF_UNWIND_UNWINDTABLE_H
#define CPROF_UNWIND_UNWINDTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/ehframe.h"
#include "stream.h"
#include "unwind_abi.h"

/*
 * Code beyond this many pages (2 GB: the reach of a call instruction) after the first row has no
 * rows. It also bounds the memory that a section of a few bytes can ask for to 4 MB.
 */
#define UNWIND_TABLE_MAX_PAGES (1u << 19)

struct unwind_table {
	uint64_t start;	   /* elf_addr of the first page, a multiple of UNWIND_PAGE_BYTES */
	uint32_t nr_pages; /* 0: no code with unwind information at all */
	uint32_t nr_rows;
	uint32_t nr_extended;
	uint32_t *pages; /* nr_pages + 1 indices into rows, the last of them nr_rows */
	uint32_t *rows;
	struct unwind_rule *extended; /* the first UNWIND_NR_FIXED_EXTENDED are always there */
	bool tracks_bx;		      /* rules say where rbx is */
	bool truncated;		      /* rows beyond UNWIND_TABLE_MAX_PAGES were dropped */
	uint32_t
		nr_extended_dropped; /* rows that are UNWIND_UNSUPPORTED because extended rules is full */
	struct ehframe_stats stats;
};

/* A new table from a section of call frame information, for unwind_table_free(). -EFBIG. */
int unwind_table_new(const struct ehframe_input *input, struct unwind_table **table);
/* The same from what the ELF file has. -ENOENT: nothing. The table borrows nothing from file. */
int unwind_table_from_elf(const struct elf_file *file, struct unwind_table **table);
/* One rule for all of [start, limit): UNWIND_FP for a Go program, say. Never empty. */
struct unwind_table *unwind_table_uniform(uint64_t start, uint64_t limit, enum unwind_kind kind);
/*
 * From whatever produce emits: rows at ascending addresses, the last of them a gap. For code that is
 * in no file.
 */
typedef void (*unwind_produce_fn)(void *ctx, cfa_row_fn emit, void *emit_ctx);
struct unwind_table *unwind_table_of(unwind_produce_fn produce, void *ctx);
void unwind_table_free(struct unwind_table *table); /* NULL is fine */

/* The rule for elf_addr. false: outside the table, which is as good as UNWIND_GAP. */
bool unwind_table_find(const struct unwind_table *table, uint64_t elf_addr,
		       struct unwind_rule *rule);

/* The table as it crosses to where BPF reads it; borrowed from it. */
struct table_image unwind_table_image(const struct unwind_table *table);

/* What pages, rows and extended rules take together. */
size_t unwind_table_bytes(const struct unwind_table *table);

#endif
