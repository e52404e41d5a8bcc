/* SPDX-License-Identifier: BSD-2-Clause */
/* The exit codes, as README and man page promise them. A launched command's own code is passed on. */
#ifndef CPROF_EXIT_H
#define CPROF_EXIT_H

enum exit_code {
	EXIT_DONE = 0,
	EXIT_REGRESSION = 1, /* check and bench found one; lint found anything */
	EXIT_USAGE = 2,	  /* a wrong option, unreadable input, an output that cannot be written */
	EXIT_NOTHING = 3, /* nothing to profile, nothing that matches, not enough to decide */
	EXIT_CANNOT = 4,  /* privileges are missing, or the kernel lacks something */
	EXIT_LIMIT = 5,	  /* heap: stopped by --max-overhead; what there was is written */
};

#endif
