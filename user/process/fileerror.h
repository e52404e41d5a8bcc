/* SPDX-License-Identifier: BSD-2-Clause */
/* Explains why a file behind a mapping is not open. */
#ifndef CPROF_PROCESS_FILEERROR_H
#define CPROF_PROCESS_FILEERROR_H

#include <stdbool.h>

/* What is known of a file that is not open. */
struct file_state {
	int error; /* as of files_error() */
	bool was_open;
	bool is_overwritten; /* since it was opened, in place */
};

/* In words, as "Too many open files"; "" where error is 0. Static. */
const char *file_error_words(const struct file_state *state);

#endif
