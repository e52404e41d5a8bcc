/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of the search for moved cost (gate/moved.c): values of one quantity by row of
 * comparison->dense, how much of their change is explained, and how functions are related.
 */
#ifndef CPROF_GATE_MOVING_H
#define CPROF_GATE_MOVING_H

#include "gate/callgraph.h"
#include "gate/compare.h"

#define MOVING_MAX_RELATED 16
#define MOVING_NO_CALLER   UINT32_MAX /* stands for the callers of a root */

/* A set of related functions. */
struct related {
	uint32_t at[MOVING_MAX_RELATED];
	size_t nr;
};

/* A row whose flat value grew or shrank, with its nearest relatives on the side with the larger value. */
struct mover {
	size_t row;
	uint32_t function;
	double change;	   /* of flat, positive */
	double left;	   /* of a loss: the part that explains nothing yet */
	bool is_alone;	   /* it is new, or gone */
	bool is_explained; /* of growth */
	struct related callers, callees;
};

struct moving {
	struct comparison *comparison;
	const struct callgraph *graph;
	enum gate_quantity quantity;
	const struct family *flats; /* NULL: not tested */
	double whole;		    /* the base's total, which floors are relative to */
	double edge_scale[2];	    /* from a mean per run to the quantity */
	double *flat[2], *cum[2];   /* by side, then row */
	struct gate_test **flat_tests, **cum_tests; /* by row; NULL: not tested */
	bool *is_moved;				    /* by row: its flat growth is explained */
	const struct run_function **from;	    /* by row: the function it came from */
	vec_of(struct mover) grown, shrunk;	    /* largest first */
};

/*
 * Fills *moving with the values, tests and relations of one quantity. Borrows comparison and graph until
 * moving_release().
 */
void moving_make(struct comparison *comparison, const struct callgraph *graph,
		 enum gate_quantity quantity, struct moving *moving);
void moving_release(struct moving *moving);

/* Whether the growth exceeds the thresholds max_growth and max_delta of the options. */
bool moving_is_large(const struct moving *moving, double base, double head);

/* A part of the flat value of a row, to be added to others. */
struct moving_part {
	size_t row;
	double part; /* 0..1 */
};
/* Whether the parts, as one function, are a regression. */
bool moving_regressed(const struct moving *moving, const struct moving_part *parts, size_t nr);
/* Whether the parts, as one function, did not change: within the thresholds, or not significantly. */
bool moving_same(const struct moving *moving, const struct moving_part *parts, size_t nr);

/* How two functions are related, the least certain first. */
enum relation {
	RELATION_NONE,
	RELATION_CALLEES, /* both call the same */
	RELATION_CALLERS, /* both are called by the same */
	RELATION_CALL,	  /* what grew is called by what shrank, or called it */
};
enum relation moving_relation(const struct mover *grown, const struct mover *shrunk);

/* Explains the cumulative values, after the flat ones. */
void moving_explain_cum(struct moving *moving);

#endif
