/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An open-addressed index from a hash code to a u32: the caller keeps the items in an array of its
 * own and stores their positions here, so that keys are never copied and order stays insertion order.
 *
 *	uint64_t code = hash_bytes(key, len, 0);
 *	uint32_t i = hash_find(&index, code, same_item, ctx, key);
 *	if (i == HASH_NONE)
 *		hash_insert(&index, code, new_item_position);
 *
 * A zeroed struct hash is empty. Codes may collide: `same` decides. Keys of a file that anybody may
 * have made must not be chosen so that they all do: hash_combine() depends on a secret of the process,
 * hash_bytes() does with hash_key() as its seed. Codes of these differ from run to run.
 */
#ifndef CPROF_BASE_HASH_H
#define CPROF_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HASH_NONE UINT32_MAX

struct hash {
	struct hash_slot *slots; /* private */
	size_t nr, cap;
};

/* Is the item at position `value` the one that `key` describes? */
typedef bool (*hash_same_fn)(const void *ctx, uint32_t value, const void *key);

uint32_t hash_find(const struct hash *hash, uint64_t code, hash_same_fn same, const void *ctx,
		   const void *key);
/* Adds without looking: call hash_find() first. value must not be HASH_NONE. */
void hash_insert(struct hash *hash, uint64_t code, uint32_t value);
void hash_release(struct hash *hash);

uint64_t hash_u64(uint64_t value);
/* The secret. */
uint64_t hash_key(void);
uint64_t hash_combine(uint64_t code, uint64_t value);
uint64_t hash_bytes(const void *bytes, size_t len_bytes, uint64_t seed);

#endif
