/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Restricts the files that a process can open, make, remove or run, by where they are (landlock(7), Linux 5.13).
 *
 * Files that are open already are not concerned. Where the kernel knows how, ports, abstract sockets and signals to others
 * are forbidden as well.
 */
#ifndef CPROF_SANDBOX_LANDLOCK_H
#define CPROF_SANDBOX_LANDLOCK_H

#include <stddef.h>

/* What may be done with a file, or with all that is below a folder: a set. */
enum landlock_use {
	LANDLOCK_READ = 1,	  /* files and folders */
	LANDLOCK_WRITE = 2,	  /* a file that is there */
	LANDLOCK_WRITE_BELOW = 4, /* files and folders: write, make, replace; remove files */
};

struct landlock_grant {
	int fd; /* O_PATH is enough; borrowed */
	unsigned int uses;
};

/*
 * Of the calling thread, which has no_new_privs, and all that it makes afterwards. Nothing is allowed but what is granted.
 * -errno: nothing is restricted; -ENOSYS or -EOPNOTSUPP where the kernel has no landlock.
 */
int landlock_restrict(const struct landlock_grant *grants, size_t nr);
/* The same of files alone: the network is as it was. */
int landlock_restrict_files(const struct landlock_grant *grants, size_t nr);

#endif
