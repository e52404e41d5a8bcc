/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Maps the ids of a file, which can be any 64-bit numbers, to positions 1..N.
 *
 * Nearly every writer counts from 1, so small ids index an array. The others are hashed into chains,
 * multiply-shift with a random odd multiplier, so that an attacker cannot choose ids that all collide (Dietzfelbinger et al., "A reliable randomized algorithm for the closest-pair
 * problem", 1997: two given ids collide with probability 2/size at most).
 */
#ifndef CPROF_INPUT_IDMAP_H
#define CPROF_INPUT_IDMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IDMAP_DIRECT_PER_ID 4 /* entries of the array; 4 bytes each, touched only where used */

struct idmap { /* private */
	uint32_t *direct;
	size_t nr_direct;
	struct idmap_entry *entries; /* by position - 1, only where an id is large */
	uint32_t *heads;
	uint64_t multiplier;
	unsigned int shift;
	uint32_t nr_ids;
};

/* Makes an empty map for up to nr_ids ids at positions 1..nr_ids; nr_ids is below UINT32_MAX / 4. */
void idmap_init(struct idmap *map, size_t nr_ids);
void idmap_release(struct idmap *map);

/* Adds a new id. False: the map has it already. */
bool idmap_add(struct idmap *map, uint64_t id, uint32_t position);

/* The slow half of idmap_get(). */
uint32_t idmap_get_large(const struct idmap *map, uint64_t id);

/* The position of an id; 0: there is none. */
static inline uint32_t idmap_get(const struct idmap *map, uint64_t id)
{
	return id < map->nr_direct ? map->direct[id] : idmap_get_large(map, id);
}

#endif
