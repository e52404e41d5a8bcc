// SPDX-License-Identifier: BSD-2-Clause
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/alloc.h"

/* Linear probing; at most 3/4 full, so that a miss ends soon. */
static void place(struct hash *hash, uint64_t code, uint32_t value)
{
	size_t i = code & (hash->cap - 1);

	while (hash->values[i] != HASH_NONE)
		i = (i + 1) & (hash->cap - 1);
	hash->codes[i] = code;
	hash->values[i] = value;
}

static void grow(struct hash *hash)
{
	struct hash bigger = {.cap = hash->cap ? hash->cap * 2 : 64, .nr = hash->nr};

	bigger.codes = xcalloc(bigger.cap, sizeof(*bigger.codes));
	bigger.values = xcalloc(bigger.cap, sizeof(*bigger.values));
	memset(bigger.values, 0xff, bigger.cap * sizeof(*bigger.values));
	for (size_t i = 0; i < hash->cap; i++)
		if (hash->values[i] != HASH_NONE)
			place(&bigger, hash->codes[i], hash->values[i]);
	free(hash->codes);
	free(hash->values);
	*hash = bigger;
}

uint32_t hash_find(const struct hash *hash, uint64_t code, hash_same_fn same, const void *ctx,
		   const void *key)
{
	if (!hash->cap)
		return HASH_NONE;
	for (size_t i = code & (hash->cap - 1); hash->values[i] != HASH_NONE;
	     i = (i + 1) & (hash->cap - 1))
		if (hash->codes[i] == code && same(ctx, hash->values[i], key))
			return hash->values[i];
	return HASH_NONE;
}

void hash_insert(struct hash *hash, uint64_t code, uint32_t value)
{
	if ((hash->nr + 1) * 4 > hash->cap * 3)
		grow(hash);
	place(hash, code, value);
	hash->nr++;
}

void hash_release(struct hash *hash)
{
	free(hash->codes);
	free(hash->values);
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
