/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Comparisons as arithmetic. The verifier follows a branch both ways through all that comes after it, each time that it
 * comes by: of five in a row there are 32 ways, and in a loop they are followed in each round.
 */
#ifndef CPROF_BRANCHLESS_BPF_H
#define CPROF_BRANCHLESS_BPF_H

#include "prelude.bpf.h"
#include "unwind_abi.h"

/* 1: value is not 0. */
static __always_inline u64 is_nonzero(u64 value)
{
	u64 minus = -value, result;

	UNWIND_OPAQUE(minus);
	result = (value | minus) >> 63;
	UNWIND_OPAQUE(result);
	return result;
}

/* 1: a is at least b, both signed and less than 2^63 apart. */
static __always_inline u64 is_at_least(u64 a, u64 b)
{
	u64 is_below = a - b;

	UNWIND_OPAQUE(is_below);
	is_below >>= 63;
	UNWIND_OPAQUE(is_below);
	return 1 - is_below;
}

#endif
