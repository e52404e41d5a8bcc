/* SPDX-License-Identifier: BSD-2-Clause */
/* Builds unwind tables from call frame information, or from rows that something else produces. */
#ifndef CPROF_UNWIND_TABLEBUILD_H
#define CPROF_UNWIND_TABLEBUILD_H

#include <stdint.h>

#include "unwind/ehframe.h"
#include "unwind/unwindtable.h"

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

#endif
