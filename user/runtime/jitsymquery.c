// SPDX-License-Identifier: BSD-2-Clause
/* A binary search: of a large file most entries are about none of the ips that are asked for. */
#include "runtime/jitsymquery.h"

size_t jitsymquery_first(const struct jitsym_query *queries, size_t nr, uint64_t start)
{
	size_t low = 0, high = nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (queries[mid].ip < start)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

bool jitsymquery_is_better(const struct jitsym_query *query, bool has_answer, uint64_t since_ns)
{
	bool was = since_ns <= query->time_ns, had = query->since_ns <= query->time_ns;

	if (!has_answer)
		return true;
	if (was != had)
		return was;
	return was ? since_ns >= query->since_ns : since_ns < query->since_ns;
}
