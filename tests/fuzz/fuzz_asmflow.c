// SPDX-License-Identifier: BSD-2-Clause
/* The input is machine code, behind a byte whose lowest bit says whether more code follows. */
#include <stdint.h>
#include <stdlib.h>

#include "unwind/asmflow.h"

#define ADDR 0x10000ull

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
	uint64_t first, last;
	size_t nr;
};

static void take(void *ctx, const struct unwind_row *row)
{
	struct seen *seen = ctx;

	if (seen->nr ? row->elf_addr <= seen->last : row->elf_addr != ADDR)
		abort();
	if (row->rule.kind >= UNWIND_NR_KINDS || row->rule.cfa_reg >= UNWIND_NR_REGS ||
	    unwind_fp_how(&row->rule) >= UNWIND_NR_HOWS ||
	    unwind_ra_how(&row->rule) >= UNWIND_NR_HOWS)
		abort();
	seen->last = row->elf_addr;
	seen->nr++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct asmflow_code code = {.addr = ADDR};
	struct seen seen = {0};
	size_t len_bytes;

	if (size < 2)
		return 0;
	code.goes_on = data[0] & 1;
	code.bytes = data + 1;
	code.len_bytes = size - 1;
	len_bytes = asmflow_rows(&code, take, &seen);
	if (!seen.nr || seen.last >= ADDR + len_bytes || len_bytes > code.len_bytes ||
	    len_bytes < code.len_bytes / 2 || (!code.goes_on && len_bytes < code.len_bytes))
		abort();
	return 0;
}
