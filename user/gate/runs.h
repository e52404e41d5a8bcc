/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The runs of a comparison, one for each profile: flat and cumulative values of each function with their
 * sampling variances, the calls between functions, and facts about the run itself (samples, losses).
 *
 *	runs_add_profile(&runs, "base1.pb.gz", RUN_BASE, profile, type, &identity);	each
 *	... gate_check(&runs, &options)
 *	runs_release(&runs);
 *
 * Frames are those of profile/frames.h by function. Not profile/summary.h: that adds up whole numbers
 * by the names in the profile; here clones of a function are one, and variances go along.
 *
 * Code without a name is in there twice, by its address and as one function of its file: which of both
 * is compared depends on the builds of that file on either side (runs_compared()).
 *
 * A run is sparse, functions are numbered across all runs. The profile is not needed afterwards.
 *
 * How exact a value is follows from how it was sampled: gate/amount.h.
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
	/* Of code without a name, an id of runs.builds.files: this is an address in that file, or all
	 * of the file; else both are 0. */
	uint32_t address_in, all_of;
	bool is_named; /* it has a name, whatever else it is: always compared */
};

struct run {
	const char *name; /* of its file, for people; in the arena */
	enum run_side side;
	double total, total_variance;
	double nr_samples; /* as taken, not scaled */
	double unknown;	   /* of the total: in stacks with a frame [unknown] or [truncated ...] */
	double nr_taken, nr_lost; /* by the accounts in its comment; 0: there are none */
	uint64_t content;	  /* equal for equal profiles */
	bool has_negative;
	const char *kind; /* sample types and period: what runs must agree on; in the arena */
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

/* Adds a run of this profile's sample type. */
void runs_add_profile(struct runs *runs, const char *name, enum run_side side,
		      const struct profile *profile, uint32_t type,
		      const struct identity *identity);

/* What it is made of, for runs that come from elsewhere. name and file are copied. */
struct run *runs_add(struct runs *runs, const char *name, enum run_side side);
uint32_t runs_function(struct runs *runs, const char *name, const char *file, int64_t line);

/* What to compare: true for each position of a function; the caller frees it. */
bool *runs_compared(const struct runs *runs);

/* Frees what it holds and zeroes it. */
void runs_release(struct runs *runs);

#endif
