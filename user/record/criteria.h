/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the words of struct targetspec mean on this machine: has a process one of the names, do the filters hold
 * for it? Looks at /proc/PID each time it is asked; who descends from whom is the affair of targetset.h.
 */
#ifndef CPROF_RECORD_CRITERIA_H
#define CPROF_RECORD_CRITERIA_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "targetspec.h"

struct criteria {
	const char *proc_root;	       /* borrowed */
	const struct targetspec *spec; /* borrowed */
	vec_of(regex_t) comms;
	vec_of(uint32_t) uids;
	vec_of(char *) cgroups; /* as /proc/PID/cgroup has them */
};

/*
 * -EINVAL, printed: no such user, no such cgroup, not a regular expression (or one too costly). Release
 * with criteria_release() whatever the result.
 */
int criteria_open(struct criteria *criteria, const char *proc_root, const struct targetspec *spec);
void criteria_release(struct criteria *criteria);

/* Has some process each of the names? -ESRCH, printed, with the one that none has. */
int criteria_check_names(const struct criteria *criteria);
/* Has the process, which is called comm, one of the names? */
bool criteria_named(const struct criteria *criteria, uint32_t tgid, const char *comm);
/* 1: every filter holds; 0: one does not; -ESRCH: what is left to know of it is gone. */
int criteria_hold(const struct criteria *criteria, uint32_t tgid, const char *comm);
/* Can what the filters say of a process change without an exec or a new name? */
bool criteria_change(const struct criteria *criteria);
/* The filters as they were given, for a message. Returns out. */
char *criteria_words(const struct criteria *criteria, char *out, size_t out_bytes);

#endif
