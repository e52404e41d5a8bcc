// SPDX-License-Identifier: BSD-2-Clause
/*
 * A list of rules, from the surest to the least sure, each of which takes from what is not explained
 * yet: renamed (one new function, one gone), split (new functions with the callers of one that
 * shrank), extracted or merged (functions nearby lost as much), inlined (the cumulative value did not
 * grow). Pairs for a rename are ranked before they are taken. One that has an equally good rival is
 * not certain (gate_move.is_certain): the user is asked to confirm it by --rename.
 *
 * Outcomes change after all rules (set_outcomes()), so that no rule sees what another made of a test.
 */
#include "gate/moved.h"

#include <math.h>
#include <stdlib.h>

#include "gate/moving.h"

#define RIVAL	    1.25 /* as likely a partner: of a cost that is no further off */
#define LEAST_KEPT  0.8	 /* a function that became less than that was split, or improved, too */
#define LEAST_LOSS  0.25 /* of what grew: a smaller loss of what is still there is noise */
#define MAX_SOURCES 32

static const struct run_function *function_of(const struct moving *moving,
					      const struct mover *mover)
{
	return &moving->comparison->result->runs->functions.at[mover->function];
}

static bool is_regressed(const struct gate_test *test)
{
	return test && test->outcome == GATE_REGRESSED;
}

/* Only for what would have failed otherwise. */
static void add_move(struct moving *moving, struct mover *grown, const struct mover *shrunk,
		     bool is_all, bool is_certain)
{
	struct gate_result *result = moving->comparison->result;
	struct gate_move move = {.from = function_of(moving, shrunk),
				 .to = function_of(moving, grown),
				 .is_gone = shrunk->is_alone,
				 .is_new = grown->is_alone,
				 .is_all = is_all,
				 .is_certain = is_certain};

	if (!is_regressed(moving->flat_tests[grown->row]) &&
	    !is_regressed(moving->cum_tests[grown->row]))
		return;
	vec_for_each(&result->moves, other)
		if (other->from == move.from && other->to == move.to)
			return;
	vec_push(&result->moves, move);
}

static void explain(struct moving *moving, struct mover *grown, const struct mover *largest)
{
	grown->is_explained = true;
	moving->is_moved[grown->row] = true;
	moving->from[grown->row] = function_of(moving, largest);
}

/* Renamed ---------------------------------------------------------------------------------------- */

/* What is new, and what is gone: is it one? */
struct match {
	struct mover *grown, *shrunk;
	enum relation relation;
	double off; /* how far apart they are, of the logarithm */
};
struct matches {
	struct match *at;
	size_t nr, cap;
};

static int compare_matches(const void *left, const void *right)
{
	const struct match *a = left, *b = right;

	if (a->relation != b->relation)
		return a->relation < b->relation ? 1 : -1;
	if (a->off != b->off)
		return a->off > b->off ? 1 : -1;
	return a->grown->row != b->grown->row
		       ? (a->grown->row > b->grown->row ? 1 : -1)
		       : (a->shrunk->row > b->shrunk->row) - (a->shrunk->row < b->shrunk->row);
}

static bool total_regressed(const struct moving *moving)
{
	vec_for_each(&moving->comparison->result->tests, test)
		if (test->measure == GATE_TOTAL)
			return test->outcome == GATE_REGRESSED;
	return false;
}

static void consider(const struct moving *moving, struct mover *grown, struct mover *shrunk,
		     struct matches *matches)
{
	struct moving_part both[] = {{grown->row, 1}, {shrunk->row, 1}};
	double before = moving->flat[RUN_BASE][shrunk->row];
	double after = moving->flat[RUN_HEAD][grown->row];
	enum relation relation = moving_relation(grown, shrunk);

	if (after < LEAST_KEPT * before || relation == RELATION_CALL)
		return;
	if (relation == RELATION_NONE && (!moving_same(moving, both, 2) || total_regressed(moving)))
		return;
	vec_push(matches, (struct match){grown, shrunk, relation, fabs(log(after / before))});
}

/* Another that would do as well? */
static bool has_rival(const struct matches *matches, const struct match *match)
{
	vec_for_each(matches, other)
		if (other != match && other->relation == match->relation &&
		    (other->grown == match->grown || other->shrunk == match->shrunk) &&
		    other->off <= log(RIVAL))
			return true;
	return false;
}

static void find_renamed(struct moving *moving)
{
	struct matches matches = {0};

	vec_for_each(&moving->grown, grown)
		vec_for_each(&moving->shrunk, shrunk)
			if (grown->is_alone && shrunk->is_alone)
				consider(moving, grown, shrunk, &matches);
	if (matches.nr)
		qsort(matches.at, matches.nr, sizeof(*matches.at), compare_matches);
	vec_for_each(&matches, match) {
		struct moving_part both[] = {{match->grown->row, 1}, {match->shrunk->row, 1}};

		if (match->grown->is_explained || match->shrunk->left < match->shrunk->change ||
		    moving_regressed(moving, both, 2))
			continue;
		explain(moving, match->grown, match->shrunk);
		match->shrunk->left = fmax(0, match->shrunk->change - match->grown->change);
		add_move(moving, match->grown, match->shrunk, true,
			 match->relation == RELATION_CALLERS && !has_rival(&matches, match));
	}
	vec_release(&matches);
}

/* Extracted, inlined, merged, split -------------------------------------------------------------- */

struct source {
	struct mover *shrunk;
	enum relation relation;
	double part; /* of its loss */
};

static int compare_sources(const void *left, const void *right)
{
	const struct source *a = left, *b = right;

	if (a->relation != b->relation)
		return a->relation < b->relation ? 1 : -1;
	if (a->shrunk->left != b->shrunk->left)
		return a->shrunk->left < b->shrunk->left ? 1 : -1;
	return (a->shrunk->row > b->shrunk->row) - (a->shrunk->row < b->shrunk->row);
}

static bool is_source(const struct moving *moving, const struct mover *grown,
		      const struct mover *shrunk, enum relation relation)
{
	const struct gate_test *test = moving->flat_tests[shrunk->row];

	if (!(shrunk->left > 0))
		return false;
	if (relation == RELATION_CALLERS)
		return shrunk->is_alone;
	return relation == RELATION_CALL &&
	       (shrunk->is_alone || shrunk->left >= LEAST_LOSS * grown->change ||
		(test && test->outcome == GATE_IMPROVED));
}

/* The best, and of the last no more than it takes. */
static size_t choose_sources(struct moving *moving, const struct mover *grown,
			     struct source sources[MAX_SOURCES])
{
	double needed = grown->change;
	size_t nr = 0, nr_used = 0;

	vec_for_each(&moving->shrunk, shrunk) {
		enum relation relation = moving_relation(grown, shrunk);

		if (nr < MAX_SOURCES && is_source(moving, grown, shrunk, relation))
			sources[nr++] = (struct source){shrunk, relation, 0};
	}
	if (nr)
		qsort(sources, nr, sizeof(*sources), compare_sources);
	for (; nr_used < nr && needed > 0; nr_used++) {
		struct source *source = &sources[nr_used];
		double taken = fmin(needed, source->shrunk->left);

		source->part = taken / source->shrunk->change;
		needed -= taken;
	}
	return nr_used;
}

static void find_sources(struct moving *moving, struct mover *grown)
{
	struct source sources[MAX_SOURCES];
	struct moving_part parts[MAX_SOURCES + 1] = {{grown->row, 1}};
	size_t nr = choose_sources(moving, grown, sources);

	for (size_t i = 0; i < nr; i++)
		parts[i + 1] = (struct moving_part){sources[i].shrunk->row, sources[i].part};
	if (!nr || moving_regressed(moving, parts, nr + 1))
		return;
	explain(moving, grown, sources[0].shrunk);
	for (size_t i = 0; i < nr; i++) {
		struct mover *shrunk = sources[i].shrunk;
		bool is_all = nr == 1 && grown->is_alone && shrunk->is_alone &&
			      sources[i].part >= LEAST_KEPT;

		add_move(moving, grown, shrunk, is_all, sources[i].relation == RELATION_CALL);
		shrunk->left -= sources[i].part * shrunk->change;
	}
}

/*
 * New functions with the callers of one that shrank, or is gone: all together. What is still there must
 * have lost what they have, no more: else it became faster, and they are new.
 */
static void find_split(struct moving *moving, struct mover *shrunk)
{
	struct mover *pieces[MAX_SOURCES];
	struct moving_part parts[MAX_SOURCES + 1] = {{shrunk->row, 1}};
	size_t nr = 0;

	vec_for_each(&moving->grown, grown) {
		if (nr == MAX_SOURCES || grown->is_explained || !grown->is_alone ||
		    moving_relation(grown, shrunk) != RELATION_CALLERS)
			continue;
		pieces[nr++] = grown;
		parts[nr] = (struct moving_part){grown->row, 1};
	}
	if (!nr || shrunk->left < shrunk->change ||
	    (shrunk->is_alone ? moving_regressed(moving, parts, nr + 1)
			      : !moving_same(moving, parts, nr + 1)))
		return;
	shrunk->left = 0;
	for (size_t i = 0; i < nr; i++) {
		explain(moving, pieces[i], shrunk);
		add_move(moving, pieces[i], shrunk, shrunk->is_alone && nr == 1, false);
	}
}

/* With all that it calls it is no more than before: it must have come from there, at whatever depth. */
static void find_inlined(struct moving *moving, struct mover *grown)
{
	const double *cum[] = {moving->cum[RUN_BASE], moving->cum[RUN_HEAD]};
	double more = cum[RUN_HEAD][grown->row] - cum[RUN_BASE][grown->row];

	if (is_regressed(moving->cum_tests[grown->row]) || more > grown->change / 2)
		return;
	vec_for_each(&moving->shrunk, shrunk) {
		if (shrunk->left < grown->change / 2)
			continue;
		explain(moving, grown, shrunk);
		add_move(moving, grown, shrunk, false, true);
		return;
	}
}

static void explain_flat(struct moving *moving)
{
	find_renamed(moving);
	vec_for_each(&moving->shrunk, shrunk)
		find_split(moving, shrunk);
	vec_for_each(&moving->grown, grown)
		if (!grown->is_explained)
			find_sources(moving, grown);
	vec_for_each(&moving->grown, grown)
		if (!grown->is_explained)
			find_inlined(moving, grown);
}

/* Outcomes --------------------------------------------------------------------------------------- */

static const struct run_function *moved_to(const struct gate_result *result,
					   const struct run_function *from)
{
	vec_for_each(&result->moves, move)
		if (move->from == from && move->is_gone)
			return move->to;
	return NULL;
}

/* What is gone, but elsewhere, is no improvement. */
static void mark_gone(struct gate_test *test, const struct run_function *to)
{
	if (!test || test->outcome != GATE_IMPROVED)
		return;
	test->outcome = GATE_MOVED;
	test->moved_to = to;
}

static void set_outcomes(struct moving *moving)
{
	vec_for_each(&moving->grown, grown) {
		struct gate_test *test = moving->flat_tests[grown->row];

		if (!grown->is_explained || !is_regressed(test))
			continue;
		test->outcome = GATE_MOVED;
		test->moved_from = moving->from[grown->row];
	}
	vec_for_each(&moving->shrunk, shrunk) {
		const struct run_function *to =
			moved_to(moving->comparison->result, function_of(moving, shrunk));

		if (!to || shrunk->left > shrunk->change / 10)
			continue;
		mark_gone(moving->flat_tests[shrunk->row], to);
		mark_gone(moving->cum_tests[shrunk->row], to);
	}
}

static bool has_regressed(const struct gate_result *result)
{
	vec_for_each(&result->tests, test)
		if (test->function && test->outcome == GATE_REGRESSED)
			return true;
	return false;
}

void gate_find_moved(struct comparison *comparison)
{
	struct callgraph graph;

	if (!has_regressed(comparison->result))
		return;
	callgraph_make(comparison->result->runs, &graph);
	for (int quantity = GATE_ABSOLUTE; quantity <= GATE_SHARE; quantity++) {
		struct moving moving;

		moving_make(comparison, &graph, quantity, &moving);
		explain_flat(&moving);
		moving_explain_cum(&moving);
		set_outcomes(&moving);
		moving_release(&moving);
	}
	callgraph_release(&graph);
}
