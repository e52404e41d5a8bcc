/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A parser whose worker is a thread of the test, for the tests of those who ask it; tests/unit/test_sandbox.c has real
 * ones. For cmocka tests only, which include its headers first.
 */
#ifndef CPROF_TESTS_PARSER_CASE_H
#define CPROF_TESTS_PARSER_CASE_H

#include "sandbox/parser.h"
#include "worker/serve.h"

/* For parser_close(). */
static inline struct parser *parser_case_open(void)
{
	const struct peer_options options = {.serve = serve, .in_process = true};
	struct parser *parser = NULL;

	assert_int_equal(parser_open(&options, &parser), 0);
	return parser;
}

#endif
