/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packs unwind rows into a table. The caller produces the rows: this needs no ELF file.
 */
#ifndef CPROF_UNWIND_TABLEPACK_H
#define CPROF_UNWIND_TABLEPACK_H

#include <stdint.h>

#include "unwind/cfa.h"
#include "unwind/unwindtable.h"

/*
 * Emits rows at ascending addresses, the last of them a gap. A gap of less than UNWIND_PADDING_BYTES is taken for padding and
 * may get the rule of the next row, unless it is CFA_GAP_IS_CODE.
 */
typedef void (*unwind_produce_fn)(void *ctx, cfa_row_fn emit, void *emit_ctx);

/* Makes a table of the rows that produce emits, for code that is in no file, for example. */
struct unwind_table *unwind_table_of(const struct unwind_arch *arch, unwind_produce_fn produce,
				     void *ctx);
/* The same for a program that begins at entry (0: not known). */
struct unwind_table *unwind_table_pack(const struct unwind_arch *arch, unwind_produce_fn produce,
				       void *ctx, uint64_t entry);
/* One rule for all of [start, limit): UNWIND_FP for a Go program, say. Never empty. */
struct unwind_table *unwind_table_uniform(const struct unwind_arch *arch, uint64_t start,
					  uint64_t limit, enum unwind_kind kind);

#endif
