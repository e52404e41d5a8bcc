// SPDX-License-Identifier: BSD-2-Clause
/* The input is machine code, behind a byte that says of which machine. */
#include "fuzz/require.h"
#include "runtime/jumps.h"

#define ADDR 0x400000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct jumps jumps;
	struct jump jump;

	if (!size)
		return 0;
	require(jumps_init(&jumps, data[0] & 1 ? &arch_arm64 : &arch_x86_64));
	for (size_t at = 1; at < size; at += jump.len_bytes) {
		uint64_t call = jumps_call(&jumps, data + at, size - at, ADDR + at);

		if (!jumps_next(&jumps, data + at, size - at, ADDR + at, &jump))
			break;
		require(jump.len_bytes && jump.len_bytes <= size - at && jump.len_bytes <= 15);
		require(jump.kind <= JUMP_LOADED);
		require(!jumps.is_arm64 || jump.kind != JUMP_CALL || call == jump.target);
	}
	return 0;
}
