/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Judges whether the head is more expensive than the base.
 *
 * Tests the total of a run, and the flat and the cumulative value of each function with enough weight. Each is
 * tested as a share of the run, scaled by the size factor (gate/factor.h), so that a slower machine, more load or
 * another function's change does not affect it; and as an absolute value per run, which shows what a share hides:
 * that all or most functions became slower.
 *
 * A regression is significant, adjusted for all tests (gate/stats.h; Holm), and large: it grew by more than
 * max_growth of itself and by more than max_delta of the base's total. A share must also have grown as much in
 * absolute terms, unless only shares are compared: a function that is not slower is no regression, even if others
 * became faster. Improvements are reported and never fail.
 *
 * Cost that moved from one function to another is no regression: gate/moved.h.
 *
 * Comparisons that cannot be trusted are inconclusive and never pass: gate/refuse.h.
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
	double max_growth;  /* percent of its value in base */
	double max_delta;   /* percentage points of the base's total */
	double min_share;   /* percent of either side's total: functions with less are not tested */
	double alpha;	    /* probability of any false alarm */
	double max_loss;    /* percent of the samples of a run */
	double max_unknown; /* percentage points by which the sides may differ */
	uint32_t min_samples; /* of each side */
	bool no_share, no_absolute, no_flat, no_cum;
	bool single; /* compare without replicates, assuming the variation between runs */
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

enum gate_outcome { /* the worst first */
	GATE_REGRESSED,
	GATE_MOVED, /* grew or shrank, but the cost came from another function, or went to one */
	GATE_UNCONFIRMED, /* regressed in the first measurement only */
	GATE_IMPROVED,
	GATE_SAME, /* not significant, or below the thresholds */
};

struct gate_test {
	const struct run_function *function; /* NULL: the total */
	enum gate_measure measure;
	enum gate_quantity quantity;
	struct stats_test stats;
	double delta;		      /* percentage points of the base's total */
	double growth;		      /* percent; INFINITY: the base has none */
	double run_delta, run_growth; /* the same for the absolute value, for both quantities */
	double rank; /* sorts the rows: the delta of a quantity that all of them have */
	double p_grown, p_shrunk; /* adjusted for all tests */
	double detectable;	  /* growth in the unit of stats, found with 80 % power */
	enum gate_outcome outcome;
	/* GATE_MOVED: one of them is set; moved_to, if the cost left this function. */
	const struct run_function *moved_from, *moved_to;
};

/* "from is now to": cost that moved. */
struct gate_move {
	const struct run_function *from, *to;
	bool is_gone;	 /* from does not exist in head */
	bool is_new;	 /* to does not exist in base */
	bool is_all;	 /* is_new: to has all the cost of from, and nothing else */
	bool is_certain; /* by the calls; otherwise it may be a coincidence, which --rename resolves */
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
	bool is_weak; /* the variation between runs was assumed: options.single, and a side with one run */
	vec_of(char *) reasons; /* why it is inconclusive */
	vec_of(struct gate_test) tests;
	vec_of(struct gate_move) moves; /* those of GATE_MOVED, largest first */
	/* The most significant test of each function and of the total; worst first. */
	vec_of(const struct gate_test *) rows;
	size_t nr_runs[2];    /* by enum run_side */
	double nr_samples[2]; /* of all runs of a side */
	double mean_total[2];
	double cv; /* between runs, of shares; typical */
	struct factor factor;
	double size_ratio; /* of a head run to a base run, by the factor (or else the totals) */
	/* The smallest detectable change; NAN: no such value was tested. */
	double detectable_total; /* percent */
	double detectable_share; /* percentage points, of a function with GATE_TYPICAL_SHARE */
};

#define GATE_TYPICAL_SHARE 0.05
#define GATE_POWER	   0.8
/* The variation between runs that options.single assumes. */
#define GATE_ASSUMED_CV 0.15

/* The caller releases *result; runs must outlive it. */
void gate_check(const struct runs *runs, const struct gate_options *options,
		struct gate_result *result);
/* Keeps only those regressions of result whose functions regressed in first, too. */
void gate_confirm(struct gate_result *result, const struct gate_result *first);
/*
 * Whether a row adds nothing to the report: functions that call everything (such as _start) repeat the total, and
 * the unchanged loader is the same in every program.
 */
bool gate_is_everywhere(const struct gate_result *result, const struct gate_test *test);
/* Whether a report names the test as a regression: it regressed, and says more than the total does. */
bool gate_is_finding(const struct gate_result *result, const struct gate_test *test);
void gate_release(struct gate_result *result);

/* "regression", "pass", "inconclusive"; "flat" ...: as reports and scripts spell them. */
const char *gate_verdict_name(enum gate_verdict verdict);
const char *gate_outcome_name(enum gate_outcome outcome);
const char *gate_measure_name(enum gate_measure measure);
const char *gate_quantity_name(enum gate_quantity quantity);

#endif
