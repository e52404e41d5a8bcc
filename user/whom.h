/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which processes a collecting command is told to profile, as words: what they mean on this machine is
 * the affair of chooser.h.
 *
 *	-p		processes, and by a name all that have it: any of these, with what descends from them
 *	filters		of each kind that is given any must hold; of these and of their descendants, or
 *			without -p, of all processes there are
 */
#ifndef CPROF_WHOM_H
#define CPROF_WHOM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

enum whom_filter {
	WHOM_COMM, /* a regex */
	WHOM_UID,  /* a number or a name */
	WHOM_CGROUP,
	WHOM_CONTAINER,
	NR_WHOM_FILTERS
};

struct whom {
	vec_of(uint32_t) pids;
	vec_of(char *) names;			       /* -p NAME; owned */
	vec_of(const char *) filters[NR_WHOM_FILTERS]; /* borrowed from argv */
};

/*
 * The words of one -p: between commas or blanks, as pidof(1) and pgrep(1) give them. Numbers are process
 * ids, all else names. -EINVAL, printed.
 */
int whom_parse(const char *text, struct whom *whom);
/* Is the word one of several process ids? For "-p $(pidof NAME)", which the shell made words of. */
bool whom_is_pid(const char *word);
/* -EINVAL, printed. */
int whom_add_filter(struct whom *whom, enum whom_filter filter, const char *text);

/* Is anybody named by -p, is any filter given? */
bool whom_names(const struct whom *whom);
bool whom_filters(const struct whom *whom);
void whom_release(struct whom *whom);

#endif
