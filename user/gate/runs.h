/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The runs of a comparison, one for each profile: flat and cumulative values of each function with their
 * sampling variances, the calls between functions, and facts about the run itself (samples, losses).
 *
 *	runs_add_profile(&runs, "base1.pb.gz", RUN_BASE, profile, type, &identity);	each
 *	... gate_check(&runs, &options)
 *	runs_release(&runs);
 *
 * Frames are those of profile/frames.h by function. This is not profile/summary.h, which adds up whole
 * numbers by the names in the profile; here clones of a function are one, and values have variances.
 *
 * Code without a name is included twice, by its address and as one function per file; runs_compared() selects one
 * by the builds of the file on both sides.
 *
 * A run is sparse; functions are numbered across all runs. Runs do not refer to their profiles.
 *
 * gate/amount.h computes the precision of a value from how it was sampled.
 */
#ifndef CPROF_GATE_RUNS_H
#define CPROF_GATE_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/vec.h"
#include "gate/callset.h"
#include "profile/identity.h"
#include "profile/identity_builds.h"
#include "profile/model.h"

enum run_side {
	RUN_BASE,
	RUN_HEAD,
};

/* A function in a run. */
struct run_cell {
	uint32_t function; /* position in runs.functions */
	double flat, cum;
	double flat_variance, cum_variance; /* by sampling */
};

struct run_function {
	const char *name; /* as identity_name() gives it; in the arena */
	const char *file; /* of the source, "" where unknown; in the arena */
	int64_t line;	  /* 0: unknown */
	/* For code without a name, an id of runs.builds.files: this is an address in that file, or all
	 * of the file; otherwise both are 0. */
	uint32_t address_in, all_of;
	bool is_named; /* it has a name, and is always compared */
};

struct run {
	const char *name; /* of its file, to show; in the arena */
	enum run_side side;
	double total, total_variance;
	double nr_samples; /* as taken, not scaled */
	double unknown; /* the part of the total in stacks with a frame [unknown] or [truncated ...] */
	double nr_taken, nr_lost; /* from the accounts in its comment; 0: it has none */
	uint64_t content;	  /* equal for equal profiles */
	bool has_negative;
	const char *
		kind; /* sample types and period, which must be the same for all runs; in the arena */
	vec_of(struct run_cell) cells;
	struct run_calls calls;
};

struct runs {
	struct arena arena;
	vec_of(struct run) at;
	vec_of(struct run_function) functions;
	struct hash index; /* private: of functions by name */
	struct identity_builds builds;
	const char *type, *unit; /* of the values that are compared; in the arena */
};

/* Adds a run with the values of one sample type of a profile. */
void runs_add_profile(struct runs *runs, const char *name, enum run_side side,
		      const struct profile *profile, uint32_t type,
		      const struct identity *identity);

/* The steps of runs_add_profile(), for runs that are not made from profiles. name and file are copied. */
struct run *runs_add(struct runs *runs, const char *name, enum run_side side);
uint32_t runs_function(struct runs *runs, const char *name, const char *file, int64_t line);

/* By position of a function: whether it is compared. The caller frees it. */
bool *runs_compared(const struct runs *runs);

/* Frees what it holds and zeroes it. */
void runs_release(struct runs *runs);

#endif
