/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Explains why a target has no samples, from the kernel's account of its time.
 *
 * It waited for a CPU that others had, it ran between ticks only, it was stopped or frozen, its children were busy instead, or it was
 * idle.
 */
#ifndef CPROF_RECORD_NOSAMPLES_H
#define CPROF_RECORD_NOSAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "process/traits.h"

#define NOSAMPLES_BYTES 1024 /* what nosamples_words() says, with the path of a control group */

struct nosamples {
	const char *proc_root;	 /* borrowed */
	const char *cgroup_root; /* "/sys/fs/cgroup"; tests have another */
	uint32_t tgid;		 /* 0: there is not exactly one target */
	bool with_children;	 /* they are not profiled */
	struct traits_time time;
	vec_of(struct nosamples_child {
		uint32_t tgid;
		struct traits_time time;
	}) children; /* its descendants, if they are not profiled */
};

/* Notes the times when sampling begins. tgid 0: not exactly one target. children: they are not profiled. */
void nosamples_begin(struct nosamples *nosamples, const char *proc_root, uint32_t tgid,
		     bool children);
void nosamples_release(struct nosamples *nosamples);

/*
 * What the target did in duration_ns, to follow "process N": a sentence without its full stop. Returns out.
 */
char *nosamples_words(const struct nosamples *nosamples, uint64_t duration_ns, char *out,
		      size_t out_bytes);
/*
 * What keeps the target from running, and what lets it go on: it is stopped, or frozen by its control group; a sentence without
 * its full stop. "": nothing does, or there is not exactly one target. Returns out.
 */
char *nosamples_halted(const struct nosamples *nosamples, char *out, size_t out_bytes);
/* "its child ... ran for ...", or "". option: the one that would profile it too. Returns out. */
char *nosamples_busy_child(const struct nosamples *nosamples, const char *option, char *out,
			   size_t out_bytes);

#endif
