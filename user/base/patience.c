// SPDX-License-Identifier: BSD-2-Clause
#include "base/patience.h"

#include <stddef.h>

#include "base/clock.h"

#define CLOCK_FACTOR 3

void patience_limit(struct patience *patience, uint64_t work_ns, bool (*hurries)(void))
{
	patience->hurries = hurries;
	patience->work_until_ns = clock_process_cpu_ns() + work_ns;
	patience->until_ns = clock_monotonic_ns() + CLOCK_FACTOR * work_ns;
}

void patience_unlimit(struct patience *patience)
{
	patience->hurries = NULL;
	patience->work_until_ns = patience->until_ns = 0;
}

bool patience_is_over(struct patience *patience)
{
	if (patience->look)
		patience->look(patience->ctx);
	if (!patience->until_ns)
		return false;
	return patience->hurries() || clock_process_cpu_ns() >= patience->work_until_ns ||
	       clock_monotonic_ns() >= patience->until_ns;
}
