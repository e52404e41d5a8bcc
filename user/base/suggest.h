/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * "Did you mean ...?": which of several words is nearest to what somebody typed.
 *
 *	struct suggestion suggestion = suggestion_for("recrod", 6);
 *	suggestion_offer(&suggestion, "record");
 *	suggestion_offer(&suggestion, "heap");
 *	if (suggestion.best)
 *		warn("did you mean %s?", suggestion.best);
 *
 * Near is: a third of the letters wrong, missing, too many or swapped with their neighbour, or one
 * word being the beginning of the other. Of equally near ones the first that was offered.
 */
#ifndef CPROF_BASE_SUGGEST_H
#define CPROF_BASE_SUGGEST_H

#include <stddef.h>

struct suggestion {
	const char *best; /* borrowed; NULL: none is near */
	const char *word; /* private, as all that follows */
	size_t len, distance;
};

/* Of the first len bytes of word, which is borrowed. */
struct suggestion suggestion_for(const char *word, size_t len);
void suggestion_offer(struct suggestion *suggestion, const char *candidate);

#endif
