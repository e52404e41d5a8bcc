// SPDX-License-Identifier: BSD-2-Clause
/*
 * Calls are numbered by base/pairtable.h. Each remembers the sample that counted for
 * it last, so that a recursion counts once without a set for each stack.
 */
#include "gate/callset.h"

void callset_add(struct callset *set, uint32_t caller, uint32_t callee, size_t sample, double value)
{
	uint32_t at = pairtable_enter(&set->pairs, caller, callee);

	if (at == set->calls.nr) {
		vec_push(&set->calls, (struct run_call){caller, callee, 0});
		vec_push(&set->seen, 0);
	}
	if (caller == callee || set->seen.at[at] == sample + 1)
		return;
	set->seen.at[at] = sample + 1;
	set->calls.at[at].value += value;
}

void callset_release(struct callset *set)
{
	pairtable_release(&set->pairs);
	vec_release(&set->seen);
}
