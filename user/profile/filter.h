/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Filters samples and frames in place, by pprof's -focus, -ignore, -hide, -show, -show_from, -tagfocus
 * and -tagignore, applied in that order. Mappings, functions and locations that no sample uses
 * any more are kept (profile_compact() removes them).
 *
 * A regex matches anywhere in a function's name, its file, or the file of the mapping. Where functions
 * were inlined, a location has several frames: hide, show and show_from look at each, focus and ignore
 * at any. If there is a regex for frames, samples without a stack are dropped.
 *
 * Unlike pprof, show keeps a location without a line if it matches its mapping.
 *
 * Source: pprof's profile/filter.go and internal/driver/driver_focus.go.
 */
#ifndef CPROF_PROFILE_FILTER_H
#define CPROF_PROFILE_FILTER_H

#include <regex.h>
#include <stddef.h>

#include "profile/model.h"
#include "profile/tag.h"

/* A condition that is NULL is not applied. All are borrowed. */
struct profile_filter {
	const regex_t *focus;  /* keep samples with such a frame */
	const regex_t *ignore; /* then drop samples with such a frame */
	const regex_t *hide;   /* drop such frames */
	const regex_t *show;   /* keep only such frames */
	/* Stacks begin, at the root's end, with the outermost such frame; samples without one are dropped. */
	const regex_t *show_from;
	const struct tag *tag_focus;  /* keep samples with such a label */
	const struct tag *tag_ignore; /* drop samples with such a label */
};

/* Drops samples without a frame left. Returns the number of dropped samples. */
size_t profile_filter_samples(struct profile *profile, const struct profile_filter *filter);

#endif
