// SPDX-License-Identifier: BSD-2-Clause
/* The input is machine code, behind a byte whose lowest bit says whether more code follows. */
#include "fuzz/rows.h"
#include "unwind/asmflow.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct asmflow_code code = {.addr = ROWS_ADDR};
	struct rows_seen seen = {0};
	size_t len_bytes;

	if (size < 2)
		return 0;
	code.goes_on = data[0] & 1;
	code.bytes = data + 1;
	code.len_bytes = size - 1;
	len_bytes = asmflow_rows(&code, rows_take, &seen);
	rows_check(&seen, len_bytes);
	if (len_bytes > code.len_bytes || len_bytes < code.len_bytes / 2 ||
	    (!code.goes_on && len_bytes < code.len_bytes))
		abort();
	return 0;
}
