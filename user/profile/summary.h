/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A profile added up by frame: the value in each frame (flat), in it and below it (cum), and on each
 * edge from a caller to a callee. It is what top, peek and diff show.
 *
 * The value of a sample counts in the flat of its innermost frame, and once in the cum of every frame of the stack,
 * even if a recursive function occurs several times. An edge caller -> callee also counts once per sample, and a
 * frame that calls itself has no edge to itself. Sums saturate at the limits of int64_t.
 *
 *	struct summary summary;
 *	summary_make(profile, type, FRAME_BY_FUNCTION, &summary);
 *	for (size_t i = 0; i < summary.nr; i++)
 *		row(summary.nodes[i].frame->name, summary.nodes[i].flat, summary.nodes[i].cum);
 *	summary_release(&summary);
 *
 * The order depends only on the profile: by magnitude, then by name. No I/O, no printing.
 *
 * Source: pprof's internal/graph, `go tool pprof -top -nodefraction=0` shows the same rows.
 */
#ifndef CPROF_PROFILE_SUMMARY_H
#define CPROF_PROFILE_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/frames.h"

struct summary_edge {
	uint32_t caller, callee; /* positions in nodes */
	int64_t value;
	bool is_inline; /* the callee was inlined into the caller everywhere */
};

struct summary_node {
	const struct frame *frame;
	int64_t flat, cum;
	/* Largest first. Borrowed from the summary. */
	const struct summary_edge *callers, *callees;
	uint32_t nr_callers, nr_callees;
};

struct summary {
	struct frames frames;
	/* Frames that are in a sample whose value is not 0; largest |flat| first, then by name. */
	struct summary_node *nodes;
	size_t nr;
	uint32_t *by_cum; /* nr positions in nodes: largest |cum| first, then by name */
	/*
	 * The sum of the samples' magnitudes: what shares are of, unless the profile was filtered
	 * (then they are of what there was before: selection.total). A diff's samples labelled
	 * "pprof::base" are a whole of their own, see profile_whole().
	 */
	int64_t total;
	int64_t unplaced; /* the part of total that is in samples without a stack */
	struct summary_edge *edges, *edges_in; /* private: sorted by caller, by callee */
};

/* type: position of a sample type. Borrows profile until summary_release(). */
void summary_make(const struct profile *profile, uint32_t type, enum frame_by by,
		  struct summary *summary);
void summary_release(struct summary *summary);

/*
 * What 100 % is: the sum of magnitudes of all samples, or of those labelled pprof::base = true if
 * there are any (go tool pprof -diff_base: shares are of the base).
 */
int64_t profile_whole(const struct profile *profile, uint32_t type);

#endif
