/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who names the addresses of a run: a symbolizer, made when the first files are written, since reading the
 * kernel's symbols takes as long as all the rest.
 */
#ifndef CPROF_RECORD_NAMING_H
#define CPROF_RECORD_NAMING_H

#include <stdbool.h>

#include "object/object.h"
#include "process/opener.h"
#include "process/task.h"
#include "record/symbolize.h"

/* The first four are the caller's, and borrowed. */
struct naming {
	struct tasks *tasks;
	const struct files *files;
	struct objects *objects;
	bool kernel_stacks;	       /* there are kernel addresses to name */
	struct kallsyms *kallsyms;     /* private */
	struct symbolizer *symbolizer; /* private; NULL until asked for */
};

/* Never NULL. Says so where the kernel's functions will have no names. Borrowed. */
struct symbolizer *naming_symbolizer(struct naming *naming);
/* Says what has no name because the user did not want to wait for it. */
void naming_say(const struct naming *naming);
void naming_release(struct naming *naming);

#endif
