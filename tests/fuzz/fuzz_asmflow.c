// SPDX-License-Identifier: BSD-2-Clause
/* The input is x86-64 machine code, as in fuzz/flowcode.h. */
#include "fuzz/flowcode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rows_seen seen = {0};
	struct flowcode flow;

	if (flowcode_read(&flow, data, size))
		flowcode_check(&flow, &seen, asmflow_rows(&flow.code, rows_take, &seen), 1);
	return 0;
}
