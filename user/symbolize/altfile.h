/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the alternate file of a file's DWARF (object/altlink.h), which dwz(1) moved shared names into. Debian's debug files
 * have one for each source package. It is looked for
 *
 *	in the folders that the user gave and in /usr/lib/debug: by its id in .build-id, and by the end of its path in .dwz
 *	below the root of the process that maps the file: in /usr/lib/debug, in the same two ways
 *	at the path that the file notes, which may count from the file's own folder, below the same root as the file
 *	on debuginfod servers, if the user wants that
 *
 * and taken if it has the id that the file notes.
 */
#ifndef CPROF_SYMBOLIZE_ALTFILE_H
#define CPROF_SYMBOLIZE_ALTFILE_H

#include <stddef.h>
#include <stdint.h>

#include "symbolize/debugfile.h"
#include "sandbox/parser.h"

#define ALTFILES_MAX \
	4096 /* of further files it is not looked for; numbers of companions go up to there */

struct altfiles;

/* All borrowed. */
struct altfiles *altfiles_new(struct debugfiles *debugfiles, struct parser *parser);
void altfiles_free(struct altfiles *altfiles); /* NULL is fine */

/*
 * The alternate file of the one with this key, which is a file's or that of its debug file, and which the parser knows. NULL: it
 * refers to none, or that was not found, which is remembered. Borrowed until the next call.
 */
const struct parser_companion *altfiles_find(struct altfiles *altfiles, uint32_t key);

/*
 * The number of files whose alternate file was not found; of the first of them its index and the path it notes (borrowed;
 * untouched for 0).
 */
size_t altfiles_nr_missing(const struct altfiles *altfiles, uint32_t *file, const char **path);

#endif
