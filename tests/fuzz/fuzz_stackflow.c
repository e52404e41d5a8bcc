// SPDX-License-Identifier: BSD-2-Clause
/* The input is machine code, behind a byte for the kind, one for the frame's size, two for an entry. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/stackflow.h"

#define ADDR 0x10000ull

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
	uint64_t last;
	size_t nr;
	size_t len_bytes;
};

static void take(void *ctx, const struct unwind_row *row)
{
	struct seen *seen = ctx;

	if (seen->nr ? row->elf_addr <= seen->last : row->elf_addr != ADDR)
		abort();
	if (row->elf_addr >= ADDR + seen->len_bytes && seen->nr)
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
	struct stackflow_entry entries[2] = {{0, false}};
	struct stackflow_code code = {.addr = ADDR, .entries = entries, .nr_entries = 2};
	struct seen seen = {0};

	if (size < 4)
		return 0;
	code.kind = data[0] % 3;
	code.frame_bytes = data[1] * 8;
	entries[1] =
		(struct stackflow_entry){(size_t)(data[2] | (data[3] & 0x7f) << 8), data[3] & 0x80};
	code.bytes = data + 4;
	code.len_bytes = seen.len_bytes = size - 4;
	stackflow_rows(&code, take, &seen);
	if (!seen.nr)
		abort();
	return 0;
}
