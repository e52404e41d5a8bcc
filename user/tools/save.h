/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes the output of the commands that read profiles to a file (output/file.h) or to stdout.
 *
 *	struct save save;
 *	err = save_open(&save, path);
 *	if (!err)
 *		err = save_close(&save, encode(profile, save_write, &save));
 */
#ifndef CPROF_TOOLS_SAVE_H
#define CPROF_TOOLS_SAVE_H

#include <stddef.h>

#include "output/file.h"
#include "profile/model.h"

struct save {
	struct output_file *file; /* NULL: stdout */
	const char *path;
};

/*
 * path: "-" is stdout, and so is NULL where stdout is not a terminal. -errno, printed. path is
 * borrowed.
 */
int save_open(struct save *save, const char *path);
/* The same for the file that path names in folder, an open one that is borrowed (output/folder.h). */
int save_open_in(struct save *save, int folder, const char *path);
/* Has the signature of a sink (output/pprof.h); ctx is the struct save. */
int save_write(void *ctx, const void *bytes, size_t len_bytes);
/*
 * err 0: renames the file to its final name. Otherwise discards it, and prints and returns err, unless it says
 * that the reader of a pipe is gone.
 */
int save_close(struct save *save, int err);
/* Removes what was written, and prints nothing. */
void save_abandon(struct save *save);

/* Writes a profile as pprof. -errno, printed. */
int save_profile(const struct profile *profile, const char *path);
int save_profile_in(const struct profile *profile, int folder, const char *path);

#endif
