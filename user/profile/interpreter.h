/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whose functions are not in a profile: an interpreter's stacks are those of its loop, and what the
 * program does is in its data. Unless something shows it all the same: a JIT's code, a trampoline for
 * each function (python3 -X perf).
 */
#ifndef CPROF_PROFILE_INTERPRETER_H
#define CPROF_PROFILE_INTERPRETER_H

#include "profile/model.h"

struct interpreter {
	const char *language; /* "Python" */
	const char *loop;     /* the function that was found: "_PyEval_EvalFrameDefault" */
	const char *advice;   /* what shows the program's functions */
	double share;	      /* of the magnitudes of all samples, those that hide a program's */
};

/*
 * The interpreter that hides most, if that is at least half of the profile; false: there is none.
 * loop is borrowed from the profile, the other texts are static.
 */
bool interpreter_hides(const struct profile *profile, uint32_t type,
		       struct interpreter *interpreter);

#endif
