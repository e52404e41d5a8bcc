/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers in the order of their use: the least recently used one is found at once.
 *
 *	struct lru open = {0};
 *	lru_push(&open, i);			used now
 *	i = lru_oldest(&open);			LRU_NONE: it is empty
 *	lru_remove(&open, i);
 *	lru_release(&open);
 *
 * 8 bytes for each number up to the largest: for positions in an array.
 */
#ifndef CPROF_BASE_LRU_H
#define CPROF_BASE_LRU_H

#include <stdint.h>

#include "base/vec.h"

#define LRU_NONE UINT32_MAX

/* The neighbours in the order, each as the number + 1; 0: none. */
struct lru_links {
	uint32_t newer, older;
};

/* Zeroed: empty. */
struct lru {
	vec_of(struct lru_links) links;
	uint32_t newest, oldest; /* as those of lru_links */
};

/* i, below LRU_NONE, which is not in the order, becomes the newest. */
void lru_push(struct lru *lru, uint32_t i);
/* i must be in the order. */
void lru_remove(struct lru *lru, uint32_t i);
uint32_t lru_oldest(const struct lru *lru);
void lru_release(struct lru *lru);

#endif
