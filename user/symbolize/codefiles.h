/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where code's files are found: what naming code needs to know of those who hold the files.
 *
 * A file is known by a number, below FILES_MAX_KNOWN. record knows the files that processes map (record/processfiles.h),
 * symbolize those of this machine that a profile names (symbolize/localfiles.h).
 */
#ifndef CPROF_SYMBOLIZE_CODEFILES_H
#define CPROF_SYMBOLIZE_CODEFILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct codefiles {
	void *ctx;
	/* A descriptor for reading, borrowed until the next call for any file. -1: it cannot be opened. */
	int (*fd)(void *ctx, uint32_t file);
	/* The path that it has where it is mapped. Borrowed. */
	const char *(*path)(const void *ctx, uint32_t file);
	/* A descriptor, owned by the caller, of what is at a path that this machine or its user chose; -errno. */
	int (*open)(void *ctx, const char *path);
	/* The same of a path that holds where the file is mapped, and that the file may have chosen. */
	int (*beneath)(void *ctx, uint32_t file, const char *path);
	/*
	 * The path of the nr-th file with that build-id, from 0 on, below the folders that the user gave. false: there
	 * are no more. NULL: they are not searched.
	 */
	bool (*search)(void *ctx, const char *build_id, uint32_t nr, char *path, size_t size);
	/*
	 * Told of a debug file at path that is not used. why: -ESTALE: it belongs to another file; -ENOEXEC: it is not ELF;
	 * others of open(). NULL: nobody wants to know.
	 */
	void (*refused)(void *ctx, const char *path, int why);
	/* Is it a debug file that a server sent, so that there is no other to be had? NULL: none is. */
	bool (*is_fetched)(const void *ctx, uint32_t file);
};

#endif
