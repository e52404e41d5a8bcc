/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files of this machine that a profile's mappings are of, found by build-id.
 *
 * Looked for, for a build-id abcdef..., in this order; the first that has it is the file:
 *
 *	at the mapping's path
 *	in each folder that the user gave: .build-id/ab/cdef.., .build-id/ab/cdef...debug, .build-id/ab/cdef../elf (as perf
 *	has it), ab/cdef...debug
 *	/usr/lib/debug/.build-id/ab/cdef...debug
 *	wherever it lies below the folders that the user gave (symbolize/folderscan.h)
 *	on debuginfod servers, if the user wants that: its debug file (debuginfod/fetcher.h)
 *
 * A profile is untrusted, and it names paths: nothing but regular files are opened for reading (process/vetted.h), at most
 * LOCALFILES_MAX of them, and the parser alone reads what is in them. A file that changes while it is used is not used on.
 */
#ifndef CPROF_SYMBOLIZE_LOCALFILES_H
#define CPROF_SYMBOLIZE_LOCALFILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sandbox/parser.h"
#include "process/mapping.h"
#include "symbolize/codefiles.h"
#include "symbolize/debugfile.h"

#define LOCALFILES_MAX 16384

struct localfiles;

/* All borrowed. Never NULL. */
struct localfiles *localfiles_new(struct parser *parser, struct debugfile_dirs dirs);
void localfiles_free(struct localfiles *files); /* NULL is fine */

/* Borrows files. */
struct codefiles localfiles_access(struct localfiles *files);

/*
 * The number of the file with this build-id (lower-case hexadecimal digits); path is where it was mapped. build_id "": the file
 * at path, whichever it is now. FILE_NONE: there is none here, which is remembered.
 */
uint32_t localfiles_find(struct localfiles *files, const char *path, const char *build_id);
/* When it was changed last in any way (CLOCK_REALTIME), 0 if that is not known. */
int64_t localfiles_changed_ns(const struct localfiles *files, uint32_t file);
/* The path of the file that the parser knows by key, which may be that of a debug file. Borrowed. */
const char *localfiles_path(const struct localfiles *files, uint32_t key);

/* A file that was there, under a name that it should have, and was not used. */
struct localfile_refusal {
	char *path; /* owned by the localfiles */
	int why;    /* codefiles.h */
};
size_t localfiles_nr_refused(const struct localfiles *files);
const struct localfile_refusal *localfiles_refused(const struct localfiles *files, size_t i);
/* Were there more files below the folders that the user gave than are searched? */
bool localfiles_is_cut(const struct localfiles *files);

#endif
