/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes output files safely, as a program that runs as root must.
 *
 * A file is written under a temporary name in the same folder and renamed when it is complete. Its mode is
 * 0600, and it belongs to the user who called sudo. A symlink is never followed, and nothing is replaced but
 * a regular file of this user. A full disk leaves the old file as it was.
 *
 *	struct output_file *file;
 *	err = output_file_create("cprof.pb.gz", &owner, &file);
 *	err = output_file_write(file, bytes, len);	any number of times
 *	err = output_file_commit(file);			or output_file_abandon(file)
 */
#ifndef CPROF_OUTPUT_FILE_H
#define CPROF_OUTPUT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct output_owner { /* who will own the file */
	bool given;   /* false: keep the writer's ids */
	uid_t uid;
	gid_t gid;
};
/* The user who called sudo, from SUDO_UID and SUDO_GID, if both are set and this process is root. */
struct output_owner output_owner_from_env(void);

struct output_file;

/*
 * Checks that the folder can be written and that the final name is free or a regular file of the owner or
 * the writer, and opens the temporary file. -ELOOP: the name is a symlink; -EEXIST: it must not be replaced
 * for another reason; other -errno of open().
 */
int output_file_create(const char *path, const struct output_owner *owner,
		       struct output_file **file);
/* The same for name, without a slash, in the folder that is open as folder (output/folder.h), borrowed. */
int output_file_create_at(int folder, const char *name, const struct output_owner *owner,
			  struct output_file **file);
/* The check alone, which leaves nothing behind: to fail before a run, not after it. */
int output_file_check(const char *path, const struct output_owner *owner);
/* Commits without waiting for the disk: for one of many files that follow one another. */
void output_file_do_not_wait(struct output_file *file);
/* Has the signature of a sink (output/pprof.h); ctx is the struct output_file. */
int output_file_write(void *ctx, const void *bytes, size_t len_bytes);
/*
 * fsync (unless output_file_do_not_wait() was called), rename into place, free. On an error only what was there
 * before is left.
 */
int output_file_commit(struct output_file *file);
void output_file_abandon(struct output_file *file); /* NULL is fine */
/*
 * Opens a new file at path for output that is written over a long time: without a temporary file; an existing
 * file is removed first, after the same check. A descriptor that the caller owns, or -errno.
 */
int output_file_open_new(const char *path, const struct output_owner *owner);
/* Removes the temporary of the last created file, unless it was finished. Safe in a signal handler. */
void output_file_remove_temporary(void);
/*
 * Has the signature of a sink; writes to standard output, which the name "-" means. ctx is not used. -EPIPE:
 * the reader is gone (and SIGPIPE is ignored).
 */
int output_stdout_write(void *ctx, const void *bytes, size_t len_bytes);
bool output_is_stdout(const char *path);
/* Prints why path cannot be written, for an err of these functions; returns err. */
int output_file_fail(int err, const char *path);

#endif
