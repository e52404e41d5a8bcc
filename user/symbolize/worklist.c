// SPDX-License-Identifier: BSD-2-Clause
/* The order in which addresses are asked for: sorted thrice, by address, by weight, and by file within each tier. */
#include "symbolize/worklist.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/vec.h"

/* The shares of all weight, in percent, at which the next tier begins. */
static const unsigned int shares[] = {50, 90};

#define NR_SHARES (sizeof(shares) / sizeof(shares[0]))

/* What a file weighs in a tier. */
struct group {
	uint32_t file, tier;
	uint64_t weight;
};

struct groups {
	vec_of(struct group) groups;
	struct hash index;
};

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static uint64_t sum(uint64_t a, uint64_t b)
{
	return __builtin_add_overflow(a, b, &a) ? UINT64_MAX : a;
}

static int by_address(const void *a, const void *b)
{
	const struct work *left = a, *right = b;
	int files = compare(left->file, right->file);

	return files ? files : compare(left->elf_addr, right->elf_addr);
}

static int by_weight(const void *a, const void *b)
{
	const struct work *left = a, *right = b;
	int weights = compare(right->weight, left->weight);

	return weights ? weights : by_address(a, b);
}

static size_t add_up(struct work *works, size_t nr)
{
	size_t kept = 0;

	for (size_t i = 0; i < nr; i++)
		if (kept && !by_address(&works[kept - 1], &works[i]))
			works[kept - 1].weight = sum(works[kept - 1].weight, works[i].weight);
		else
			works[kept++] = works[i];
	return kept;
}

/* works are sorted by weight. An address belongs to the tier in which its weight begins. */
static void set_tiers(struct work *works, size_t nr)
{
	uint64_t total = 0, before = 0;
	uint32_t tier = 0;

	for (size_t i = 0; i < nr; i++)
		total = sum(total, works[i].weight);
	for (size_t i = 0; i < nr; i++) {
		while (tier < NR_SHARES && before >= total / 100 * shares[tier])
			tier++;
		works[i].tier = nr < WORKLIST_TIERS_FROM ? 0 : tier;
		before = sum(before, works[i].weight);
	}
}

static bool same_group(const void *ctx, uint32_t value, const void *key)
{
	const struct group *a = &((const struct groups *)ctx)->groups.at[value], *b = key;

	return a->file == b->file && a->tier == b->tier;
}

static struct group *group_of(struct groups *groups, const struct work *work)
{
	const struct group key = {.file = work->file, .tier = work->tier};
	uint64_t code = hash_combine(hash_combine(0, key.file), key.tier);
	uint32_t i = hash_find(&groups->index, code, same_group, groups, &key);

	if (i == HASH_NONE) {
		i = groups->groups.nr;
		vec_push(&groups->groups, key);
		hash_insert(&groups->index, code, i);
	}
	return &groups->groups.at[i];
}

static int by_group(const void *a, const void *b, void *ctx)
{
	const struct work *left = a, *right = b;
	int order = compare(left->tier, right->tier);

	if (!order && left->file != right->file)
		order = compare(group_of(ctx, right)->weight, group_of(ctx, left)->weight);
	return order ? order : by_address(a, b);
}

size_t worklist_order(struct work *works, size_t nr)
{
	struct groups groups = {.index = {0}};

	if (!nr)
		return 0;
	qsort(works, nr, sizeof(*works), by_address);
	nr = add_up(works, nr);
	qsort(works, nr, sizeof(*works), by_weight);
	set_tiers(works, nr);
	for (size_t i = 0; i < nr; i++) {
		struct group *group = group_of(&groups, &works[i]);

		group->weight = sum(group->weight, works[i].weight);
	}
	qsort_r(works, nr, sizeof(*works), by_group, &groups);
	vec_release(&groups.groups);
	hash_release(&groups.index);
	return nr;
}
