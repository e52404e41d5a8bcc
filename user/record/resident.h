/* SPDX-License-Identifier: BSD-2-Clause */
/* Holds what a process has in use against what of it is resident. */
#ifndef CPROF_RECORD_RESIDENT_H
#define CPROF_RECORD_RESIDENT_H

#include <stdbool.h>
#include <stdint.h>

/* From the text of procfs_memory(), in bytes. */
struct resident {
	uint64_t rss, anon, file, shmem, swap;
};

/* false: the text lacks some of it. */
bool resident_read(const char *text, struct resident *resident);

/*
 * Prints one line: the RSS of process tgid now, by kind, and what of its anonymous memory is in none of the blocks that are
 * in use, which take inuse_bytes; at_least: there may be more of them. Nothing if the process is gone.
 */
void resident_say(const char *proc_root, uint32_t tgid, uint64_t inuse_bytes, bool at_least);

#endif
