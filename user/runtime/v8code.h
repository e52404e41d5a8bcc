/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The name and file of a JavaScript function, from copies of what it consists of.
 *
 * The copies are a target's: their lengths and contents may be any. What cannot be read of them is left out.
 */
#ifndef CPROF_RUNTIME_V8CODE_H
#define CPROF_RUNTIME_V8CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/memorycopy.h"

#define V8CODE_NAME_BYTES 512
#define V8CODE_FILE_BYTES 1024

struct v8code_copies {
	struct memory_copy function; /* struct abi_v8_function */
	struct memory_copy name, rest, last,
		file; /* strings; the name goes on with rest and last */
};

struct v8code {
	char name[V8CODE_NAME_BYTES]; /* "compare", "(anonymous:index.js:12)"; UTF-8 */
	char file
		[V8CODE_FILE_BYTES]; /* "/app/index.js", "node:internal/timers"; "": code from a string */
	uint32_t start_line;	     /* 0: not known */
};

/* false: it is no function. */
bool v8code_read(const struct v8code_copies *copies, struct v8code *code);

#endif
