/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Gives a run its symbolizer, made when the first files are written.
 *
 * Reading the kernel's symbols takes as long as the rest of symbolization together, so it is done only when the first of
 * its functions is named.
 */
#ifndef CPROF_RECORD_NAMING_H
#define CPROF_RECORD_NAMING_H

#include <stdbool.h>

#include "sandbox/parser.h"
#include "process/files.h"
#include "process/task.h"
#include "record/ifuncnames.h"
#include "record/kernelcode.h"
#include "record/symbolize.h"

/* All but the last two are the caller's, and borrowed. */
struct naming {
	struct tasks *tasks;
	struct files *files;
	struct parser *parser;
	const struct ifuncnames *ifuncnames;
	struct debugfile_dirs dirs;    /* of --debug-dir */
	bool lines, inlines;	       /* symbolizer_ask_for() these */
	uint64_t timeout_ns;	       /* of looking up names, from each naming_symbolizer() on */
	struct namecache *cache;       /* NULL: there is none */
	struct kernelcode *kernelcode; /* what the kernel announced; NULL: nothing */
	struct kallsyms *kallsyms;     /* private */
	struct symbolizer *symbolizer; /* private; NULL until asked for */
};

/* The symbolizer for the files that are being written. Never NULL; borrowed until naming_release(). */
struct symbolizer *naming_symbolizer(struct naming *naming);
/* Warns of addresses that have no name because the user interrupted symbolization, or a file could not be opened. */
void naming_say(const struct naming *naming);
void naming_release(struct naming *naming);

#endif
