/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the separate debug file of an ELF file: the symbols that strip(1) took away.
 *
 * Packages put them into /usr/lib/debug, named by the build-id (.build-id/ab/cdef....debug), or by the name and folder of
 * the file that they belong to, with the name that this file notes (.gnu_debuglink). It is looked for
 *
 *	in the folders that the user gave: by build-id, also if the folder is itself a .build-id; by folder and name; by name
 *	in /usr/lib/debug, by build-id
 *	below the root of the process that maps the file: in /usr/lib/debug by build-id; by name in the file's own
 *	folder, in .debug in there, and in the same folder below /usr/lib/debug
 *	wherever it lies below the folders that the user gave, if codefiles.h has a search
 *	on debuginfod servers by build-id, if the user wants that (debuginfod/fetcher.h)
 *
 * What is found belongs to the file if both have the same build-id. Where one of them has none, the checksum decides that
 * the file notes with the name.
 */
#ifndef CPROF_SYMBOLIZE_DEBUGFILE_H
#define CPROF_SYMBOLIZE_DEBUGFILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "debuginfod/fetcher.h"
#include "process/files.h"
#include "sandbox/parser.h"
#include "symbolize/codefiles.h"

#define DEBUGFILE_FOLDER    "/usr/lib/debug"
#define DEBUGFILE_MAX_FOUND 8 /* files with a build-id, by search, that are tried */

/*
 * The parser's key of a debug file: this bit, the file that it belongs to, and in which place it was found. Not in
 * PARSER_VDSO and MESSAGE_COMMAND.
 */
#define DEBUGFILE_KEY (1u << 30)

static inline bool debugfile_is_key(uint32_t key)
{
	return key >> 30 == 1;
}

static inline uint32_t debugfile_owner(uint32_t key)
{
	return key & (FILES_MAX_KNOWN - 1);
}

/* The folders to search for debug files, besides those of the system. All borrowed. */
struct debugfile_dirs {
	const char *const *at; /* folders, in the order of the command line */
	size_t nr;
	struct fetcher *fetcher; /* NULL: nothing is downloaded */
};

struct debugfiles;

/* The parser, and what files are of, are borrowed. */
struct debugfiles *debugfiles_new(const struct codefiles *files, struct parser *parser);
/* Before the first debugfiles_open(). */
void debugfiles_look_in(struct debugfiles *debugfiles, struct debugfile_dirs dirs);
void debugfiles_free(struct debugfiles *debugfiles); /* NULL is fine */

/*
 * A descriptor of the debug file of file, that the caller owns, and the parser's *key for it. The parser knows file
 * (parser_file()). -ENOENT: there is none, or none that belongs to it, which is remembered.
 */
int debugfiles_open(struct debugfiles *debugfiles, uint32_t file, uint32_t *key);

/* The place where a key's file was found. */
struct debugfile_place {
	char path[PATH_MAX];
	bool is_of_process; /* path counts from the root of the process that maps the file */
};
/*
 * Of a key of debugfiles_open(), or of a file itself. false: there is no such path.
 */
bool debugfiles_place(const struct debugfiles *debugfiles, uint32_t key,
		      struct debugfile_place *place);
/* A descriptor, that the caller owns, of what is at a place, seen from file. Who uses it has to check that it is what it should be. */
int debugfiles_open_place(const struct debugfiles *debugfiles, uint32_t file,
			  const struct debugfile_place *place);
/*
 * A descriptor, that the caller owns, of what a debuginfod server has for a build-id; the same one is not asked for twice.
 * -ENOENT: none, or nothing is downloaded.
 */
int debugfiles_fetch(struct debugfiles *debugfiles, const char *build_id);
/* How long servers were waited for. */
uint64_t debugfiles_waited_ns(const struct debugfiles *debugfiles);
/* The i-th of the folders that are looked in: the user's, then the system's. NULL: there are no more. */
const char *debugfiles_folder(const struct debugfiles *debugfiles, size_t i);
/* Appends the parts of a path to an absolute one or "", which each ".." shortens. false: it gets too long, and is cut. */
bool debugfile_append_path(char *path, size_t size, const char *parts);
/* FOLDER/.build-id/ab/cdef.debug. false: build_id is none, or the path is too long. */
bool debugfile_by_build_id(const char *folder, const char *build_id, char *path, size_t size);

#endif
