// SPDX-License-Identifier: BSD-2-Clause
/*
 * Computes the optimal string alignment distance (Levenshtein's with swapped neighbours) in a table on the
 * stack. Words of more than 32 letters are never near, which bounds the table.
 */
#include "base/suggest.h"

#include <stdint.h>
#include <string.h>

#define MAX_LETTERS 32 /* longer words are no misspelling of ours */
#define MIN_PREFIX  3
#define FAR	    SIZE_MAX

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* The optimal string alignment distance: letters changed, left out, put in, neighbours swapped. */
static size_t distance_of(const char *a, size_t len_a, const char *b, size_t len_b)
{
	size_t at[MAX_LETTERS + 1][MAX_LETTERS + 1]; /* of the first i letters of a and j of b */

	for (size_t i = 0; i <= len_a; i++)
		at[i][0] = i;
	for (size_t j = 0; j <= len_b; j++)
		at[0][j] = j;
	for (size_t i = 1; i <= len_a; i++)
		for (size_t j = 1; j <= len_b; j++) {
			size_t best = at[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

			best = least(best, least(at[i - 1][j], at[i][j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				best = least(best, at[i - 2][j - 2] + 1);
			at[i][j] = best;
		}
	return at[len_a][len_b];
}

struct suggestion suggestion_for(const char *word, size_t len)
{
	return (struct suggestion){.word = word, .len = len, .distance = FAR};
}

void suggestion_offer(struct suggestion *suggestion, const char *candidate)
{
	size_t len = strlen(candidate), shared = least(len, suggestion->len), distance, limit;

	if (!shared || len > MAX_LETTERS || suggestion->len > MAX_LETTERS)
		return;
	distance = distance_of(suggestion->word, suggestion->len, candidate, len);
	limit = suggestion->len < 3 ? 1 : (suggestion->len + 2) / 3;
	if (shared >= MIN_PREFIX && !memcmp(suggestion->word, candidate, shared))
		distance = least(distance, limit);
	if (distance > limit || distance >= suggestion->distance)
		return;
	suggestion->distance = distance;
	suggestion->best = candidate;
}
