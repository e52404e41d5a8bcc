/* SPDX-License-Identifier: BSD-2-Clause */
/* The files of tests/fuzz/corpus/ as cases of the readers of functions. */
#ifndef CPROF_TESTS_UNIT_CODE_CASE_H
#define CPROF_TESTS_UNIT_CODE_CASE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "codeparts.h"

/* Reads a file of the corpus for codeparts_split(). The parts are borrowed until the next call. */
static inline void code_case(const char *corpus, const char *name, uint16_t *version,
			     struct memory_copy *const parts[], size_t nr)
{
	static uint8_t input[65536];
	char *path scoped(freep) = xasprintf("tests/fuzz/corpus/%s/%s", corpus, name);
	FILE *file = fopen(path, "rb");
	size_t size;

	assert_non_null(file);
	size = fread(input, 1, sizeof(input), file);
	fclose(file);
	assert_true(codeparts_split(input, size, version, parts, nr));
}

#endif
