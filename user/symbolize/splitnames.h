/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions of code whose debug information is in split units (-gsplit-dwarf): in a package beside the file, or in the
 * .dwo file that each unit notes.
 *
 *	FILE.dwp, FILE the program or its debug file; in the folders that the user gave: its name, also by FILE's folder
 *	the .dwo file at its path, below the root of the process that maps the file; its name beside FILE; in the folders
 *	that the user gave: its path below the folder, and its name
 *
 * A unit counts if it has the id that the file notes.
 */
#ifndef CPROF_SYMBOLIZE_SPLITNAMES_H
#define CPROF_SYMBOLIZE_SPLITNAMES_H

#include <stddef.h>
#include <stdint.h>

#include "symbolize/debugfile.h"
#include "sandbox/parser.h"

struct splitnames;

/* All borrowed. first_number: from there on, numbers of companions are its own. */
struct splitnames *splitnames_new(struct debugfiles *debugfiles, struct parser *parser,
				  uint32_t first_number);
void splitnames_free(struct splitnames *splitnames); /* NULL is fine */

/* What is found of the i-th address; name is borrowed for the call. */
typedef void (*splitnames_fn)(void *ctx, size_t i, const struct reply_name *name);
/*
 * Calls fn for those of nr addresses whose functions are in split units that are found. code is that of the question that said
 * so; its companion is left as it is.
 */
void splitnames_ask(struct splitnames *splitnames, const struct parser_code *code,
		    const uint64_t *elf_addrs, size_t nr, splitnames_fn fn, void *ctx);

/* A sentence about the .dwo files that were not found, owned by the caller; NULL: there are none. */
char *splitnames_say_missing(const struct splitnames *splitnames);

#endif
