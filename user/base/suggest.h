/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * "Did you mean ...?": finds the candidate that is nearest to a mistyped word.
 *
 *	struct suggestion suggestion = suggestion_for("recrod", 6);
 *	suggestion_offer(&suggestion, "record");
 *	suggestion_offer(&suggestion, "heap");
 *	if (suggestion.best)
 *		warn("did you mean %s?", suggestion.best);
 *
 * A candidate is near if at most a third of the letters are wrong, missing, extra or swapped with their
 * neighbour, or if one word begins with the other one of at least three letters. Among equally near
 * candidates the first offered wins.
 */
#ifndef CPROF_BASE_SUGGEST_H
#define CPROF_BASE_SUGGEST_H

#include <stddef.h>

struct suggestion {
	const char *best; /* the nearest candidate so far, borrowed; NULL: none is near */
	const char *word; /* private, and so are the following */
	size_t len, distance;
};

/* Starts a search for the first len bytes of word, which is borrowed. */
struct suggestion suggestion_for(const char *word, size_t len);
/* Compares one candidate, which is borrowed as long as suggestion->best is used. */
void suggestion_offer(struct suggestion *suggestion, const char *candidate);

#endif
