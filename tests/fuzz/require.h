/* SPDX-License-Identifier: BSD-2-Clause */
/* What must hold whatever the input is: where it does not, the fuzzer keeps the input. */
#ifndef CPROF_TESTS_FUZZ_REQUIRE_H
#define CPROF_TESTS_FUZZ_REQUIRE_H

#include <stdbool.h>
#include <stdlib.h>

static inline void require(bool condition)
{
	if (!condition)
		abort();
}

#endif
