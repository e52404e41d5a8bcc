/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds cost that moved from one function to another, which is no regression.
 *
 * A function that was renamed, split, merged, extracted or inlined grew from nothing, or by what another lost. If
 * the cost that is new in one function is gone from another, and their callers or callees are the same, nothing
 * regressed. This is the part of FBDetect's "cost shift" (SOSP 2024) that a call graph shows.
 *
 * Flat values come first, since each sample counts in one of them. The functions that grew, largest first, are
 * explained by those that shrank:
 *
 *	a new function by one that is gone: with the same callers or callees; or else
 *	of the same size, if the total of the program did not grow
 *	by functions that call it now, or that it called (extracted, inlined)
 *	by functions that are gone, with a common caller (merged, split)
 *	a new function by one that shrank, with a common caller, if their sum did not change (split)
 *	a function whose cumulative value did not grow, by what it called
 *
 * Callers and callees are the nearest ones that exist on both sides, so that a whole chain may be renamed. A loss
 * explains one growth only. And it must explain enough of the growth: both are tested again as one function (the sum of
 * their values, run by run), which must not regress. So a function that was renamed and became slower is still a
 * regression.
 *
 * A cumulative value that grew has moved if its growth consists of moved cost, and of calls of functions that did
 * not grow as a whole.
 */
#ifndef CPROF_GATE_MOVED_H
#define CPROF_GATE_MOVED_H

#include "gate/compare.h"

/* Sets the outcome of both sides of each move to GATE_MOVED, and adds the moves to the result. */
void gate_find_moved(struct comparison *comparison);

#endif
