// SPDX-License-Identifier: BSD-2-Clause
/*
 * Small ids index an array with four entries for each id; calloc() zeroes it by mapping pages, so
 * that entries nobody touches cost no memory. Other ids are chained from the first of them on: a
 * head by hash and one link for each position, in two arrays, so that no id is allocated by
 * itself.
 *
 * When there is no randomness to be had, the multiplier is a constant: a map still, but one
 * against which a file could be made.
 */
#include "input/idmap.h"

#include <stdlib.h>
#include <sys/random.h>

#include "base/alloc.h"

struct idmap_entry {
	uint64_t id;
	uint32_t next; /* position of the next in the chain; 0: none */
};

void idmap_init(struct idmap *map, size_t nr_ids)
{
	*map = (struct idmap){
		.nr_ids = nr_ids,
		.nr_direct = nr_ids * IDMAP_DIRECT_PER_ID + 1,
	};
	map->direct = xcalloc(map->nr_direct, sizeof(*map->direct));
}

void idmap_release(struct idmap *map)
{
	free(map->direct);
	free(map->entries);
	free(map->heads);
	*map = (struct idmap){0};
}

static void begin_chains(struct idmap *map)
{
	unsigned int bits = 1;

	while (bits < 31 && 1u << bits < map->nr_ids)
		bits++;
	/* Without randomness (an old kernel in early boot) it is still a map. */
	if (getrandom(&map->multiplier, sizeof(map->multiplier), GRND_NONBLOCK) < 0)
		map->multiplier = 0x9e3779b97f4a7c15ull;
	map->multiplier |= 1;
	map->shift = 64 - bits;
	map->heads = xcalloc((size_t)1 << bits, sizeof(*map->heads));
	map->entries = xcalloc(map->nr_ids, sizeof(*map->entries));
}

uint32_t idmap_get_large(const struct idmap *map, uint64_t id)
{
	uint32_t position;

	if (!map->heads)
		return 0;
	position = map->heads[id * map->multiplier >> map->shift];
	while (position && map->entries[position - 1].id != id)
		position = map->entries[position - 1].next;
	return position;
}

bool idmap_add(struct idmap *map, uint64_t id, uint32_t position)
{
	uint32_t *head;

	if (idmap_get(map, id))
		return false;
	if (id < map->nr_direct) {
		map->direct[id] = position;
		return true;
	}
	if (!map->heads)
		begin_chains(map);
	head = &map->heads[id * map->multiplier >> map->shift];
	map->entries[position - 1] = (struct idmap_entry){.id = id, .next = *head};
	*head = position;
	return true;
}
