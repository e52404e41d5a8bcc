/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes frames of a label's values, so that reports by function show shares by process, thread or
 * request.
 *
 *	comm=nginx	main;serve;read		alone	nginx		at the root	nginx;main;serve;read
 *	(no comm)	main;f				[no comm]			[no comm];main;f
 *
 * A number is decimal, with its unit: "4096bytes", as in the names of split.h.
 * Several values of one sample are one frame, "a,b".
 *
 * Source: pprof's -tagroot (internal/driver/tagroot.go), which has no frame for a sample without the
 * label.
 */
#ifndef CPROF_PROFILE_BYLABEL_H
#define CPROF_PROFILE_BYLABEL_H

#include <stdbool.h>

#include "profile/model.h"

/*
 * Changes the profile in place. With alone the value replaces the stack, otherwise it becomes its
 * outermost frame. Such a frame has no mapping. -ENOENT: no sample has the label; the profile is
 * unchanged.
 */
int profile_by_label(struct profile *profile, const char *key, bool alone);

/* The keys of all labels, each once, as "comm, pid"; "" without labels. Returns out, truncated to fit. */
char *profile_label_keys(const struct profile *profile, char *out, size_t out_bytes);

#endif
