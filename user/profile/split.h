/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Splits a profile into one part for each value of a label ("comm", "pid"). The parts add up to the
 * whole; each is compact (merge.h) and has the header of the whole.
 */
#ifndef CPROF_PROFILE_SPLIT_H
#define CPROF_PROFILE_SPLIT_H

#include "profile/model.h"

/* Receives a part, borrowed, and its value (a number is decimal, with its unit: "4096bytes"). */
typedef int (*profile_part_fn)(void *ctx, const char *value, const struct profile *part);
/*
 * Calls fn for each part, in the order in which values first appear; samples without the label are the last part,
 * with the value NULL. If a sample has several values, the first counts. An -errno of fn ends the loop and is
 * returned.
 */
int profile_split(const struct profile *profile, const char *label_key, profile_part_fn fn,
		  void *ctx);

#endif
