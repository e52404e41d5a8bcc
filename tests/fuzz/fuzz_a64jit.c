// SPDX-License-Identifier: BSD-2-Clause
/* The input is arm64 machine code, as in fuzz/jitcode.h. */
#include "fuzz/jitcode.h"
#include "unwind/a64jit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return jitcode_follow(a64jit_rows, data, size);
}
