// SPDX-License-Identifier: BSD-2-Clause
/* A vector by the order of arrival, and an index into it. */
#include "runtime/hotspottold.h"

#define MAX_TOLD (1u << 18)

static bool same_word(const void *ctx, uint32_t value, const void *key)
{
	return ((const struct tolds *)ctx)->all.at[value].word == *(const uint64_t *)key;
}

struct told *tolds_find(struct tolds *tolds, uint64_t word)
{
	uint32_t i = hash_find(&tolds->index, hash_combine(0, word), same_word, tolds, &word);

	return i == HASH_NONE ? NULL : &tolds->all.at[i];
}

void tolds_put(struct tolds *tolds, const struct told *told)
{
	struct told *known = tolds_find(tolds, told->word);

	if (known) {
		*known = *told;
		return;
	}
	if (tolds->all.nr == MAX_TOLD)
		tolds_release(tolds);
	hash_insert(&tolds->index, hash_combine(0, told->word), tolds->all.nr);
	vec_push(&tolds->all, *told);
}

size_t tolds_bytes(const struct tolds *tolds)
{
	return tolds->all.cap * sizeof(tolds->all.at[0]);
}

void tolds_release(struct tolds *tolds)
{
	vec_release(&tolds->all);
	hash_release(&tolds->index);
}
