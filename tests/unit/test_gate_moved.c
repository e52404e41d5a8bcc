// SPDX-License-Identifier: BSD-2-Clause
/*
 * gate/moved: what is new in one place and gone from another is no regression; what only looks like it
 * is one. Runs hardly scatter: the tests look at which functions are matched.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "gate/phrase.h"
#include "gate_case.h"

/* "main;a 400, main;b 300" */
static void add_run(struct gate_case *c, enum run_side side, const char *text, int off)
{
	struct profile *profile = case_new("samples/count cpu/nanoseconds");
	char *copy scoped(freep) = xstrdup(text), *rest = copy, *item;

	profile->time_ns = ++c->time_ns;
	while ((item = strsep(&rest, ","))) {
		char *value = strrchr(item, ' ');
		int nr = atoi(value + 1) + off;

		*value = '\0';
		item += strspn(item, " ");
		case_add(profile, item, "", nr, nr * 1000);
	}
	runs_add_profile(&c->runs, "x.pb.gz", side, profile, 1, &c->identity);
	profile_free(profile);
}

struct moving_case {
	const char *base, *head;
	const char *moves;     /* "a is now b (moved)!": ! where it is certain */
	const char *regressed; /* names of functions, in the order of rows; NULL: it passes */
};

static void describe(const struct gate_result *result, char *moves, char *regressed)
{
	*moves = *regressed = '\0';
	vec_for_each(&result->moves, move)
		sprintf(moves + strlen(moves), "%s%s%s", *moves ? ", " : "", phrase_move(move).text,
			move->is_certain ? "!" : "");
	vec_for_each(&result->rows, row)
		if ((*row)->outcome == GATE_REGRESSED && (*row)->function)
			sprintf(regressed + strlen(regressed), "%s%s", *regressed ? ", " : "",
				(*row)->function->name);
}

/* Both are lists such as "a, b": what the one names, the other names. */
static void assert_named(const char *names, const char *list)
{
	char text[1024], *next, *name;

	strcpy(text, names);
	for (name = strtok_r(text, ", ", &next); name; name = strtok_r(NULL, ", ", &next)) {
		const char *at = strstr(list, name);

		while (at && (at > list && at[-1] != ' '))
			at = strstr(at + 1, name);
		if (!at || (at[strlen(name)] && at[strlen(name)] != ','))
			fail_msg("%s is not in %s", name, list);
	}
}

static void check_case(const struct moving_case *moving, int as)
{
	struct gate_case c = {.options = gate_default_options};
	char moves[1024], regressed[1024];

	c.options.no_absolute = as == 1;
	c.options.no_share = as == 2;
	for (int i = -1; i <= 1; i++) {
		add_run(&c, RUN_BASE, moving->base, i);
		add_run(&c, RUN_HEAD, moving->head, -i);
	}
	gate_case_check(&c);
	describe(&c.result, moves, regressed);
	if (c.result.reasons.nr)
		fail_msg("%s", c.result.reasons.at[0]);
	if (strcmp(moves, moving->moves))
		print_message("%s -> %s, as %d\n", moving->base, moving->head, as);
	/* by absolute values, those that call what regressed may have regressed, too */
	if (as != 1 && moving->regressed)
		assert_named(moving->regressed, regressed);
	else
		assert_string_equal(regressed, moving->regressed ? moving->regressed : "");
	assert_int_equal(c.result.verdict, moving->regressed ? GATE_REGRESSION : GATE_PASS);
	assert_string_equal(moves, moving->moves);
	gate_case_release(&c);
}

#define REST ", main;x 3000, main;y 2000, main;z 1000"

static void check_cases(const struct moving_case *cases, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		for (int as = 0; as < 3; as++)
			check_case(&cases[i], as);
}
#define CHECK(cases) check_cases(cases, sizeof(cases) / sizeof((cases)[0]))

static void test_renamed(void **state)
{
	static const struct moving_case cases[] = {
		{"main;a 900" REST, "main;b 900" REST, "a is now b (moved)!", NULL},
		/* a whole chain: their nearest common caller is main */
		{"main;m::a 800, main;m::a;m::b 500" REST, "main;n::a 800, main;n::a;n::b 500" REST,
		 "m::a is now n::a (moved)!, m::b is now n::b (moved)!", NULL},
		/* with what it calls */
		{"main;a 500, main;a;f 900" REST, "main;b 500, main;b;f 900" REST,
		 "a is now b (moved)!", NULL},
		/* two that could be either are not certain */
		{"main;a 900, main;c 890" REST, "main;b 900, main;d 890" REST,
		 "a is now b (moved), c is now d (moved)", NULL},
	};

	(void)state;
	CHECK(cases);
}

/* Other callers, the same cost: another library, another thread. */
static void test_elsewhere(void **state)
{
	static const struct moving_case cases[] = {
		{"main;x;liba_work 900" REST, "main;y;libb_work 900" REST,
		 "liba_work is now libb_work (moved)", NULL},
		{"main;work 900" REST, "thread;pool;work2 900" REST, "work is now work2 (moved)",
		 NULL},
		/* what both call stays; a new frame between it and its callers costs nothing */
		{"main;x;a 600, main;x;a;f 900" REST, "main;y;b 600, main;y;b;f 900" REST,
		 "a is now b (moved)", NULL},
		{"main;f 900" REST, "main;wrap;f 900" REST, "", NULL},
	};

	(void)state;
	CHECK(cases);
}

static void test_extracted_and_inlined(void **state)
{
	static const struct moving_case cases[] = {
		/* the loop's body into a helper; at two depths */
		{"main;a 900" REST, "main;a 100, main;a;loop 800" REST,
		 "part of a is now in loop (moved)!", NULL},
		{"main;a 900" REST, "main;a 100, main;a;each;body 800" REST,
		 "part of a is now in body (moved)!", NULL},
		/* and back */
		{"main;a 100, main;a;loop 800" REST, "main;a 900" REST, "loop is now in a (moved)!",
		 NULL},
		{"main;a 100, main;a;each;body 800" REST, "main;a 900" REST,
		 "body is now in a (moved)!", NULL},
		/* into one that is there already */
		{"main;a 900, main;a;f 300" REST, "main;a 200, main;a;f 1000" REST,
		 "part of a is now in f (moved)!", NULL},
	};

	(void)state;
	CHECK(cases);
}

static void test_split_and_merged(void **state)
{
	static const struct moving_case cases[] = {
		{"main;a 900" REST, "main;b 400, main;c 500" REST,
		 "a is now in c (moved), a is now in b (moved)", NULL},
		{"main;a 900" REST, "main;b 150, main;c 750" REST,
		 "a is now c (moved)!, a is now in b (moved)", NULL},
		{"main;a 900" REST, "main;a 300, main;b 250, main;c 350" REST,
		 "part of a is now in c (moved), part of a is now in b (moved)", NULL},
		{"main;b 400, main;c 500" REST, "main;a 900" REST,
		 "c is now in a (moved), b is now in a (moved)", NULL},
		{"main;a 400, main;b 500" REST, "main;a 900" REST, "b is now in a (moved)", NULL},
	};

	(void)state;
	CHECK(cases);
}

/* What must not pass for one. */
static void test_regressions_stay(void **state)
{
	static const struct moving_case cases[] = {
		/* new, and nothing is gone */
		{"main;a 900" REST, "main;a 900, main;b 400" REST, "", "b"},
		/* renamed, and half as much again */
		{"main;a 900" REST, "main;b 1350" REST, "", "b"},
		/* another became faster, by as much */
		{"main;a 900, main;b 900" REST, "main;a 1300, main;b 500" REST, "", "a"},
		/* a loss explains once */
		{"main;a 900" REST, "main;b 900, main;c 900" REST, "a is now b (moved)", "c"},
		/* extracted, and twice as slow */
		{"main;a 900" REST, "main;a 100, main;a;loop 1600" REST, "", "loop, a"},
		/* a callee of a renamed one became slower */
		{"main;a 500, main;a;f 500" REST, "main;b 500, main;b;f 900" REST,
		 "a is now b (moved)!", "f, b"},
	};

	(void)state;
	CHECK(cases);
}

static void test_gone_is_no_improvement(void **state)
{
	struct gate_case c = {.options = gate_default_options};

	(void)state;
	for (int i = -1; i <= 1; i++) {
		add_run(&c, RUN_BASE, "main;a 900" REST, i);
		add_run(&c, RUN_HEAD, "main;b 900" REST, -i);
	}
	gate_case_check(&c);
	assert_null(gate_case_row(&c, "a"));
	assert_int_equal(gate_case_row(&c, "b")->outcome, GATE_MOVED);
	vec_for_each(&c.result.tests, test)
		assert_true(test->outcome == GATE_SAME || test->outcome == GATE_MOVED);
	gate_case_release(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_renamed),
		cmocka_unit_test(test_elsewhere),
		cmocka_unit_test(test_extracted_and_inlined),
		cmocka_unit_test(test_split_and_merged),
		cmocka_unit_test(test_regressions_stay),
		cmocka_unit_test(test_gone_is_no_improvement),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
