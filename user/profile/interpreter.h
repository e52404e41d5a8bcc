/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Detects profiles of interpreted programs, in which the program's own functions are missing: native
 * stacks show the interpreter's loop, and not what it interprets. A JIT's code or a trampoline for each
 * function (python3 -X perf) shows the program all the same; such samples do not count.
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
