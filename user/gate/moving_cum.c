// SPDX-License-Identifier: BSD-2-Clause
/*
 * The growth of a cumulative value is that of the flat one and of the calls. A call of a function that
 * did not grow as a whole is a call that another made before; and a function whose own growth has moved
 * explains that of its callers. Functions may call each other in circles, so all are taken for moved
 * first, and those with too much that is not explained are taken out, until no more are.
 */
#include <math.h>
#include <stdlib.h>

#include "gate/moving.h"

static double growth(const double *const values[2], size_t row)
{
	return fmax(0, values[RUN_HEAD][row] - values[RUN_BASE][row]);
}

static double edge_growth(const struct moving *moving, const struct call_edge *edge)
{
	return edge->value[RUN_HEAD] * moving->edge_scale[RUN_HEAD] -
	       edge->value[RUN_BASE] * moving->edge_scale[RUN_BASE];
}

static bool is_regressed(const struct gate_test *test)
{
	return test && test->outcome == GATE_REGRESSED;
}

/* What of a call's growth the callee has itself. */
static double unexplained_call(const struct moving *moving, const struct call_edge *edge,
			       const bool *is_moved)
{
	const double *cum[] = {moving->cum[RUN_BASE], moving->cum[RUN_HEAD]};
	double grown = edge_growth(moving, edge);
	uint32_t row = moving->comparison->dense.row_of[edge->callee];

	if (grown <= 0 || edge->caller == edge->callee)
		return 0;
	if (!row)
		return grown;
	return is_moved[row - 1] ? 0 : fmin(grown, growth(cum, row - 1));
}

static double unexplained(const struct moving *moving, size_t row, const bool *is_moved)
{
	const double *flat[] = {moving->flat[RUN_BASE], moving->flat[RUN_HEAD]};
	double sum = moving->is_moved[row] ? 0 : growth(flat, row);
	const struct call_edge *edge;

	for (size_t i = 0;
	     (edge = callgraph_callee(moving->graph, moving->comparison->dense.functions[row], i));
	     i++)
		sum += unexplained_call(moving, edge, is_moved);
	return sum;
}

/*
 * The function whose calls became less where those of this one became more; or that which became the
 * one it calls now.
 */
static const struct run_function *comes_from(const struct moving *moving, size_t row)
{
	const struct runs *runs = moving->comparison->result->runs;
	const struct call_edge *call, *other, *most = NULL;
	const struct run_function *from = NULL;
	double lost = 0;

	for (size_t i = 0;
	     (call = callgraph_callee(moving->graph, moving->comparison->dense.functions[row], i));
	     i++) {
		uint32_t callee = moving->comparison->dense.row_of[call->callee];

		if (edge_growth(moving, call) <= 0)
			continue;
		if (callee && !from)
			from = moving->from[callee - 1];
		for (size_t j = 0; (other = callgraph_caller(moving->graph, call->callee, j));
		     j++) {
			if (edge_growth(moving, other) >= lost)
				continue;
			lost = edge_growth(moving, other);
			most = other;
		}
	}
	return most ? &runs->functions.at[most->caller] : from;
}

/* More than the floors, and than chance: half of the interval that the whole growth has. */
static bool is_too_much(const struct moving *moving, size_t row, double rest)
{
	const struct stats_test *stats = &moving->cum_tests[row]->stats;
	double head = moving->cum[RUN_HEAD][row];

	return moving_is_large(moving, head - rest, head) &&
	       rest > (stats->ci_high - stats->ci_low) / 2;
}

/* Takes out those with too much that is not explained. true: there were any. */
static bool take_out(const struct moving *moving, bool *is_moved)
{
	bool any = false;

	for (size_t row = 0; row < moving->comparison->dense.nr_rows; row++) {
		double rest, head = moving->cum[RUN_HEAD][row];

		if (!is_moved[row] || !is_regressed(moving->cum_tests[row]))
			continue;
		rest = fmin(head, unexplained(moving, row, is_moved));
		if (!is_too_much(moving, row, rest))
			continue;
		is_moved[row] = false;
		any = true;
	}
	return any;
}

void moving_explain_cum(struct moving *moving)
{
	size_t nr_rows = moving->comparison->dense.nr_rows;
	bool *is_moved scoped(freep) = xcalloc(nr_rows + 1, sizeof(*is_moved));

	for (size_t row = 0; row < nr_rows; row++)
		is_moved[row] = moving->is_moved[row] || is_regressed(moving->cum_tests[row]);
	while (take_out(moving, is_moved))
		;
	for (size_t row = 0; row < nr_rows; row++) {
		struct gate_test *test = moving->cum_tests[row];

		if (!is_moved[row] || !is_regressed(test))
			continue;
		test->outcome = GATE_MOVED;
		test->moved_from = moving->from[row] ?: comes_from(moving, row);
	}
}
