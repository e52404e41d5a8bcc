/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A condition on a sample's labels, as pprof's -tagfocus and -tagignore take it:
 *
 *	32kb, :64kb, 4mb:, 128kb:1mb	a numeric label in this range, both ends included
 *	bytes=128kb:1mb			the same for the label "bytes"
 *	nginx, comm:nginx,tid		each regex matches somewhere in "key:value" of a string label
 *	comm=nginx,redis		one of the regexes matches a value of the string label "comm"
 *
 * Regexes are POSIX extended, unanchored; a comma always separates two. A numeric label without a unit
 * has its key for a unit ("bytes"), or bytes if the key is "request" or "alignment". A label whose
 * unit cannot be converted to the range's is not in it.
 *
 * Unlike pprof, a range without a unit is compared with the number in whatever unit it has (pprof finds nothing), and
 * units of unknown kinds are not equal.
 *
 * Source: pprof's internal/driver/driver_focus.go.
 */
#ifndef CPROF_PROFILE_TAG_H
#define CPROF_PROFILE_TAG_H

#include <stdbool.h>

#include "profile/model.h"

#define TAG_WHY_BYTES 160

struct tag;

/* -EINVAL: a regex does not compile, and why is a message. Free with tag_free(). */
int tag_new(const char *text, struct tag **tag, char why[TAG_WHY_BYTES]);
void tag_free(struct tag *tag); /* NULL is fine */

/* Whether the condition holds for this sample of the profile. */
bool tag_matches(const struct tag *tag, const struct profile *profile,
		 const struct profile_sample *sample);

#endif
