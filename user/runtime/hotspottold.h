/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What was answered about ips, so that only what is new is answered again. Private to hotspot*.c.
 *
 * A Method of a class that stays has an entry under its address: since when it was seen.
 */
#ifndef CPROF_RUNTIME_HOTSPOTTOLD_H
#define CPROF_RUNTIME_HOTSPOTTOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"

struct told {
	uint64_t
		word; /* an ip, or what stands for an interpreted frame; or the address of a Method */
	uint64_t answer;  /* hash of names and lines; or since when it was seen */
	uint64_t unloads; /* the answer is right for ticks of this count; 0: it is HOTSPOT_GONE */
};

/* Zeroed: empty. */
struct tolds {
	vec_of(struct told) all;
	struct hash index;
};

/* Borrowed until the next tolds_put(). NULL: there is none. */
struct told *tolds_find(struct tolds *tolds, uint64_t word);
/* Adds it, or replaces the one of this word. Of very many all are forgotten. */
void tolds_put(struct tolds *tolds, const struct told *told);
size_t tolds_bytes(const struct tolds *tolds);
void tolds_release(struct tolds *tolds);

#endif
