// SPDX-License-Identifier: BSD-2-Clause
/*
 * Addresses become locations when the file is read, but get their mappings at its end, where the
 * memory map stands. Mappings are then sorted, and each address is one binary search: pprof's own
 * loop over all mappings is quadratic in a file that can be long in both.
 *
 * Also at the end, pprof's repairs: a first mapping of huge pages before the rest of its binary, a
 * main binary that does not begin at 0x400000 but should, and mappings whose first part is
 * missing.
 */
#include "input/addresses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "input/memorymap.h"

#define ADDRESSES_PER_STACK 16 /* what max_items allows, on average */

int addresses_add(struct addresses *addresses, const uint64_t *stack, size_t nr,
		  const int64_t *values, int64_t block_bytes)
{
	struct profile *profile = addresses->profile;
	size_t values_bytes = profile->nr_types * sizeof(*values);
	struct address_stack added = {
		.first = addresses->all.nr,
		.nr = nr,
		.block_bytes = block_bytes,
	};

	if (addresses->stacks.nr >= addresses->max_items ||
	    addresses->all.nr + nr > addresses->max_items * ADDRESSES_PER_STACK)
		return -EFBIG;
	added.values = memcpy(arena_alloc(&profile->arena, values_bytes), values, values_bytes);
	vec_reserve(&addresses->all, nr + 1); /* at points somewhere even if all stacks are empty */
	for (size_t i = 0; i < nr; i++)
		addresses->all.at[addresses->all.nr++] = stack[i];
	vec_push(&addresses->stacks, added);
	return 0;
}

bool addresses_is_map_head(struct text line)
{
	return text_find(line, "MAPPED_LIBRARIES:") || text_find(line, "--- Memory map: ---");
}

void addresses_skip_to_map(struct lines *lines)
{
	struct text line;

	while (lines_next(lines, &line))
		if (addresses_is_map_head(line))
			return;
}

static bool same_address(const void *ctx, uint32_t value, const void *key)
{
	const struct profile *profile = ctx;

	return profile->locations.at[value].address == *(const uint64_t *)key;
}

static uint32_t location_id(struct addresses *addresses, uint64_t address)
{
	struct profile *profile = addresses->profile;
	uint64_t code = hash_combine(0, address);
	uint32_t i = hash_find(&addresses->index, code, same_address, profile, &address);

	if (i == HASH_NONE) {
		i = profile->locations.nr;
		vec_push(&profile->locations, (struct profile_location){.address = address});
		hash_insert(&addresses->index, code, i);
	}
	return i + 1;
}

void addresses_make_samples(struct addresses *addresses)
{
	struct profile *profile = addresses->profile;
	uint32_t bytes = 0;

	vec_for_each(&addresses->stacks, stack) {
		uint32_t *ids = arena_alloc(&profile->arena, stack->nr * sizeof(*ids));
		struct profile_label *label = NULL;

		for (size_t i = 0; i < stack->nr; i++)
			ids[i] = location_id(addresses, addresses->all.at[stack->first + i]);
		if (stack->block_bytes) { /* a number that is 0 is the same as none */
			bytes = profile_string(profile, "bytes");
			label = arena_alloc(&profile->arena, sizeof(*label));
			*label = (struct profile_label){.key = bytes, .num = stack->block_bytes};
		}
		vec_push(&profile->samples, (struct profile_sample){
						    .locations = ids,
						    .nr_locations = stack->nr,
						    .labels = label,
						    .nr_labels = !!label,
						    .values = stack->values,
					    });
	}
}

uint32_t addresses_location(const struct addresses *addresses, uint64_t address)
{
	uint32_t i = hash_find(&addresses->index, hash_combine(0, address), same_address,
			       addresses->profile, &address);

	return i == HASH_NONE ? 0 : i + 1;
}

static void add_mappings(struct profile *profile, const struct memory_map *map)
{
	vec_for_each(&map->all, mapping)
		vec_push(&profile->mappings,
			 (struct profile_mapping){
				 .start = mapping->start,
				 .limit = mapping->limit,
				 .file_off = mapping->file_off,
				 .path = strtab_intern(&profile->strings, mapping->path),
				 .build_id = strtab_intern(&profile->strings, mapping->build_id),
			 });
}

/* Handlers of old left out the beginning of a main binary whose text was moved to huge pages. */
static void mend_main_mapping(struct profile *profile)
{
	struct profile_mapping *first = profile->mappings.at;
	static const char huge_pages[] = "/anon_hugepage";

	if (profile->mappings.nr > 1 && first->limit == first[1].start &&
	    !strncmp(strtab_get(&profile->strings, first->path), huge_pages,
		     sizeof(huge_pages) - 1)) {
		profile->mappings.nr--;
		memmove(first, first + 1, profile->mappings.nr * sizeof(*first));
	}
	if (profile->mappings.nr && first->start - first->file_off == 0x400000) {
		first->start = 0x400000;
		first->file_off = 0;
	}
}

/* Mappings in the order of their addresses: a file may have very many of them, and of addresses. */
struct map_order {
	vec_of(uint32_t) all; /* positions in profile->mappings */
};

static int by_start(const void *a, const void *b, void *ctx)
{
	const struct profile *profile = ctx;
	const struct profile_mapping *x = &profile->mappings.at[*(const uint32_t *)a];
	const struct profile_mapping *y = &profile->mappings.at[*(const uint32_t *)b];

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x > y ? -1 : x < y; /* the last of equal ones is found: the first given */
}

/* How many of them begin at address or before. */
static size_t nr_begun(const struct profile *profile, const struct map_order *order,
		       uint64_t address)
{
	size_t low = 0, high = order->all.nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (profile->mappings.at[order->all.at[middle]].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The id of the mapping that holds address; it may be made to reach so far. 0: none. */
static uint32_t mapping_of(struct profile *profile, const struct map_order *order, uint64_t address)
{
	size_t nr = nr_begun(profile, order, address);
	struct profile_mapping *last = nr ? &profile->mappings.at[order->all.at[nr - 1]] : NULL;
	struct profile_mapping *next = nr < order->all.nr ? &profile->mappings.at[order->all.at[nr]]
							  : NULL;

	if (last && address < last->limit)
		return order->all.at[nr - 1] + 1;
	/* Handlers of old left out the first part of mappings that were split. */
	if (!next || !next->file_off || next->file_off > next->start ||
	    next->start - next->file_off > address ||
	    (last && next->start - next->file_off < last->limit))
		return 0;
	next->start -= next->file_off;
	next->file_off = 0;
	return order->all.at[nr] + 1;
}

static void find_mappings(struct profile *profile)
{
	struct map_order order = {0};
	uint32_t nameless = 0;

	for (uint32_t i = 0; i < profile->mappings.nr; i++)
		vec_push(&order.all, i);
	if (order.all.nr)
		qsort_r(order.all.at, order.all.nr, sizeof(*order.all.at), by_start, profile);
	vec_for_each(&profile->locations, location) {
		location->mapping = mapping_of(profile, &order, location->address);
		if (location->mapping || !location->address)
			continue;
		if (!nameless) {
			vec_push(&profile->mappings, (struct profile_mapping){.limit = UINT64_MAX});
			nameless = profile->mappings.nr;
		}
		location->mapping = nameless;
	}
	vec_release(&order.all);
}

int addresses_finish(struct addresses *addresses, struct lines *lines)
{
	struct memory_map map scoped(memory_map_release) = {0};
	int err = memory_map_read(&map, lines, addresses->max_items);

	if (err)
		return err;
	addresses_make_samples(addresses);
	add_mappings(addresses->profile, &map);
	mend_main_mapping(addresses->profile);
	find_mappings(addresses->profile);
	return 0;
}

void addresses_release(struct addresses *addresses)
{
	vec_release(&addresses->all);
	vec_release(&addresses->stacks);
	hash_release(&addresses->index);
}
