// SPDX-License-Identifier: BSD-2-Clause
/*
 * gate/factor and what follows from it: what one function does is no other's regression. Programs of a
 * few functions, three runs a side that hardly scatter, so that whatever is called a regression is one
 * by what is compared, not by chance.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "gate_case.h"

#define NR_FUNCTIONS 5

static const int as_it_was[NR_FUNCTIONS] = {4000, 3000, 2000, 500, 500};

/* Functions a, b, c ... of these times, all of them `percent` of it in head. */
static void add_runs(struct gate_case *c, const int *head, int nr, int percent)
{
	for (int i = -1; i <= 1; i++) {
		for (int side = RUN_BASE; side <= RUN_HEAD; side++) {
			struct profile *profile = case_new("samples/count cpu/nanoseconds");

			profile->time_ns = ++c->time_ns;
			for (int j = 0; j < nr; j++) {
				char stack[] = {"main;a"};
				int time = side ? head[j] * percent / 100 : as_it_was[j];

				stack[5] += j;
				if (time)
					case_add(profile, stack, "", time + i, (time + i) * 1000);
			}
			runs_add_profile(&c->runs, "x.pb.gz", side, profile, 1, &c->identity);
			profile_free(profile);
		}
	}
	gate_case_check(c);
}

static void assert_regressed(const struct gate_case *c, const char *expected)
{
	char names[256] = "";

	vec_for_each(&c->result.rows, row)
		if ((*row)->outcome == GATE_REGRESSED && (*row)->function) {
			strcat(names, (*row)->function->name);
			strcat(names, " ");
		}
	assert_string_equal(names, expected);
}

static void test_improvement_moves_no_other(void **state)
{
	static const int left[] = {3600, 2680, 400, 0}; /* of 4000 */

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		for (int as = 0; as < 3; as++) {
			struct gate_case c = {.options = gate_default_options};
			int head[NR_FUNCTIONS];

			memcpy(head, as_it_was, sizeof(head));
			head[0] = left[i];
			c.options.no_absolute = as == 1;
			c.options.no_share = as == 2;
			add_runs(&c, head, NR_FUNCTIONS, 100);
			assert_int_equal(c.result.verdict, GATE_PASS);
			assert_regressed(&c, "");
			if (left[i] < 3600)
				assert_int_equal(gate_case_row(&c, "a")->outcome, GATE_IMPROVED);
			assert_int_equal(gate_case_row(&c, "b")->outcome, GATE_SAME);
			assert_true(fabs(gate_case_row(&c, "b")->growth) < 0.5);
			assert_true(fabs(c.result.size_ratio - 1) < 0.005);
			gate_case_release(&c);
		}
	}
}

/* It is found among runs of any size, and it alone. */
static void test_growth_in_other_work(void **state)
{
	static const int percents[] = {50, 133, 200};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct gate_case c = {.options = gate_default_options}, d = c;
		int head[NR_FUNCTIONS];

		memcpy(head, as_it_was, sizeof(head));
		c.options.no_absolute = d.options.no_absolute = true;
		add_runs(&c, head, NR_FUNCTIONS, percents[i]);
		assert_int_equal(c.result.verdict, GATE_PASS);
		assert_true(fabs(c.result.size_ratio - percents[i] / 100.) < 0.01);
		assert_true(isnan(c.result.detectable_total));
		gate_case_release(&c);
		head[1] = 4200; /* of 3000 */
		add_runs(&d, head, NR_FUNCTIONS, percents[i]);
		assert_int_equal(d.result.verdict, GATE_REGRESSION);
		assert_regressed(&d, "b ");
		assert_true(fabs(gate_case_row(&d, "b")->growth - 40) < 1);
		gate_case_release(&d);
	}
}

/*
 * Everything but b became twice as fast: b is no slower, its share of the typical function's is. By shares alone, for
 * runs that do different amounts of work, this is the same as b twice as slow with half the work: a regression.
 */
static void test_no_slower_is_no_regression(void **state)
{
	struct gate_case c = {.options = gate_default_options}, d = c;
	int head[NR_FUNCTIONS];

	(void)state;
	for (int i = 0; i < NR_FUNCTIONS; i++)
		head[i] = as_it_was[i] / 2;
	head[1] = 3000;
	add_runs(&c, head, NR_FUNCTIONS, 100);
	assert_int_equal(c.result.verdict, GATE_PASS);
	assert_int_equal(gate_case_row(&c, "b")->outcome, GATE_SAME);
	gate_case_release(&c);
	d.options.no_absolute = true;
	add_runs(&d, head, NR_FUNCTIONS, 100);
	assert_regressed(&d, "b ");
	gate_case_release(&d);
}

/*
 * Of two functions no share tells which of them changed: the absolute values do, tested or not. Of one,
 * shares tell nothing at all.
 */
static void test_few_functions(void **state)
{
	static const struct {
		int nr;
		bool as_share, is_known;
		const char *regressed;
	} cases[] = {
		{1, false, false, "a main "}, {2, false, false, "a main "}, {2, true, false, "a "},
		{3, false, true, "a main "},  {3, true, true, "a "},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct gate_case c = {.options = gate_default_options}, d = c;
		int head[NR_FUNCTIONS];

		memcpy(head, as_it_was, sizeof(head));
		c.options.no_absolute = d.options.no_absolute = cases[i].as_share;
		head[0] = 2000;
		add_runs(&c, head, cases[i].nr, 100);
		assert_int_equal(c.result.verdict, GATE_PASS);
		assert_int_equal(c.result.factor.is_known, cases[i].is_known);
		gate_case_release(&c);
		head[0] = 8000;
		add_runs(&d, head, cases[i].nr, 100);
		assert_regressed(&d, cases[i].regressed);
		gate_case_release(&d);
	}
}

static void test_nothing_to_test(void **state)
{
	struct gate_case c = {.options = gate_default_options};

	(void)state;
	c.options.no_absolute = true;
	add_runs(&c, as_it_was, 1, 200);
	assert_int_equal(c.result.verdict, GATE_INCONCLUSIVE);
	assert_non_null(strstr(c.result.reasons.at[0], "--as absolute"));
	gate_case_release(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_improvement_moves_no_other),
		cmocka_unit_test(test_growth_in_other_work),
		cmocka_unit_test(test_no_slower_is_no_regression),
		cmocka_unit_test(test_few_functions),
		cmocka_unit_test(test_nothing_to_test),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
