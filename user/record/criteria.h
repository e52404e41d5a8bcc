/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decides whether one process has a name that -p gives, and whether all filters hold for it.
 *
 * Reads /proc/PID at each call. Descent from other processes is targetset.h's part.
 */
#ifndef CPROF_RECORD_CRITERIA_H
#define CPROF_RECORD_CRITERIA_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "targetspec.h"

struct opener; /* process/opener.h */

struct criteria {
	const char *proc_root;	       /* borrowed */
	struct opener *opener;	       /* borrowed; NULL: there is none */
	const struct targetspec *spec; /* borrowed */
	vec_of(regex_t) comms;
	vec_of(uint32_t) uids;
	vec_of(char *) cgroups; /* as /proc/PID/cgroup has them */
};

/*
 * -EINVAL, printed: no such user, no such cgroup, not a regular expression (or one too costly). Release
 * with criteria_release() whatever the result.
 */
int criteria_open(struct criteria *criteria, const char *proc_root, struct opener *opener,
		  const struct targetspec *spec);
void criteria_release(struct criteria *criteria);

/* Checks that each name is that of some process. -ESRCH, printed, with the first name that no process has. */
int criteria_check_names(const struct criteria *criteria);
/*
 * Makes of a spec with one name and no process id one with the id of the only process that has the name. -ESRCH, -EINVAL,
 * printed: none has, several have. For what is possible with a single process only; option says with what.
 */
int criteria_resolve_name(const char *proc_root, const char *option, struct targetspec *spec);
/* Whether the process, whose name is comm, has one of the names. */
bool criteria_named(const struct criteria *criteria, uint32_t tgid, const char *comm);
/* 1: every filter holds; 0: one does not; -ESRCH: the process is gone, so it cannot be decided. */
int criteria_hold(const struct criteria *criteria, uint32_t tgid, const char *comm);
/* Whether the verdict of a filter (user, cgroup) can change without an exec or a new name. */
bool criteria_change(const struct criteria *criteria);
/* The filters as they were given, for a message. Returns out. */
char *criteria_words(const struct criteria *criteria, char *out, size_t out_bytes);

#endif
