/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tells which files are on a file system that somebody privileged has mounted.
 *
 * Any user can make a user namespace and mount an overlay there, over a FUSE file system of his (Linux 5.11), and no system
 * call says who mounted it. But nobody without privileges in cprof's user namespace can mount anything in a mount namespace
 * that belongs to that: cprof's own, and that of process 1, where cprof runs in a container and sees the host's processes.
 * Container engines mount a container's file system in the host's namespace first. So what counts is whether the file
 * system stands there, too.
 */
#ifndef CPROF_PROCESS_MOUNTS_H
#define CPROF_PROCESS_MOUNTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/vec.h"

struct mount {
	uint64_t id;
	uint32_t dev_major, dev_minor; /* of the file system */
};

/* What is mounted in a namespace, as of the last look. */
struct mount_table {
	FILE *file; /* its mountinfo; NULL: there was none */
	vec_of(struct mount) all;
};

/* Zeroed: nothing is known yet. */
struct mounts {
	struct mount_table own, of_init;
};

/*
 * Is what fd is open on on such a file system? task, a tgid or a tid, has the file mapped or below its root; 0: it was found
 * by a path of the host. false also where that cannot be told.
 */
bool mounts_are_privileged(struct mounts *mounts, uint32_t task, int fd);
void mounts_release(struct mounts *mounts);

#endif
