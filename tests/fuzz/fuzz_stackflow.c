// SPDX-License-Identifier: BSD-2-Clause
/* The input is x86-64 machine code, as in fuzz/jitcode.h. */
#include "fuzz/jitcode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return jitcode_follow(stackflow_rows, data, size);
}
