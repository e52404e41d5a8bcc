/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Comparisons of profiles written as text (profile_case.h), for cmocka tests only.
 *
 *	struct gate_case c = {.options = gate_default_options};
 *	for (int i = 0; i < 3; i++) {
 *		gate_case_add(&c, RUN_BASE, "main;a", 500 + i, "main;b", 500, NULL);
 *		gate_case_add(&c, RUN_HEAD, "main;a", 500, "main;b", 800 + i, NULL);
 *	}
 *	gate_case_check(&c);
 *	... c.result ...
 *	gate_case_release(&c);
 */
#ifndef CPROF_TESTS_GATE_CASE_H
#define CPROF_TESTS_GATE_CASE_H

#include <stdarg.h>

#include "gate/verdict.h"
#include "profile_case.h"

struct gate_case {
	struct gate_options options;
	struct identity identity;
	const char *comment; /* of the next profiles; NULL: none */
	int64_t period;	     /* 0: 1 */
	int64_t time_ns;     /* counted up, so that no two are the same */
	struct runs runs;
	struct gate_result result;
};

/* A run of samples "stack", count ... NULL, of cpu profiles. */
static inline void gate_case_add(struct gate_case *c, enum run_side side, ...)
{
	struct profile *profile = case_new("samples/count cpu/nanoseconds");
	va_list samples;

	if (c->period)
		profile->period = c->period;
	profile->time_ns = ++c->time_ns;
	if (c->comment)
		vec_push(&profile->comments, profile_string(profile, c->comment));
	va_start(samples, side);
	for (const char *stack; (stack = va_arg(samples, const char *));) {
		int nr = va_arg(samples, int);

		case_add(profile, stack, "", nr, nr * INT64_C(1000000));
	}
	va_end(samples);
	runs_add_profile(&c->runs, side == RUN_BASE ? "base.pb.gz" : "head.pb.gz", side, profile, 1,
			 &c->identity);
	profile_free(profile);
}

static inline void gate_case_check(struct gate_case *c)
{
	gate_check(&c->runs, &c->options, &c->result);
}

static inline void gate_case_release(struct gate_case *c)
{
	gate_release(&c->result);
	runs_release(&c->runs);
}

static inline const struct gate_test *gate_case_row(const struct gate_case *c, const char *name)
{
	vec_for_each(&c->result.rows, row)
		if (!strcmp((*row)->function ? (*row)->function->name : "total", name))
			return *row;
	return NULL;
}

#endif
