// SPDX-License-Identifier: BSD-2-Clause
/* gate/: from profiles to a verdict. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "gate_case.h"

#define NEW_CASE                                \
	{                                       \
		.options = gate_default_options \
	}

/* Three runs a side of: a 1000, b as given. */
static void add_runs(struct gate_case *c, int base_b, int head_b)
{
	for (int i = -1; i <= 1; i++) {
		gate_case_add(c, RUN_BASE, "main;a", 1000 + 10 * i, "main;b", base_b - 5 * i, NULL);
		gate_case_add(c, RUN_HEAD, "main;a", 1000 - 10 * i, "main;b", head_b + 5 * i, NULL);
	}
}

static void test_same_passes(void **state)
{
	struct gate_case c = NEW_CASE;

	(void)state;
	add_runs(&c, 500, 500);
	gate_case_check(&c);
	assert_int_equal(c.result.verdict, GATE_PASS);
	assert_int_equal(c.result.nr_runs[RUN_BASE], 3);
	assert_true(c.result.nr_samples[RUN_HEAD] == 4500);
	assert_true(c.result.detectable_share > 0 && c.result.detectable_total > 0);
	gate_case_release(&c);
}

static void test_growth_is_named(void **state)
{
	struct gate_case c = NEW_CASE;
	const struct gate_test *row;

	(void)state;
	add_runs(&c, 500, 800);
	gate_case_check(&c);
	assert_int_equal(c.result.verdict, GATE_REGRESSION);
	row = gate_case_row(&c, "b");
	assert_int_equal(row->outcome, GATE_REGRESSED);
	assert_int_equal(row->measure, GATE_FLAT);
	assert_true(row->p_grown < 0.05);
	assert_string_equal(row->function->file, "b.c");
	assert_int_equal(row->function->line, 7);
	/* a did not grow; main and the total did, by a fifth */
	assert_int_not_equal(gate_case_row(&c, "a")->outcome, GATE_REGRESSED);
	assert_int_equal(gate_case_row(&c, "total")->outcome, GATE_REGRESSED);
	assert_ptr_equal(c.result.rows.at[0], gate_case_row(&c, "total"));
	assert_true(fabs(c.result.rows.at[0]->growth - 20) < 0.1);
	gate_case_release(&c);
}

static void test_shrinkage_is_no_failure(void **state)
{
	struct gate_case c = NEW_CASE;

	(void)state;
	add_runs(&c, 800, 500);
	c.options.no_share = true; /* whose shares of a smaller whole grow */
	gate_case_check(&c);
	assert_int_equal(c.result.verdict, GATE_PASS);
	assert_int_equal(gate_case_row(&c, "b")->outcome, GATE_IMPROVED);
	gate_case_release(&c);
}

/* Significant, but by less than either floor. */
static void test_floors(void **state)
{
	struct gate_case c = NEW_CASE;

	(void)state;
	c.options.max_growth = 70;
	add_runs(&c, 500, 800);
	gate_case_check(&c);
	assert_int_equal(c.result.verdict, GATE_PASS);
	gate_release(&c.result);
	c.options.max_growth = 10;
	c.options.max_delta = 25; /* 300 of 1500 is 20 points */
	gate_case_check(&c);
	assert_int_equal(c.result.verdict, GATE_PASS);
	gate_release(&c.result);
	c.options.max_delta = 15;
	gate_case_check(&c);
	assert_int_equal(c.result.verdict, GATE_REGRESSION);
	gate_case_release(&c);
}

/* A uniform slow-down changes no share. */
static void test_absolute_sees_what_shares_hide(void **state)
{
	struct gate_case c = NEW_CASE;

	(void)state;
	for (int i = -1; i <= 1; i++) {
		gate_case_add(&c, RUN_BASE, "main;a", 1000 + 10 * i, "main;b", 500 + 5 * i, NULL);
		gate_case_add(&c, RUN_HEAD, "main;a", 1400 + 10 * i, "main;b", 700 + 5 * i, NULL);
	}
	c.options.no_absolute = true;
	gate_case_check(&c);
	assert_int_equal(gate_case_row(&c, "b")->outcome, GATE_SAME);
	assert_null(gate_case_row(&c, "total")); /* nothing absolute is tested */
	assert_int_equal(c.result.verdict, GATE_PASS);
	gate_release(&c.result);
	c.options.no_absolute = false;
	gate_case_check(&c);
	assert_int_equal(gate_case_row(&c, "b")->outcome, GATE_REGRESSED);
	gate_case_release(&c);
}

static void test_clones_are_one(void **state)
{
	struct gate_case c = NEW_CASE;

	(void)state;
	for (int i = -1; i <= 1; i++) {
		gate_case_add(&c, RUN_BASE, "main;f", 500 + i, "main;g", 900 - i, NULL);
		/* recursion through a clone counts once in cum */
		gate_case_add(&c, RUN_HEAD, "main;f.isra.0;f.part.1", 300 + i, "main;f.cold",
			      200 - i, "main;g", 900 + i, NULL);
	}
	gate_case_check(&c);
	assert_int_equal(c.result.verdict, GATE_PASS);
	assert_true(gate_case_row(&c, "f")->stats.head < 0.36);
	assert_null(gate_case_row(&c, "f.isra.0"));
	gate_case_release(&c);
}

static void test_renamed(void **state)
{
	struct gate_case c = NEW_CASE;
	struct identity_rename rename = {"old_name", "new_name"};

	(void)state;
	c.identity = (struct identity){.renames = &rename, .nr_renames = 1};
	for (int i = -1; i <= 1; i++) {
		gate_case_add(&c, RUN_BASE, "main;old_name", 500 + i, "main;g", 900 - i, NULL);
		gate_case_add(&c, RUN_HEAD, "main;new_name", 500 - i, "main;g", 900 + i, NULL);
	}
	gate_case_check(&c);
	assert_int_equal(c.result.verdict, GATE_PASS);
	assert_null(gate_case_row(&c, "old_name"));
	gate_case_release(&c);
}

/* The callee is inlined: the caller's own time grows, what it takes with all below does not. */
static void test_cost_that_moved(void **state)
{
	struct gate_case c = NEW_CASE;
	const struct gate_test *row;

	(void)state;
	for (int i = -1; i <= 1; i++) {
		gate_case_add(&c, RUN_BASE, "main;caller", 300 + i, "main;caller;callee", 300 - i,
			      "main;other", 900, NULL);
		gate_case_add(&c, RUN_HEAD, "main;caller", 600 - i, "main;other", 900 + i, NULL);
	}
	gate_case_check(&c);
	row = gate_case_row(&c, "caller");
	assert_int_equal(row->outcome, GATE_MOVED);
	assert_string_equal(row->moved_from->name, "callee");
	assert_int_equal(c.result.verdict, GATE_PASS);
	gate_case_release(&c);
}

static void test_new_function(void **state)
{
	struct gate_case c = NEW_CASE;
	const struct gate_test *row;

	(void)state;
	for (int i = -1; i <= 1; i++) {
		gate_case_add(&c, RUN_BASE, "main;a", 1000 + i, NULL);
		gate_case_add(&c, RUN_HEAD, "main;a", 1000 - i, "main;added", 60 + i, NULL);
	}
	gate_case_check(&c);
	row = gate_case_row(&c, "added");
	assert_int_equal(row->outcome, GATE_REGRESSED);
	assert_true(isinf(row->growth));
	gate_case_release(&c);
}

static void test_confirmation(void **state)
{
	struct gate_case first = NEW_CASE, second = NEW_CASE, third = NEW_CASE;

	(void)state;
	add_runs(&first, 500, 500);
	gate_case_check(&first);
	add_runs(&second, 500, 800);
	gate_case_check(&second);
	gate_confirm(&second.result, &first.result);
	assert_int_equal(second.result.verdict, GATE_PASS);
	assert_int_equal(gate_case_row(&second, "b")->outcome, GATE_UNCONFIRMED);
	gate_release(&second.result);
	gate_case_check(&second);
	add_runs(&third, 500, 820);
	gate_case_check(&third);
	gate_confirm(&third.result, &second.result);
	assert_int_equal(third.result.verdict, GATE_REGRESSION);
	gate_case_release(&first);
	gate_case_release(&second);
	gate_case_release(&third);
}

/* Refusals --------------------------------------------------------------------------------------- */

/* Is it inconclusive, with one reason that says this? */
static void assert_refused(struct gate_case *c, const char *why)
{
	gate_case_check(c);
	assert_int_equal(c->result.verdict, GATE_INCONCLUSIVE);
	assert_int_equal(c->result.reasons.nr, 1);
	if (!strstr(c->result.reasons.at[0], why))
		fail_msg("'%s' does not say '%s'", c->result.reasons.at[0], why);
	assert_int_equal(c->result.tests.nr, 0);
	gate_case_release(c);
}

static void test_refuses_copies(void **state)
{
	struct gate_case c = NEW_CASE;

	(void)state;
	add_runs(&c, 500, 800);
	c.time_ns = 0; /* the first of base again, as head */
	gate_case_add(&c, RUN_HEAD, "main;a", 990, "main;b", 505, NULL);
	assert_refused(&c, "are copies of one profile");
}

static void test_refuses_empty(void **state)
{
	struct gate_case c = NEW_CASE, d = NEW_CASE;

	(void)state;
	add_runs(&c, 500, 500);
	gate_case_add(&c, RUN_BASE, NULL);
	assert_refused(&c, "is empty");
	gate_case_add(&d, RUN_HEAD, "main;a", 5000, NULL);
	assert_refused(&d, "base has no profile");
}

static void test_refuses_differences(void **state)
{
	struct gate_case c = NEW_CASE;

	(void)state;
	add_runs(&c, 500, 500);
	gate_case_add(&c, RUN_BASE, "main;a", -500, "main;b", 5000, NULL);
	assert_refused(&c, "negative");
}

static void test_refuses_other_kinds(void **state)
{
	struct gate_case c = NEW_CASE;

	(void)state;
	add_runs(&c, 500, 500);
	c.period = 10101010;
	gate_case_add(&c, RUN_HEAD, "main;a", 1000, NULL);
	assert_refused(&c, "period 10101010");
}

static void test_refuses_few_samples(void **state)
{
	struct gate_case c = NEW_CASE;

	(void)state;
	c.options.min_samples = 4501;
	add_runs(&c, 500, 600); /* 4500 and 4800 */
	assert_refused(&c, "base has 4,500 samples, fewer than 4,501");
}

static void test_refuses_losses(void **state)
{
	struct gate_case c = NEW_CASE;

	(void)state;
	c.comment =
		"cprof 0.1.0 record -F 99: taken 10,000 = written 9,950 + lost 50 (ring full 50)";
	add_runs(&c, 500, 500);
	gate_case_check(&c);
	assert_int_equal(c.result.verdict, GATE_PASS);
	gate_release(&c.result);
	c.comment = "cprof 0.1.0 record -F 99: taken 10,000 = written 9,850 + lost 150 (x, y 150)";
	gate_case_add(&c, RUN_HEAD, "main;a", 1000, "main;b", 500, NULL);
	assert_refused(&c, "lost 1.5 % of its samples");
}

static void test_refuses_unknown(void **state)
{
	struct gate_case c = NEW_CASE;

	(void)state;
	for (int i = 0; i < 3; i++) {
		gate_case_add(&c, RUN_BASE, "main;a", 1000 + i, NULL);
		gate_case_add(&c, RUN_HEAD, "main;a", 1000,
			      "[truncated: no unwind info for libx.so];b", 30 + i, NULL);
	}
	assert_refused(&c, "unknown or truncated");
}

static void test_refuses_one_run(void **state)
{
	struct gate_case c = NEW_CASE;

	(void)state;
	gate_case_add(&c, RUN_BASE, "main;a", 1000, "main;b", 500, NULL);
	gate_case_add(&c, RUN_HEAD, "main;a", 1000, "main;b", 1500, NULL);
	gate_case_check(&c);
	assert_int_equal(c.result.verdict, GATE_INCONCLUSIVE);
	assert_int_equal(c.result.reasons.nr, 2);
	gate_release(&c.result);
	c.options.single = true;
	gate_case_check(&c);
	assert_int_equal(c.result.verdict, GATE_REGRESSION);
	assert_true(c.result.is_weak);
	gate_case_release(&c);
}

/* The option assumes nothing where there is something to measure. */
static void test_single_with_replicates(void **state)
{
	struct gate_case c = NEW_CASE;

	(void)state;
	c.options.single = true;
	add_runs(&c, 500, 500);
	gate_case_check(&c);
	assert_false(c.result.is_weak);
	assert_true(c.result.cv < GATE_ASSUMED_CV / 2);
	gate_case_release(&c);
}

/* No number that a file can hold makes a comparison pass that should not. */
static void test_hostile_numbers(void **state)
{
	struct gate_case c = NEW_CASE;

	(void)state;
	for (int i = 0; i < 3; i++) {
		for (int side = RUN_BASE; side <= RUN_HEAD; side++) {
			struct profile *profile = case_new("alloc_objects/count alloc_space/bytes "
							   "alloc_space_variance/square_bytes");

			profile_set_period(profile, "space", "bytes", INT64_MAX);
			profile->time_ns = ++c.time_ns;
			case_add(profile, "main;f", "", INT64_MIN, INT64_MAX - i, INT64_MIN);
			case_add(profile, "main;g", "", INT64_MAX,
				 side ? INT64_MAX - i : 1000000 + i, 0);
			runs_add_profile(&c.runs, "x", side, profile, 1, &c.identity);
			profile_free(profile);
		}
	}
	c.options.min_samples = 0;
	gate_case_check(&c);
	vec_for_each(&c.result.tests, test)
		assert_false(isnan(test->p_grown) || isnan(test->p_shrunk));
	assert_int_equal(c.result.verdict, GATE_REGRESSION);
	gate_case_release(&c);
}

/* Heap ------------------------------------------------------------------------------------------- */

static void add_heap(struct gate_case *c, enum run_side side, int objects, int bytes, int variance)
{
	struct profile *profile = case_new(variance < 0 ? "alloc_objects/count alloc_space/bytes"
							: "alloc_objects/count alloc_space/bytes "
							  "alloc_space_variance/square_bytes");

	profile_set_period(profile, "space", "bytes", 524288);
	profile->time_ns = ++c->time_ns;
	if (variance < 0)
		case_add(profile, "main;f", "", objects, bytes);
	else
		case_add(profile, "main;f", "", objects, bytes, variance);
	runs_add_profile(&c->runs, "heap.pb.gz", side, profile, 1, &c->identity);
	profile_free(profile);
}

static void test_heap_weights(void **state)
{
	struct gate_case c = NEW_CASE;
	const struct run *runs;

	(void)state;
	add_heap(&c, RUN_BASE, 1 << 20, 1 << 30, -1); /* of 1 KiB, p = 1/512 or so */
	add_heap(&c, RUN_BASE, 256, 1 << 30, -1);     /* of 4 MiB: every one is seen */
	add_heap(&c, RUN_BASE, 1 << 20, 1 << 30, 4242);
	runs = c.runs.at.at;
	assert_true(fabs(runs[0].nr_samples / 2046 - 1) < 0.01);
	assert_true(fabs(runs[1].nr_samples / 256 - 1) < 0.01);
	/* (1-p)/p s^2 for each: 511.5 * 2^20 * 2^20; e^-8 * 2^44 * 256 */
	assert_true(fabs(runs[0].total_variance / (511.5 * 0x1p40) - 1) < 0.01);
	assert_true(fabs(runs[1].total_variance / (exp(-8) * 256 * 0x1p44) - 1) < 0.01);
	assert_true(runs[2].total_variance == 4242);
	gate_case_release(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_passes),
		cmocka_unit_test(test_growth_is_named),
		cmocka_unit_test(test_shrinkage_is_no_failure),
		cmocka_unit_test(test_floors),
		cmocka_unit_test(test_absolute_sees_what_shares_hide),
		cmocka_unit_test(test_clones_are_one),
		cmocka_unit_test(test_renamed),
		cmocka_unit_test(test_cost_that_moved),
		cmocka_unit_test(test_new_function),
		cmocka_unit_test(test_confirmation),
		cmocka_unit_test(test_refuses_copies),
		cmocka_unit_test(test_refuses_empty),
		cmocka_unit_test(test_refuses_differences),
		cmocka_unit_test(test_refuses_other_kinds),
		cmocka_unit_test(test_refuses_few_samples),
		cmocka_unit_test(test_refuses_losses),
		cmocka_unit_test(test_refuses_unknown),
		cmocka_unit_test(test_refuses_one_run),
		cmocka_unit_test(test_single_with_replicates),
		cmocka_unit_test(test_hostile_numbers),
		cmocka_unit_test(test_heap_weights),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
