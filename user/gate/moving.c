// SPDX-License-Identifier: BSD-2-Clause
/*
 * Values and tests are spread into arrays by row, then the rows that grew and shrank are found and
 * sorted, and for each the nearest callers and callees that exist on both sides: a breadth-first
 * search through functions of one side only, which sees MAX_VISITED functions at most. The numbers
 * of functions that grew and that shrank are bounded as well, since every pair is compared.
 *
 * What belongs together is tested as one unit with the fit of the flat values
 * (moving_regressed()), not by the sum of single tests: parts of one function vary together.
 */
#include "gate/moving.h"

#include <math.h>
#include <stdlib.h>

#define ALONE	    0.05 /* of the other side: less is as good as nothing */
#define NEAR	    0.1	 /* of a function's cost: a caller of less is none that counts */
#define MAX_VISITED 64
#define MAX_GROWN   200
#define MAX_SHRUNK  500
/* What differs by less than that factor, and no more than chance does at this level (one-sided). */
#define SAME_FACTOR   1.5
#define SAME_LEVEL    0.005
#define SMALLEST_LOSS 0.05 /* of what is large enough to matter */

/* Values ----------------------------------------------------------------------------------------- */

static void fill_values(struct moving *moving, const double scale[2])
{
	const struct dense *dense = &moving->comparison->dense;

	for (int side = RUN_BASE; side <= RUN_HEAD; side++) {
		moving->flat[side] = xcalloc(dense->nr_rows, sizeof(double));
		moving->cum[side] = xcalloc(dense->nr_rows, sizeof(double));
		for (size_t row = 0; row < dense->nr_rows; row++) {
			const double *flat = dense_row(dense, DENSE_FLAT, row);
			const double *cum = dense_row(dense, DENSE_CUM, row);

			moving->flat[side][row] = dense_sum(dense, flat, side) * scale[side];
			moving->cum[side][row] = dense_sum(dense, cum, side) * scale[side];
		}
	}
}

static void fill_tests(struct moving *moving)
{
	struct comparison *comparison = moving->comparison;
	size_t nr_rows = comparison->dense.nr_rows;

	moving->flat_tests = xcalloc(nr_rows, sizeof(*moving->flat_tests));
	moving->cum_tests = xcalloc(nr_rows, sizeof(*moving->cum_tests));
	for (size_t i = 0; i < NR_FAMILIES; i++) {
		const struct family *family = &comparison->families[i];
		struct gate_test **tests = family->measure == GATE_FLAT ? moving->flat_tests
									: moving->cum_tests;

		if (family->quantity != moving->quantity || family->measure == GATE_TOTAL)
			continue;
		if (family->measure == GATE_FLAT && family->units.nr)
			moving->flats = family;
		for (size_t j = 0; j < family->rows.nr; j++)
			tests[family->rows.at[j]] =
				&comparison->result->tests.at[family->first + j];
	}
}

bool moving_is_large(const struct moving *moving, double base, double head)
{
	const struct gate_options *options = &moving->comparison->result->options;

	return 100 * fabs(head - base) > options->max_delta * moving->whole &&
	       100 * fabs(head - base) > options->max_growth * base;
}

/* Relatives -------------------------------------------------------------------------------------- */

static bool is_alone(const struct moving *moving, size_t row, enum run_side side)
{
	return moving->cum[!side][row] <= ALONE * moving->cum[side][row];
}

/* Is the function there on both sides? */
static bool stands(const struct moving *moving, uint32_t function)
{
	uint32_t row = moving->comparison->dense.row_of[function];

	return !row ||
	       !(is_alone(moving, row - 1, RUN_BASE) || is_alone(moving, row - 1, RUN_HEAD));
}

static void add_related(struct related *related, uint32_t function)
{
	for (size_t i = 0; i < related->nr; i++)
		if (related->at[i] == function)
			return;
	if (related->nr < MOVING_MAX_RELATED)
		related->at[related->nr++] = function;
}

/* A breadth-first search through functions that are there on one side only. */
struct search {
	const struct moving *moving;
	enum run_side side;
	bool up;
	double least; /* a call of less does not count */
	uint32_t visited[MAX_VISITED];
	size_t nr_visited;
	struct related *found;
};

static void visit(struct search *search, uint32_t function)
{
	if (stands(search->moving, function)) {
		add_related(search->found, function);
		return;
	}
	for (size_t i = 0; i < search->nr_visited; i++)
		if (search->visited[i] == function)
			return;
	if (search->nr_visited < MAX_VISITED)
		search->visited[search->nr_visited++] = function;
}

static void visit_neighbours(struct search *search, uint32_t function)
{
	const struct callgraph *graph = search->moving->graph;
	const struct call_edge *edge;
	double scale = search->moving->edge_scale[search->side];
	bool any = false;

	for (size_t i = 0; (edge = search->up ? callgraph_caller(graph, function, i)
					      : callgraph_callee(graph, function, i));
	     i++) {
		if (edge->value[search->side] * scale <= search->least)
			continue;
		any = true;
		visit(search, search->up ? edge->caller : edge->callee);
	}
	if (search->up && !any)
		add_related(search->found, MOVING_NO_CALLER);
}

/* up: of callers; else of callees. */
static void find_related(const struct moving *moving, const struct mover *mover, enum run_side side,
			 bool up, struct related *found)
{
	struct search search = {.moving = moving,
				.side = side,
				.up = up,
				.least = NEAR * moving->cum[side][mover->row],
				.found = found};

	visit_neighbours(&search, mover->function);
	for (size_t i = 0; i < search.nr_visited; i++)
		visit_neighbours(&search, search.visited[i]);
}

static bool has(const struct related *related, uint32_t function)
{
	for (size_t i = 0; i < related->nr; i++)
		if (related->at[i] == function)
			return true;
	return false;
}

static bool overlap(const struct related *a, const struct related *b)
{
	for (size_t i = 0; i < a->nr; i++)
		if (has(b, a->at[i]))
			return true;
	return false;
}

enum relation moving_relation(const struct mover *grown, const struct mover *shrunk)
{
	if (has(&grown->callers, shrunk->function) || has(&shrunk->callers, grown->function))
		return RELATION_CALL;
	if (overlap(&grown->callers, &shrunk->callers))
		return RELATION_CALLERS;
	return overlap(&grown->callees, &shrunk->callees) ? RELATION_CALLEES : RELATION_NONE;
}

/* Movers ----------------------------------------------------------------------------------------- */

static int compare_movers(const void *left, const void *right)
{
	const struct mover *a = left, *b = right;

	if (a->change != b->change)
		return a->change < b->change ? 1 : -1;
	return (a->row > b->row) - (a->row < b->row);
}

static void find_movers(struct moving *moving)
{
	const struct dense *dense = &moving->comparison->dense;
	double least = moving->comparison->result->options.max_delta / 100 * moving->whole;

	for (size_t row = 0; row < dense->nr_rows; row++) {
		double base = moving->flat[RUN_BASE][row], head = moving->flat[RUN_HEAD][row];
		enum run_side side = head > base ? RUN_HEAD : RUN_BASE;
		struct mover mover = {.row = row,
				      .function = dense->functions[row],
				      .change = fabs(head - base),
				      .left = fabs(head - base),
				      .is_alone = is_alone(moving, row, side)};

		if (side == RUN_HEAD && moving_is_large(moving, base, head))
			vec_push(&moving->grown, mover);
		else if (side == RUN_BASE && base - head > SMALLEST_LOSS * least)
			vec_push(&moving->shrunk, mover);
	}
	if (moving->grown.nr)
		qsort(moving->grown.at, moving->grown.nr, sizeof(struct mover), compare_movers);
	if (moving->shrunk.nr)
		qsort(moving->shrunk.at, moving->shrunk.nr, sizeof(struct mover), compare_movers);
	moving->grown.nr = moving->grown.nr < MAX_GROWN ? moving->grown.nr : MAX_GROWN;
	moving->shrunk.nr = moving->shrunk.nr < MAX_SHRUNK ? moving->shrunk.nr : MAX_SHRUNK;
}

static void relate(struct moving *moving)
{
	vec_for_each(&moving->grown, mover) {
		find_related(moving, mover, RUN_HEAD, true, &mover->callers);
		find_related(moving, mover, RUN_HEAD, false, &mover->callees);
	}
	vec_for_each(&moving->shrunk, mover) {
		find_related(moving, mover, RUN_BASE, true, &mover->callers);
		find_related(moving, mover, RUN_BASE, false, &mover->callees);
	}
}

void moving_make(struct comparison *comparison, const struct callgraph *graph,
		 enum gate_quantity quantity, struct moving *moving)
{
	const struct dense *dense = &comparison->dense;
	bool share = quantity == GATE_SHARE;
	double scale[2];

	*moving = (struct moving){.comparison = comparison, .graph = graph, .quantity = quantity};
	moving->whole = share ? 1 : comparison->result->mean_total[RUN_BASE];
	for (int side = RUN_BASE; side <= RUN_HEAD; side++) {
		double nr_runs = comparison->result->nr_runs[side];

		scale[side] = share ? 1 / dense_sum(dense, comparison->scaled, side) : 1 / nr_runs;
		moving->edge_scale[side] = scale[side] * nr_runs;
	}
	fill_values(moving, scale);
	fill_tests(moving);
	moving->is_moved = xcalloc(dense->nr_rows, sizeof(*moving->is_moved));
	moving->from = xcalloc(dense->nr_rows, sizeof(*moving->from));
	find_movers(moving);
	relate(moving);
}

void moving_release(struct moving *moving)
{
	for (int side = RUN_BASE; side <= RUN_HEAD; side++) {
		free(moving->flat[side]);
		free(moving->cum[side]);
	}
	free(moving->flat_tests);
	free(moving->cum_tests);
	free(moving->is_moved);
	free(moving->from);
	vec_release(&moving->grown);
	vec_release(&moving->shrunk);
}

/* Together --------------------------------------------------------------------------------------- */

static void sum_parts(const struct moving *moving, const struct moving_part *parts, size_t nr,
		      double sums[2])
{
	sums[RUN_BASE] = sums[RUN_HEAD] = 0;
	for (size_t i = 0; i < nr; i++)
		for (int side = RUN_BASE; side <= RUN_HEAD; side++)
			sums[side] += parts[i].part * moving->flat[side][parts[i].row];
}

/* In both quantities, as the verdict has it, where both count. */
static bool is_borne_out(const struct moving *moving, const double *values)
{
	const struct gate_result *result = moving->comparison->result;
	const struct gate_options *options = &result->options;
	const struct dense *dense = &moving->comparison->dense;
	double base = dense_sum(dense, values, RUN_BASE) / result->nr_runs[RUN_BASE];
	double head = dense_sum(dense, values, RUN_HEAD) / result->nr_runs[RUN_HEAD];

	if (moving->quantity != GATE_SHARE || (options->no_absolute && result->factor.is_known))
		return true;
	return 100 * (head - base) > options->max_delta * result->mean_total[RUN_BASE] &&
	       100 * (head - base) > options->max_growth * base;
}

/* The values of the parts, run by run, and their sampling variance over them. */
static double add_up(const struct dense *dense, const struct moving_part *parts, size_t nr,
		     double *values)
{
	double value = 0, variance = 0;

	for (size_t i = 0; i < nr; i++) {
		const double *row = dense_row(dense, DENSE_FLAT, parts[i].row);

		for (size_t j = 0; j < dense->nr_runs; j++) {
			values[j] += parts[i].part * row[j];
			value += parts[i].part * row[j];
			variance += parts[i].part *
				    dense->variances[DENSE_FLAT][parts[i].row * dense->nr_runs + j];
		}
	}
	return value > 0 ? variance / value : 0;
}

static void test_together(const struct moving *moving, struct stats_unit *unit,
			  struct stats_test *test)
{
	const struct family *flats = moving->flats;
	struct stats_runs plain = flats->runs;

	plain.totals = plain.totals ? moving->comparison->dense.totals : NULL;
	plain.is_scaled = false;
	stats_fit_unit(&plain, unit, &flats->fit);
	stats_compare(&flats->runs, unit, &flats->fit, test);
}

bool moving_regressed(const struct moving *moving, const struct moving_part *parts, size_t nr)
{
	const struct dense *dense = &moving->comparison->dense;
	double *values scoped(freep) = xcalloc(dense->nr_runs, sizeof(double));
	struct stats_unit unit = {.values = values, .weight = add_up(dense, parts, nr, values)};
	struct stats_test test;
	double sums[2];

	sum_parts(moving, parts, nr, sums);
	if (sums[RUN_HEAD] <= sums[RUN_BASE] ||
	    !moving_is_large(moving, sums[RUN_BASE], sums[RUN_HEAD]) ||
	    !is_borne_out(moving, values))
		return false;
	if (!moving->flats)
		return true; /* floors are all there is */
	test_together(moving, &unit, &test);
	return test.p_grown < comparison_level(moving->comparison, moving->flats);
}

bool moving_same(const struct moving *moving, const struct moving_part *parts, size_t nr)
{
	const struct dense *dense = &moving->comparison->dense;
	double *values scoped(freep) = xcalloc(dense->nr_runs, sizeof(double));
	struct stats_unit unit = {.values = values, .weight = add_up(dense, parts, nr, values)};
	struct stats_test test;
	double sums[2];

	sum_parts(moving, parts, nr, sums);
	if (!moving_is_large(moving, sums[RUN_BASE], sums[RUN_HEAD]))
		return true;
	if (!moving->flats || sums[RUN_HEAD] > SAME_FACTOR * sums[RUN_BASE] ||
	    sums[RUN_BASE] > SAME_FACTOR * sums[RUN_HEAD])
		return false;
	test_together(moving, &unit, &test);
	return fmin(test.p_grown, test.p_shrunk) > SAME_LEVEL;
}
