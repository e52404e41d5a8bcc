// SPDX-License-Identifier: BSD-2-Clause
/*
 * Links are kept beside the numbers, not in what they number: such an array may move.
 */
#include "base/lru.h"

void lru_push(struct lru *lru, uint32_t i)
{
	while (i >= lru->links.nr)
		vec_push(&lru->links, (struct lru_links){0});
	lru->links.at[i] = (struct lru_links){.older = lru->newest};
	if (lru->newest)
		lru->links.at[lru->newest - 1].newer = i + 1;
	else
		lru->oldest = i + 1;
	lru->newest = i + 1;
}

void lru_remove(struct lru *lru, uint32_t i)
{
	const struct lru_links links = lru->links.at[i];

	if (links.newer)
		lru->links.at[links.newer - 1].older = links.older;
	else
		lru->newest = links.older;
	if (links.older)
		lru->links.at[links.older - 1].newer = links.newer;
	else
		lru->oldest = links.newer;
}

uint32_t lru_oldest(const struct lru *lru)
{
	return lru->oldest ? lru->oldest - 1 : LRU_NONE;
}

void lru_release(struct lru *lru)
{
	vec_release(&lru->links);
}
