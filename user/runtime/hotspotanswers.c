// SPDX-License-Identifier: BSD-2-Clause
/* A vector by the order of arrival, and an index into it. */
#include "runtime/hotspotanswers.h"

#define MAX_ANSWERS (1u << 18)

static bool same_word(const void *ctx, uint32_t value, const void *key)
{
	return ((const struct answers *)ctx)->all.at[value].word == *(const uint64_t *)key;
}

struct answer *answers_find(struct answers *answers, uint64_t word)
{
	uint32_t i = hash_find(&answers->index, hash_combine(0, word), same_word, answers, &word);

	return i == HASH_NONE ? NULL : &answers->all.at[i];
}

void answers_put(struct answers *answers, const struct answer *answer)
{
	struct answer *known = answers_find(answers, answer->word);

	if (known) {
		*known = *answer;
		return;
	}
	if (answers->all.nr == MAX_ANSWERS)
		answers_release(answers);
	hash_insert(&answers->index, hash_combine(0, answer->word), answers->all.nr);
	vec_push(&answers->all, *answer);
}

size_t answers_bytes(const struct answers *answers)
{
	return answers->all.cap * sizeof(answers->all.at[0]);
}

void answers_release(struct answers *answers)
{
	vec_release(&answers->all);
	hash_release(&answers->index);
}
