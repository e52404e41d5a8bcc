/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Filters samples and frames in place, by pprof's -focus, -ignore, -hide, -show, -show_from, -tagfocus
 * and -tagignore, applied in that order. Mappings, functions and locations that are then in no sample
 * stay where they are (profile_compact() leaves them out).
 *
 * A regex matches anywhere in a function's name, its file, or the file of the mapping. Where functions
 * were inlined, a location has several frames: hide, show and show_from look at each, focus and ignore
 * at any. Once a regex for frames is given, samples without a stack go.
 *
 * Not copied from pprof: it hides a location without a line even if show matches its mapping.
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
	/* Stacks begin, at the root's end, with the outermost such frame; samples without one go. */
	const regex_t *show_from;
	const struct tag *tag_focus;  /* keep samples with such a label */
	const struct tag *tag_ignore; /* drop samples with such a label */
};

/* Samples without a frame left are dropped. Returns how many samples went. */
size_t profile_filter_samples(struct profile *profile, const struct profile_filter *filter);

#endif
