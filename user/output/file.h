/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes output files safely, as a program that runs as root must: beside their final name and renamed
 * when whole, mode 0600, given to the user behind sudo; never through a symlink, never over something
 * that is not a regular file, never over another user's file. A full disk leaves the old file as it was.
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

struct output_owner { /* who gets the file */
	bool given;   /* false: keep the writer's ids */
	uid_t uid;
	gid_t gid;
};
/* From SUDO_UID and SUDO_GID, if both are there and we are root. */
struct output_owner output_owner_from_env(void);

struct output_file;

/*
 * Checks the place (the folder can be written, the final name is free or a regular file that the
 * owner or the writer owns) and opens the temporary. -ELOOP: the name is a symlink; -EEXIST: it is
 * something else that must not be replaced; other -errno of open().
 */
int output_file_create(const char *path, const struct output_owner *owner,
		       struct output_file **file);
/* The same for name, without a slash, in the folder that is open as folder (output/folder.h), borrowed. */
int output_file_create_at(int folder, const char *name, const struct output_owner *owner,
			  struct output_file **file);
/* Only the check, leaving nothing behind: to fail before a run rather than after it. */
int output_file_check(const char *path, const struct output_owner *owner);
/* Its commit does not wait for the disk: one of many files, soon after which comes the next. */
void output_file_do_not_wait(struct output_file *file);
/* Has the signature of a sink (output/pprof.h); ctx is the struct output_file. */
int output_file_write(void *ctx, const void *bytes, size_t len_bytes);
/* fsync (unless output_file_do_not_wait() was called), rename into place, free. On an error nothing is left but what was there before. */
int output_file_commit(struct output_file *file);
void output_file_abandon(struct output_file *file); /* NULL is fine */
/*
 * Opens a new file at path for writing, for what is written piece by piece over a long time: no temporary, a
 * file that is there is removed first. The same check. A descriptor that the caller owns, or -errno.
 */
int output_file_open_new(const char *path, const struct output_owner *owner);
/* Removes the temporary of the file created last, if it is not finished. Safe in a signal handler. */
void output_file_remove_temporary(void);
/*
 * Has the signature of a sink, too: writes to standard output, which the name "-" stands for; ctx is not
 * used. -EPIPE: its reader went away, if SIGPIPE has not ended us.
 */
int output_stdout_write(void *ctx, const void *bytes, size_t len_bytes);
bool output_is_stdout(const char *path);
/* Prints why path cannot be written, by an error of these; returns err. */
int output_file_fail(int err, const char *path);

#endif
