/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls of one run with their values: for each pair of adjacent caller and callee, the sum of the values of
 * the stacks that have it. A stack counts once, even if it has the pair twice (recursion).
 */
#ifndef CPROF_GATE_CALLSET_H
#define CPROF_GATE_CALLSET_H

#include <stddef.h>
#include <stdint.h>

#include "base/pairtable.h"
#include "base/vec.h"

struct run_call {
	uint32_t caller, callee; /* positions in runs.functions */
	double value;
};

struct run_calls {
	struct run_call *at;
	size_t nr, cap;
};

struct callset {
	struct pairtable pairs; /* private */
	struct run_calls calls;
	vec_of(size_t) seen; /* by call: the last sample that counted, plus 1 */
};

/* Adds a call of a stack; sample: its position. */
void callset_add(struct callset *set, uint32_t caller, uint32_t callee, size_t sample,
		 double value);
/* Releases everything except the calls, which the caller releases. */
void callset_release(struct callset *set);

#endif
