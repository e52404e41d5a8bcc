// SPDX-License-Identifier: BSD-2-Clause
/* The input is arm64 machine code, behind a byte for the kind, one for the frame's size, two for an entry. */
#include "fuzz/rows.h"
#include "unwind/a64jit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
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
	a64jit_rows(&code, rows_take, &seen);
	rows_check(&seen, code.len_bytes);
	return 0;
}
