// SPDX-License-Identifier: BSD-2-Clause
/* The input is words: each decodes to fields within their limits, and to a class that agrees with them. */
#include "fuzz/require.h"
#include "object/a64.h"

#include <stddef.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct a64 *in)
{
	bool is_memory = in->class >= A64_LOAD && in->class <= A64_LOAD_LITERAL;

	require(in->class <= A64_HINT && in->rd <= A64_NONE && in->rd2 <= A64_NONE &&
		in->rn <= A64_NONE && in->rm <= A64_NONE);
	require(in->mode <= A64_POST && in->extend <= A64_SXTX && in->shift < 64 && in->cond < 16);
	require(!a64_is_relative_branch(in) || in->imm % A64_BYTES == 0);
	require(!is_memory ||
		(in->size_bytes && in->size_bytes <= 16 && in->rd != A64_NONE &&
		 in->rd != A64_SP) ||
		in->is_vector);
	require(in->class != A64_ADD_IMM || (in->imm <= 4095 << 12 && in->imm >= -(4095 << 12)));
	require(in->class != A64_UNKNOWN || in->written == UINT32_MAX);
	require(in->mode == A64_OFFSET || in->written >> in->rn & 1 || in->class == A64_UNKNOWN ||
		in->class == A64_PREFETCH);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (size_t i = 0; i + A64_BYTES <= size; i += A64_BYTES) {
		struct a64 in = a64_decode(a64_word(data + i));

		check(&in);
	}
	return 0;
}
