// SPDX-License-Identifier: BSD-2-Clause
/*
 * Calls are found by a hash table of (caller, callee). Each remembers the sample that counted for
 * it last, so that a recursion counts once without a set for each stack.
 */
#include "gate/callset.h"

#include <stdbool.h>

static bool same_call(const void *ctx, uint32_t value, const void *key)
{
	const struct callset *set = ctx;
	const struct run_call *call = &set->calls.at[value], *wanted = key;

	return call->caller == wanted->caller && call->callee == wanted->callee;
}

static uint32_t find_or_add(struct callset *set, uint32_t caller, uint32_t callee)
{
	struct run_call call = {caller, callee, 0};
	uint64_t code = hash_combine(hash_u64(caller), callee);
	uint32_t at = hash_find(&set->index, code, same_call, set, &call);

	if (at != HASH_NONE)
		return at;
	at = set->calls.nr;
	vec_push(&set->calls, call);
	vec_push(&set->seen, 0);
	hash_insert(&set->index, code, at);
	return at;
}

void callset_add(struct callset *set, uint32_t caller, uint32_t callee, size_t sample, double value)
{
	uint32_t at = find_or_add(set, caller, callee);

	if (caller == callee || set->seen.at[at] == sample + 1)
		return;
	set->seen.at[at] = sample + 1;
	set->calls.at[at].value += value;
}

void callset_release(struct callset *set)
{
	hash_release(&set->index);
	vec_release(&set->seen);
}
