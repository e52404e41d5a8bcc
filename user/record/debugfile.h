/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the separate debug file of an ELF file: the symbols that strip(1) took away.
 *
 * Packages put them into /usr/lib/debug, named by the build-id (.build-id/ab/cdef....debug), or by the name and folder of
 * the file that they belong to, with the name that this file notes (.gnu_debuglink). It is looked for
 *
 *	in the folders that the user gave: by build-id, by folder and name, by name
 *	in /usr/lib/debug, by build-id
 *	below the root of the process that maps the file: in /usr/lib/debug by build-id; by name in the file's own
 *	folder, in .debug in there, and in the same folder below /usr/lib/debug
 *
 * What is found belongs to the file if both have the same build-id. Where one of them has none, the checksum decides that
 * the file notes with the name.
 */
#ifndef CPROF_RECORD_DEBUGFILE_H
#define CPROF_RECORD_DEBUGFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "process/files.h"
#include "sandbox/parser.h"

#define DEBUGFILE_FOLDER "/usr/lib/debug"

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

/* Folders of debug files, in the order of the command line. The texts are borrowed. */
struct debugfile_dirs {
	const char *const *at;
	size_t nr;
};

struct debugfiles;

/* All borrowed. */
struct debugfiles *debugfiles_new(struct files *files, struct parser *parser);
/* Before the first debugfiles_open(). */
void debugfiles_look_in(struct debugfiles *debugfiles, struct debugfile_dirs dirs);
void debugfiles_free(struct debugfiles *debugfiles); /* NULL is fine */

/*
 * A descriptor of the debug file of file, that the caller owns, and the parser's *key for it. The parser knows file
 * (parser_file()). -ENOENT: there is none, or none that belongs to it, which is remembered.
 */
int debugfiles_open(struct debugfiles *debugfiles, uint32_t file, uint32_t *key);

#endif
