// SPDX-License-Identifier: BSD-2-Clause
/*
 * Keeps two deadlines, one in CPU time and one on the clock, and compares them at each call. It
 * holds no state besides, so a budget may be shared by all the work that it limits.
 */
#include "base/workbudget.h"

#include <stddef.h>

#include "base/clock.h"

#define CLOCK_FACTOR 3

static uint64_t cpu_ns(const struct workbudget *budget)
{
	uint64_t own_ns = clock_process_cpu_ns();

	return budget->others_cpu_ns ? own_ns + budget->others_cpu_ns(budget->others) : own_ns;
}

void workbudget_limit(struct workbudget *budget, uint64_t work_ns, bool (*hurries)(void))
{
	budget->hurries = hurries;
	budget->work_until_ns = cpu_ns(budget) + work_ns;
	budget->until_ns = clock_monotonic_ns() + CLOCK_FACTOR * work_ns;
}

void workbudget_end_at(struct workbudget *budget, uint64_t until_ns)
{
	if (until_ns < budget->until_ns)
		budget->until_ns = until_ns;
}

void workbudget_unlimit(struct workbudget *budget)
{
	budget->hurries = NULL;
	budget->work_until_ns = budget->until_ns = 0;
}

bool workbudget_is_over(struct workbudget *budget)
{
	if (budget->look)
		budget->look(budget->ctx);
	if (!budget->until_ns)
		return false;
	return budget->hurries() || cpu_ns(budget) >= budget->work_until_ns ||
	       clock_monotonic_ns() >= budget->until_ns;
}
