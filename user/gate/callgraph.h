/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The call graph of a comparison, from all of its runs: for each function its callers and callees, with
 * the mean value per run on each side.
 */
#ifndef CPROF_GATE_CALLGRAPH_H
#define CPROF_GATE_CALLGRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gate/runs.h"

struct call_edge {
	uint32_t caller, callee; /* positions in runs.functions */
	double value[2];	 /* mean per run, by enum run_side */
};

struct callgraph {
	vec_of(struct call_edge) edges;
	/* Edges in the order of their callers, or callees; of function i: from first[i] to first[i + 1]. */
	uint32_t *by_caller, *by_callee;
	size_t *first_of_caller, *first_of_callee;
};

/* The caller releases it. */
void callgraph_make(const struct runs *runs, struct callgraph *graph);
void callgraph_release(struct callgraph *graph);

/* The i-th edge to a callee of a function, and from a caller; NULL: there are no more. */
const struct call_edge *callgraph_callee(const struct callgraph *graph, uint32_t function,
					 size_t i);
const struct call_edge *callgraph_caller(const struct callgraph *graph, uint32_t function,
					 size_t i);

#endif
