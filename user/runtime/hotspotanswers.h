/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A cache of the answers about ips, so that only new answers are sent. Private to hotspot*.c.
 *
 * A Method of a class that stays has an entry under its address: since when it was seen.
 */
#ifndef CPROF_RUNTIME_HOTSPOTANSWERS_H
#define CPROF_RUNTIME_HOTSPOTANSWERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"

struct answer {
	/* an ip, or the word that a stack has for an interpreted frame; or the address of a Method */
	uint64_t word;
	uint64_t value;	  /* hash of names and lines; or since when it was seen */
	uint64_t unloads; /* the answer is right for ticks of this count; 0: it is HOTSPOT_GONE */
};

/* Zeroed: empty. */
struct answers {
	vec_of(struct answer) all;
	struct hash index;
};

/* Returns the answer for word, borrowed until the next answers_put(); NULL: there is none. */
struct answer *answers_find(struct answers *answers, uint64_t word);
/* Copies the answer, in place of an earlier one for its word. When the cache is full, it is emptied first. */
void answers_put(struct answers *answers, const struct answer *answer);
/* The memory that the cache takes, in bytes. */
size_t answers_bytes(const struct answers *answers);
/* Frees the memory of the cache, which is then empty and can be used again. */
void answers_release(struct answers *answers);

#endif
