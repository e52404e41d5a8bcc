// SPDX-License-Identifier: BSD-2-Clause
/*
 * Linear probing over slots of 8 bytes in a table of a power of two, at most 3/4 full. There is no
 * removal, and so no tombstone: callers that drop items build their index anew.
 *
 * Rejected: SipHash, which is stronger against chosen keys, but slower. Codes never leave the process, so
 * the author of a file has nothing to learn the secret from.
 */
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/alloc.h"

/*
 * A slot is 8 bytes, so that a look at it is one cache line: the low half of the code, which tells
 * nearly all others apart and is enough to find the slot's place anew, and the value, inverted so that
 * zeroed memory is empty.
 */
struct hash_slot {
	uint32_t tag, inverted;
};

/* Linear probing; at most 3/4 full, so that a miss ends soon. */
static void place(struct hash *hash, struct hash_slot slot)
{
	size_t i = slot.tag & (hash->cap - 1);

	while (hash->slots[i].inverted)
		i = (i + 1) & (hash->cap - 1);
	hash->slots[i] = slot;
}

static void grow(struct hash *hash)
{
	struct hash bigger = {.cap = hash->cap ? hash->cap * 2 : 64, .nr = hash->nr};

	bigger.slots = xcalloc(bigger.cap, sizeof(*bigger.slots));
	for (size_t i = 0; i < hash->cap; i++)
		if (hash->slots[i].inverted)
			place(&bigger, hash->slots[i]);
	free(hash->slots);
	*hash = bigger;
}

uint32_t hash_find(const struct hash *hash, uint64_t code, hash_same_fn same, const void *ctx,
		   const void *key)
{
	uint32_t tag = code;

	if (!hash->cap)
		return HASH_NONE;
	for (size_t i = tag & (hash->cap - 1); hash->slots[i].inverted;
	     i = (i + 1) & (hash->cap - 1))
		if (hash->slots[i].tag == tag && same(ctx, ~hash->slots[i].inverted, key))
			return ~hash->slots[i].inverted;
	return HASH_NONE;
}

void hash_insert(struct hash *hash, uint64_t code, uint32_t value)
{
	if ((hash->nr + 1) * 4 > hash->cap * 3)
		grow(hash);
	place(hash, (struct hash_slot){.tag = code, .inverted = ~value});
	hash->nr++;
}

void hash_release(struct hash *hash)
{
	free(hash->slots);
	*hash = (struct hash){0};
}

/* The finalizer of MurmurHash3 (Austin Appleby, public domain): every input bit moves every output bit. */
uint64_t hash_u64(uint64_t value)
{
	value ^= value >> 33;
	value *= 0xff51afd7ed558ccdull;
	value ^= value >> 33;
	value *= 0xc4ceb9fe1a85ec53ull;
	return value ^ value >> 33;
}

static uint64_t secret;

__attribute__((constructor)) static void choose_secret(void)
{
	/* Early in a boot there may be none: then there is no attacker either. */
	if (getrandom(&secret, sizeof(secret), GRND_NONBLOCK) < 0)
		secret = 0;
}

uint64_t hash_key(void)
{
	return secret;
}

static uint64_t mix(uint64_t code, uint64_t value)
{
	return hash_u64(code * 0x9e3779b97f4a7c15ull + value);
}

uint64_t hash_combine(uint64_t code, uint64_t value)
{
	return mix(code ^ secret, value);
}

uint64_t hash_bytes(const void *bytes, size_t len_bytes, uint64_t seed)
{
	const unsigned char *p = bytes;
	uint64_t code = mix(seed, len_bytes), word;

	for (; len_bytes >= sizeof(word); p += sizeof(word), len_bytes -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		code = mix(code, word);
	}
	word = 0;
	if (len_bytes) /* p may be NULL */
		memcpy(&word, p, len_bytes);
	return mix(code, word);
}
