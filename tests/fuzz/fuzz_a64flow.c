// SPDX-License-Identifier: BSD-2-Clause
/* The input is arm64 machine code, as in fuzz/flowcode.h. */
#include "fuzz/flowcode.h"
#include "object/a64.h"
#include "unwind/a64flow.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rows_seen seen = {0};
	struct flowcode flow;

	if (!flowcode_read(&flow, data, size))
		return 0;
	a64flow_plt_rows(&flow.code, rows_take, &(struct rows_seen){0});
	flowcode_check(&flow, &seen, a64flow_rows(&flow.code, rows_take, &seen), A64_BYTES);
	return 0;
}
