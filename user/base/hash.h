/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An open-addressed hash index: it maps hash codes to positions in an array that the caller owns.
 *
 * So keys are never copied, and the items keep the order they were added in.
 *
 *	uint64_t code = hash_bytes(key, len, 0);
 *	uint32_t i = hash_find(&index, code, same_item, ctx, key);
 *	if (i == HASH_NONE)
 *		hash_insert(&index, code, new_item_position);
 *
 * A zeroed struct hash is empty. Codes may collide: `same` decides. An attacker who makes an input file must
 * not be able to choose keys that all collide: hash_combine() mixes in a secret of this process, and so does
 * hash_bytes() with hash_key() as its seed. Such codes differ from run to run.
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

/* Whether the item at position `value` is the one that `key` describes; ctx is hash_find()'s. */
typedef bool (*hash_same_fn)(const void *ctx, uint32_t value, const void *key);

/* The position of the item with this code that same() accepts, or HASH_NONE. */
uint32_t hash_find(const struct hash *hash, uint64_t code, hash_same_fn same, const void *ctx,
		   const void *key);
/* Adds without looking for an equal key: call hash_find() first. value must not be HASH_NONE. */
void hash_insert(struct hash *hash, uint64_t code, uint32_t value);
void hash_release(struct hash *hash);

/* The code of a number; the same in every run. */
uint64_t hash_u64(uint64_t value);
/* The secret of this process: the same in every call, another in each run. */
uint64_t hash_key(void);
/* The code of a sequence: start with any code and add one value at a time. Depends on the secret. */
uint64_t hash_combine(uint64_t code, uint64_t value);
/* The code of len_bytes bytes (bytes may be NULL if there are none); the same for the same seed. */
uint64_t hash_bytes(const void *bytes, size_t len_bytes, uint64_t seed);

#endif
