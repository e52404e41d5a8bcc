/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which processes a collecting command is told to profile, as words: what they mean on this machine is
 * the affair of targetset.h.
 *
 *	-p		processes, and by a name all that have it: any of these, with what descends from them
 *	filters		of each kind that is given any must hold; of these and of their descendants, or
 *			without -p, of all processes there are
 */
#ifndef CPROF_TARGETSPEC_H
#define CPROF_TARGETSPEC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

enum targetspec_filter {
	TARGETSPEC_COMM, /* a regex */
	TARGETSPEC_UID,	 /* a number or a name */
	TARGETSPEC_CGROUP,
	TARGETSPEC_CONTAINER,
	NR_TARGETSPEC_FILTERS
};

struct targetspec {
	vec_of(uint32_t) pids;
	vec_of(char *) names;				     /* -p NAME; owned */
	vec_of(const char *) filters[NR_TARGETSPEC_FILTERS]; /* borrowed from argv */
};

/*
 * The words of one -p: between commas or blanks, as pidof(1) and pgrep(1) give them. Numbers are process
 * ids, all else names. -EINVAL, printed.
 */
int targetspec_parse(const char *text, struct targetspec *spec);
/* Is the word one of several process ids? For "-p $(pidof NAME)", which the shell made words of. */
bool targetspec_is_pid(const char *word);
/* -EINVAL, printed. */
int targetspec_add_filter(struct targetspec *spec, enum targetspec_filter filter, const char *text);

/* Is anybody named by -p, is any filter given? */
bool targetspec_names(const struct targetspec *spec);
bool targetspec_filters(const struct targetspec *spec);
void targetspec_release(struct targetspec *spec);

#endif
