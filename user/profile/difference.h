/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two profiles compared frame by frame: the values of each frame in both, including frames that only one
 * has. Frames with the same name are the same; profile/unify.h gives them the same names first. No
 * I/O, no printing.
 *
 *	struct difference difference;
 *	difference_make(&base_summary, &head_summary, false, &difference);
 *	for (size_t i = 0; i < difference.nr; i++)
 *		show(difference.rows[i].name, difference_of(&difference.rows[i].flat));
 *	difference_release(&difference);
 */
#ifndef CPROF_PROFILE_DIFFERENCE_H
#define CPROF_PROFILE_DIFFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/summary.h"

struct two_values {
	int64_t base, head;
};

struct difference_row {
	const char *name;	     /* the summaries' */
	const struct frame *frame;   /* of this name, in one of them */
	bool in_base, in_head;	     /* in at least one of them */
	struct two_values flat, cum; /* 0 on a side that does not have it */
};

struct difference {
	/* Those whose flat or cum differs: largest |difference| of flat (or cum) first, then of the
	 * other, then by name. */
	struct difference_row *rows;
	size_t nr;
};

/* Borrows the frames of both summaries until difference_release(). */
void difference_make(const struct summary *base, const struct summary *head, bool by_cum,
		     struct difference *difference);
void difference_release(struct difference *difference);

/* head - base; saturates at the limits of int64_t. */
int64_t difference_of(const struct two_values *values);

#endif
