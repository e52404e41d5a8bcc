/* SPDX-License-Identifier: BSD-2-Clause */
/* What must hold of unwind rows, whatever bytes they were made from. */
#ifndef CPROF_TESTS_FUZZ_ROWS_H
#define CPROF_TESTS_FUZZ_ROWS_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "unwind/cfa.h"

#define ROWS_ADDR 0x10000ull /* of the code */

struct rows_seen {
	uint64_t last; /* address */
	size_t nr;
};

/* A cfa_row_fn for a struct rows_seen: aborts if an address does not ascend, or a rule has values that there are not. */
static inline void rows_take(void *ctx, const struct unwind_row *row)
{
	struct rows_seen *seen = ctx;

	if (seen->nr ? row->elf_addr <= seen->last : row->elf_addr != ROWS_ADDR)
		abort();
	if (row->rule.kind >= UNWIND_NR_KINDS || row->rule.cfa_reg >= UNWIND_NR_REGS ||
	    unwind_fp_how(&row->rule) >= UNWIND_NR_HOWS ||
	    unwind_ra_how(&row->rule) >= UNWIND_NR_HOWS)
		abort();
	seen->last = row->elf_addr;
	seen->nr++;
}

/* Aborts unless there are rows, and none beyond len_bytes of code. */
static inline void rows_check(const struct rows_seen *seen, size_t len_bytes)
{
	if (!seen->nr || (seen->nr > 1 && seen->last >= ROWS_ADDR + len_bytes))
		abort();
}

#endif
