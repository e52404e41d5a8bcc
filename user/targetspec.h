/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The words that choose which processes to profile: -p and the filters. targetset.h says what they mean here and now.
 *
 *	-p		processes; a name means all that have it. Descendants are included.
 *	filters		one filter of each given kind must hold: for the processes of -p and their descendants, or
 *			without -p, for all processes
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
 * Adds the words of one -p, separated by commas or blanks, as pidof(1) and pgrep(1) print them. Numbers are process ids,
 * other words names; copied. -EINVAL, printed.
 */
int targetspec_parse(const char *text, struct targetspec *spec);
/* Whether the word is a process id: for "-p $(pidof NAME)", which the shell splits into words. */
bool targetspec_is_pid(const char *word);

/* Whether there is any -p; whether there is any filter. */
bool targetspec_names(const struct targetspec *spec);
bool targetspec_filters(const struct targetspec *spec);
void targetspec_release(struct targetspec *spec);

#endif
