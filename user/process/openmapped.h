/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens the file behind a mapping, in each way that there is.
 *
 * The first is the kernel's own link to the inode, /proc/PID/map_files/START-LIMIT. Where the process is gone already or may
 * not be inspected, the path is opened, first under /proc/PID/root and then on the host, and must have the expected
 * device and inode. Files from map_files are not held to that: on overlay and btrfs, maps shows another device than
 * stat does. For these only the inode number is compared, in case the mapping was replaced since.
 *
 * A target chooses its paths, so all are opened with care (process/vetted.h).
 */
#ifndef CPROF_PROCESS_OPENMAPPED_H
#define CPROF_PROCESS_OPENMAPPED_H

#include <stdbool.h>
#include <stdint.h>

#include "process/vetted.h"

/* A file as a line of maps shows it. */
struct mapped_file {
	uint32_t task; /* who maps it: a tgid or a tid */
	uint64_t start, limit;
	struct inode_id inode;
	const char *path; /* in the process's namespace; borrowed */
};

/* What else is known after a try. */
struct mapped_ways {
	bool is_refused;   /* map_files itself led to nothing to be opened: it will not again */
	bool is_forbidden; /* permission was denied on one of the ways */
	/* Only where the opener was asked (process/opener.h): */
	bool has_stalled; /* it led to no answer */
	bool is_copy;	  /* the descriptor is of a copy in memory (process/filecopy.h) */
};

/* A descriptor for reading that the caller owns, or -errno as of vetted_open(). *ways is set in any case. */
int mapped_open(const char *proc_root, const struct mapped_file *file, struct mapped_ways *ways);

#endif
