/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens the folder that output files go to, safely where other users can create names too.
 *
 * A shared folder is one that is sticky and writable by others, as /tmp is. Any user can create a name in it,
 * so a folder in it is used only if we have just created it, or if it is owned by us, the user behind sudo, root or the
 * owner of the shared folder. A symbolic link is never followed in the last part of the path. The
 * files are then created relative to the descriptor (output_file_create_at()), even if the name changes.
 */
#ifndef CPROF_OUTPUT_FOLDER_H
#define CPROF_OUTPUT_FOLDER_H

#include <stdbool.h>

#include "output/file.h"

enum output_folder_kind {
	OUTPUT_FOLDER_ANY, /* use the folder if it exists, otherwise create it */
	OUTPUT_FOLDER_NEW, /* create it; refuse a name that exists */
};

/*
 * Opens or creates the folder at path; a new one has mode 0700 and is given to owner. *fd is for openat() and the like;
 * the caller closes it. -errno, printed.
 */
int output_folder_open(const char *path, enum output_folder_kind kind,
		       const struct output_owner *owner, int *fd);

/*
 * Whether fd, which was opened at path without O_EXCL, may be written to: in a shared folder only if it is a regular
 * file with one name and a trusted owner, as for folders; elsewhere always. 0 or -EEXIST, as output_file_create().
 */
int output_check_shared_file(int fd, const char *path, const struct output_owner *owner);

#endif
