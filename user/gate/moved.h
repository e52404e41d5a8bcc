/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds cost that moved from one function to another, which is no regression. A function that was
 * renamed, split, merged, extracted from another or inlined into one has grown from nothing, or by what
 * another lost. It is no regression if what is new in one place is gone from another and the callers or
 * callees are the same. Of FBDetect's "cost shift" (SOSP 2024) this is the part that a call graph shows.
 *
 * Flat values come first, since each sample is in one of them. What grew is explained, largest first, by
 * what shrank:
 *
 *	a new function by one that is gone: called by the same functions, or calling the same; or else
 *	just as large, in a program whose total did not grow
 *	by functions that call it now, or that it called (extracted, inlined)
 *	by functions that are gone, with a common caller (merged, split)
 *	a new function by one that shrank, with a common caller, if both together are as before (split)
 *	a function whose cumulative value did not grow, by what it called
 *
 * Callers and callees are the nearest that there are on both sides, so that a whole chain may be
 * renamed. A loss explains once. And it must explain enough: what grew and what shrank are tested again
 * as one function (the sum of their values, run by run), which must not regress. A function that was
 * renamed and became slower is a regression still.
 *
 * A cumulative value that grew has moved, if nothing but moved cost, and calls of functions that did not
 * grow as a whole, are in its growth.
 */
#ifndef CPROF_GATE_MOVED_H
#define CPROF_GATE_MOVED_H

#include "gate/compare.h"

/* Makes GATE_MOVED of tests that regressed, or shrank for that; adds the result's moves. */
void gate_find_moved(struct comparison *comparison);

#endif
