/* SPDX-License-Identifier: BSD-2-Clause */
/* Explains which files of the targets are not probed although they may allocate. */
#ifndef CPROF_HEAP_UNPROBED_H
#define CPROF_HEAP_UNPROBED_H

#include <stddef.h>

#include "heap/candidates.h"
#include "process/files.h"

/* Why a file cannot be probed, in words, from the -errno of session_probe() or files_error(). Static. */
const char *unprobed_error(int err);
/*
 * "1 file that cannot be probed ('/tmp/a.so': ...), 488 files beyond the limit of 1,024 (512 for one user)", in out; ""
 * if every file was examined and every allocator is probed. Returns out.
 */
char *unprobed_words(const struct candidates *candidates, const struct files *files, char *out,
		     size_t out_bytes);

#endif
