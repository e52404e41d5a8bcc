/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Detects profiles of interpreted programs, in which the program's own functions are missing: native
 * stacks show the interpreter's loop, not the functions that it interprets. Samples with JIT-compiled code, or a
 * trampoline per function (python3 -X perf), do not count, since they show the program.
 */
#ifndef CPROF_PROFILE_INTERPRETER_H
#define CPROF_PROFILE_INTERPRETER_H

#include "profile/model.h"

struct interpreter {
	const char *language; /* "Python" */
	const char *loop;     /* the function that was found: "_PyEval_EvalFrameDefault" */
	const char *advice;   /* how to see the program's functions */
	double share;	      /* of the magnitudes of all samples: those that hide the program */
};

/*
 * Finds the interpreter that hides most, if it hides at least half of the profile; false: there is none.
 * loop is borrowed from the profile, the other texts are static.
 */
bool interpreter_hides(const struct profile *profile, uint32_t type,
		       struct interpreter *interpreter);

/* Is it of a function that cprof read from an interpreter's own stack? */
bool interpreter_shows(const struct profile *profile, const struct profile_location *location);

#endif
