/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * On which side of the truth a heap profile's values are where something was lost: lost allocations make them too low, lost frees
 * make what is in use too high. A comment of the profile says so, from which readers know it.
 */
#ifndef CPROF_PROFILE_BOUND_H
#define CPROF_PROFILE_BOUND_H

#include <stdbool.h>
#include <stddef.h>

#include "profile/model.h"

/* Flags: both together are "about". */
enum bound {
	BOUND_NONE = 0,
	BOUND_LEAST = 1,
	BOUND_MOST = 2,
	BOUND_ABOUT = BOUND_LEAST | BOUND_MOST
};

/* What comes before a value: "", "at least ", "at most ", "about ". Static. */
const char *bound_word(enum bound bound);
/* Of what remains where a value with this bound is subtracted. */
enum bound bound_of_rest(enum bound bound);
/* "in use is at least this", of what: "in use" or "allocated". Not for BOUND_NONE. Returns out. */
char *bound_say(const char *what, enum bound bound, char *out, size_t out_bytes);
/* What the comments say of values of a sample type, of all files that were merged. */
enum bound bound_said(const struct profile *profile, const char *type);

#endif
