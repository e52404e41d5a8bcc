/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers pairs of 32-bit numbers: each distinct pair gets the next position, 0, 1, 2, ..., in the order
 * in which the pairs are first seen.
 *
 * What belongs to a pair (a sum, a count) stands in an array of the caller's, at the same position:
 *
 *	uint32_t at = pairtable_enter(&calls, caller, callee);
 *	if (at == sums.nr)
 *		vec_push(&sums, 0);
 *	sums.at[at] += value;
 *
 * It is what call graphs (caller, callee) and prefix trees (parent, frame) are made with; profile/prefixtree.h
 * is the tree. A zeroed struct is empty. Pairs may come from an untrusted file: the codes depend on a secret of
 * this process (base/hash.h), the positions do not. No pair is ever removed.
 */
#ifndef CPROF_BASE_PAIRTABLE_H
#define CPROF_BASE_PAIRTABLE_H

#include <stddef.h>
#include <stdint.h>

#define PAIRTABLE_NONE UINT32_MAX

struct pair {
	uint32_t first, second;
};

struct pairtable {
	struct pair *at; /* all pairs, by position (base/vec.h) */
	size_t nr, cap;
	struct pairtable_slot {
		uint32_t tag, next; /* half of the pair's code; its position + 1, 0: empty */
	} * slots;		    /* private, as all that follows */
	size_t nr_slots;	    /* a power of two, or 0 */
	uint64_t secret;
};

/* Adds a pair that pairtable_find() does not find: its position. At most UINT32_MAX - 1 pairs. */
uint32_t pairtable_append(struct pairtable *table, uint32_t first, uint32_t second);
/* Frees what it holds, and leaves it empty. */
void pairtable_release(struct pairtable *table);
/* Frees the index alone: the pairs stay, and none can be found or added any more. */
void pairtable_seal(struct pairtable *table);

/*
 * The high half of a product, where every bit of both is felt: in a recursion all frames are the same, and
 * only the parents differ. (The low bits of a product know nothing of the high bits of its factors.)
 */
static inline uint32_t pairtable_code(const struct pairtable *table, uint32_t first,
				      uint32_t second)
{
	uint64_t code = (((uint64_t)first << 32 | second) ^ table->secret) * 0x9e3779b97f4a7c15ull;

	return (code ^ code >> 32) * 0xd6e8feb86659fd93ull >> 32;
}

/* The position of a pair, or PAIRTABLE_NONE. */
static inline uint32_t pairtable_find(const struct pairtable *table, uint32_t first,
				      uint32_t second)
{
	uint32_t tag = pairtable_code(table, first, second);
	size_t mask = table->nr_slots - 1;

	if (!table->nr_slots)
		return PAIRTABLE_NONE;
	for (size_t i = tag & mask; table->slots[i].next; i = (i + 1) & mask) {
		const struct pair *pair = &table->at[table->slots[i].next - 1];

		if (table->slots[i].tag == tag && pair->first == first && pair->second == second)
			return pair - table->at;
	}
	return PAIRTABLE_NONE;
}

/* The position of a pair, which is added if it is new: then the position is the old nr. */
static inline uint32_t pairtable_enter(struct pairtable *table, uint32_t first, uint32_t second)
{
	uint32_t at = pairtable_find(table, first, second);

	return at != PAIRTABLE_NONE ? at : pairtable_append(table, first, second);
}

#endif
