/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where tests put their files: all below one folder under $TMPDIR, or /tmp, that goes when the program
 * ends, whether its cases passed or not. scripts/run-tests.sh gives each program a TMPDIR of its own
 * and removes that, too: programs that are killed leave nothing, either.
 */
#ifndef CPROF_TESTS_TEMP_H
#define CPROF_TESTS_TEMP_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

static char *temp_home;
static pid_t temp_owner; /* children that exit() leave it alone */

static inline void temp_remove(void)
{
	char *command scoped(freep) = xasprintf("rm -rf '%s'", temp_home);

	if (getpid() == temp_owner && system(command))
		fprintf(stderr, "%s is left behind\n", temp_home);
	free(temp_home);
}

/* The path of a file there, owned by the caller. Others may pass through the folder. */
static inline char *temp_path(const char *name)
{
	const char *under = getenv("TMPDIR");

	if (!temp_home) {
		temp_home = xasprintf("%s/cprof-test-XXXXXX", under && *under ? under : "/tmp");
		if (!mkdtemp(temp_home) || chmod(temp_home, 0755) || atexit(temp_remove)) {
			perror(temp_home);
			abort();
		}
		temp_owner = getpid();
	}
	return xasprintf("%s/%s", temp_home, name);
}

/* The path of a new folder, mode 0700, owned by the caller. */
static inline char *temp_folder(void)
{
	char *path = temp_path("XXXXXX");

	if (!mkdtemp(path)) {
		perror(path);
		abort();
	}
	return path;
}

/* The path of a new, empty file, owned by the caller; *fd is open for reading and writing. */
static inline char *temp_file(int *fd)
{
	char *path = temp_path("XXXXXX");

	*fd = mkstemp(path);
	if (*fd < 0) {
		perror(path);
		abort();
	}
	return path;
}

#endif
