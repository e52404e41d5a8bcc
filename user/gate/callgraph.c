// SPDX-License-Identifier: BSD-2-Clause
/*
 * Calls of all runs are numbered by base/pairtable.h and summed, as the mean of a side's runs; then the edges are
 * ordered twice by counting sort, so that callers and callees of a function are slices of an
 * index.
 */
#include "gate/callgraph.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/pairtable.h"

static void add_call(struct callgraph *graph, struct pairtable *pairs, const struct run_call *call,
		     enum run_side side, double part)
{
	uint32_t at = pairtable_enter(pairs, call->caller, call->callee);

	if (at == graph->edges.nr)
		vec_push(&graph->edges, (struct call_edge){call->caller, call->callee, {0}});
	graph->edges.at[at].value[side] += call->value * part;
}

/* Counting sort: how many there are of each, where those of each begin, and then each at its place. */
static void sort_edges(const struct callgraph *graph, size_t nr_functions, bool callers,
		       uint32_t **order, size_t **first)
{
	size_t *next scoped(freep) = xcalloc(nr_functions + 1, sizeof(*next));

	*first = xcalloc(nr_functions + 1, sizeof(**first));
	*order = xcalloc(graph->edges.nr, sizeof(**order));
	vec_for_each(&graph->edges, edge)
		(*first)[1 + (callers ? edge->caller : edge->callee)]++;
	for (size_t i = 0; i < nr_functions; i++)
		(*first)[i + 1] += (*first)[i];
	for (size_t i = 0; i <= nr_functions; i++)
		next[i] = (*first)[i];
	for (size_t i = 0; i < graph->edges.nr; i++) {
		const struct call_edge *edge = &graph->edges.at[i];

		(*order)[next[callers ? edge->caller : edge->callee]++] = i;
	}
}

void callgraph_make(const struct runs *runs, struct callgraph *graph)
{
	struct pairtable pairs = {0};
	size_t nr_runs[2] = {0};

	*graph = (struct callgraph){0};
	vec_for_each(&runs->at, run)
		nr_runs[run->side]++;
	vec_for_each(&runs->at, run)
		vec_for_each(&run->calls, call)
			add_call(graph, &pairs, call, run->side, 1. / nr_runs[run->side]);
	pairtable_release(&pairs);
	sort_edges(graph, runs->functions.nr, true, &graph->by_caller, &graph->first_of_caller);
	sort_edges(graph, runs->functions.nr, false, &graph->by_callee, &graph->first_of_callee);
}

void callgraph_release(struct callgraph *graph)
{
	vec_release(&graph->edges);
	free(graph->by_caller);
	free(graph->by_callee);
	free(graph->first_of_caller);
	free(graph->first_of_callee);
}

const struct call_edge *callgraph_callee(const struct callgraph *graph, uint32_t function, size_t i)
{
	size_t at = graph->first_of_caller[function] + i;

	return at < graph->first_of_caller[function + 1] ? &graph->edges.at[graph->by_caller[at]]
							 : NULL;
}

const struct call_edge *callgraph_caller(const struct callgraph *graph, uint32_t function, size_t i)
{
	size_t at = graph->first_of_callee[function] + i;

	return at < graph->first_of_callee[function + 1] ? &graph->edges.at[graph->by_callee[at]]
							 : NULL;
}
