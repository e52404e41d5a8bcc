/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Judges whether the head has become more expensive than the base. Everything with enough weight is
 * tested: the total of a run, and of each function its flat and its cumulative value, as a share of a
 * run whose
 * size is that of the typical function (gate/factor.h: a slower machine, more load or another
 * function's change does not move it) and as the absolute value of a run (which shows what a share
 * hides: that all of it, or most of its functions, got slower).
 *
 * A regression is what is significant among all that was tested (gate/stats.h; Holm), and large: it
 * grew by more than max_growth of itself and by more than max_delta of the base's total. A share must
 * have grown by as much in absolute terms, too, unless these were not to count: what is no slower is
 * no regression, whatever became faster around it. What shrank is reported and never fails.
 *
 * Cost that is new in one place and gone from another has moved, nothing regressed: gate/moved.h.
 *
 * What makes a comparison worthless is refused and never passes: gate/refuse.h.
 */
#ifndef CPROF_GATE_VERDICT_H
#define CPROF_GATE_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "gate/factor.h"
#include "gate/runs.h"
#include "gate/stats.h"

struct gate_options {
	double max_growth;    /* percent of what it was */
	double max_delta;     /* percentage points of the base's total */
	double min_share;     /* percent of either side's total: what has less is not tested */
	double alpha;	      /* probability of any false alarm */
	double max_loss;      /* percent of the samples of a run */
	double max_unknown;   /* percentage points by which the sides may differ */
	uint32_t min_samples; /* of each side */
	bool no_share, no_absolute, no_flat, no_cum;
	bool single; /* go on without replicates, assuming how much runs differ */
};
extern const struct gate_options gate_default_options;

enum gate_measure {
	GATE_TOTAL,
	GATE_FLAT,
	GATE_CUM,
};

enum gate_quantity {
	GATE_ABSOLUTE, /* of a run, in the unit of the sample type */
	GATE_SHARE,    /* 0..1 of a run's total, the head's being scaled by the size factor */
};

enum gate_outcome { /* what is worse comes first */
	GATE_REGRESSED,
	GATE_MOVED,	  /* would have, but the cost came from another function, or went to one */
	GATE_UNCONFIRMED, /* had, but not again */
	GATE_IMPROVED,
	GATE_SAME, /* nothing that can be told from noise, or too small to matter */
};

struct gate_test {
	const struct run_function *function; /* NULL: the total */
	enum gate_measure measure;
	enum gate_quantity quantity;
	struct stats_test stats;
	double delta;		      /* percentage points of the base's total */
	double growth;		      /* percent; INFINITY: there was none before */
	double run_delta, run_growth; /* the same of the absolute value, whatever the quantity */
	double rank;		  /* what rows are ordered by: the delta that all of them have */
	double p_grown, p_shrunk; /* adjusted for all tests */
	double detectable;	  /* growth in the unit of stats, found with 80 % power */
	enum gate_outcome outcome;
	/* GATE_MOVED: one of them; where it is this one's cost that went, moved_to. */
	const struct run_function *moved_from, *moved_to;
};

/* "from is now to": where a cost went. */
struct gate_move {
	const struct run_function *from, *to;
	bool is_gone;	 /* from is no more */
	bool is_new;	 /* to was not there before */
	bool is_all;	 /* is_new: to has all that from had, and nothing else */
	bool is_certain; /* by who calls whom; else it may be chance: --rename says what is so */
};

enum gate_verdict {
	GATE_PASS,
	GATE_REGRESSION,
	GATE_INCONCLUSIVE,
};

struct gate_result {
	const struct runs *runs; /* borrowed */
	struct gate_options options;
	enum gate_verdict verdict;
	bool is_weak; /* how much runs differ was assumed: options.single, and a side with one */
	vec_of(char *) reasons; /* why it is inconclusive */
	vec_of(struct gate_test) tests;
	vec_of(struct gate_move) moves; /* of what is GATE_MOVED; largest first */
	/* One test for each function (and the total) that tells most of it; worst first. */
	vec_of(const struct gate_test *) rows;
	size_t nr_runs[2];    /* by enum run_side */
	double nr_samples[2]; /* of all runs of a side */
	double mean_total[2];
	double cv; /* between runs, of shares: typical */
	struct factor factor;
	double size_ratio; /* of a head run to a base run, by the factor (or else the totals) */
	/* The smallest change that would have been found; NAN: nothing of the kind was tested. */
	double detectable_total; /* percent */
	double detectable_share; /* percentage points, of a function with GATE_TYPICAL_SHARE */
};

#define GATE_TYPICAL_SHARE 0.05
#define GATE_POWER	   0.8
/* How much runs differ, where there is nothing to tell: options.single. */
#define GATE_ASSUMED_CV 0.15

/* The caller releases *result; runs must outlive it. */
void gate_check(const struct runs *runs, const struct gate_options *options,
		struct gate_result *result);
/* What regressed in result stays so only if it did in first, too: the same functions. */
void gate_confirm(struct gate_result *result, const struct gate_result *first);
/*
 * Does a row tell nothing that others do not? _start and whatever else calls all there is repeats the
 * total; the loader, unchanged, is the same in every program.
 */
bool gate_is_everywhere(const struct gate_result *result, const struct gate_test *test);
void gate_release(struct gate_result *result);

/* "regression", "pass", "inconclusive"; "flat" ...: as reports and scripts spell them. */
const char *gate_verdict_name(enum gate_verdict verdict);
const char *gate_outcome_name(enum gate_outcome outcome);
const char *gate_measure_name(enum gate_measure measure);
const char *gate_quantity_name(enum gate_quantity quantity);

#endif
