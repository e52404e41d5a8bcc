/* SPDX-License-Identifier: BSD-2-Clause */
/* JIT code for an analyser of stackflow.h's kind, of an input: a byte for the kind, one for the frame's size, two for an entry; then code. */
#ifndef CPROF_FUZZ_JITCODE_H
#define CPROF_FUZZ_JITCODE_H

#include "fuzz/rows.h"
#include "unwind/stackflow.h"

/* Gives the code to rows(), and aborts unless what it emits are rows. */
static inline int jitcode_follow(void (*rows)(const struct stackflow_code *code, cfa_row_fn emit,
					      void *ctx),
				 const uint8_t *data, size_t size)
{
	struct stackflow_entry entries[2] = {{0, false}};
	struct stackflow_code code = {.addr = ROWS_ADDR, .entries = entries, .nr_entries = 2};
	struct rows_seen seen = {0};

	if (size < 4)
		return 0;
	code.kind = data[0] % 3;
	code.frame_bytes = data[1] * 8;
	entries[1] =
		(struct stackflow_entry){(size_t)(data[2] | (data[3] & 0x7f) << 8), data[3] & 0x80};
	code.bytes = data + 4;
	code.len_bytes = size - 4;
	rows(&code, rows_take, &seen);
	rows_check(&seen, code.len_bytes);
	return 0;
}

#endif
