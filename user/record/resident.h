/* SPDX-License-Identifier: BSD-2-Clause */
/* Holds what a process has in use against what of it is resident. */
#ifndef CPROF_RECORD_RESIDENT_H
#define CPROF_RECORD_RESIDENT_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/bound.h"

/* The resident memory of a process, from the text of procfs_memory(), in bytes. */
struct resident {
	uint64_t rss, anon, file, shmem, swap;
};

/* false: the text lacks some of it. */
bool resident_read(const char *text, struct resident *resident);

/* What blocks take that are in use. */
struct resident_inuse {
	uint64_t bytes;
	uint64_t error_bytes; /* the standard error of bytes; 0: everything was sampled */
	enum bound bound;     /* there may be more of them, or fewer */
};

/*
 * Prints one line: the RSS of process tgid now, by kind, and what of its anonymous memory is in none of these blocks, unless
 * that is less than two standard errors. Nothing if the process is gone.
 */
void resident_say(const char *proc_root, uint32_t tgid, const struct resident_inuse *inuse);

#endif
