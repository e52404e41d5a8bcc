/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The name, file and lines of a CPython code object, from copies of what it consists of.
 *
 * The copies are a target's: their lengths and contents may be any. What cannot be read of them is left out.
 */
#ifndef CPROF_RUNTIME_PYCODE_H
#define CPROF_RUNTIME_PYCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "runtime/memorycopy.h"

#define PYCODE_NAME_BYTES 512
#define PYCODE_FILE_BYTES 1024
#define PYCODE_MAX_ROWS	  16384

struct pycode_copies {
	uint16_t version; /* 0x030b is 3.11 */
	struct memory_copy object, name, qualified, file, lines;
};

/* The bytecode before limit, behind that of the row before, belongs to a line; 0: to none. */
struct pycode_row {
	uint32_t limit; /* in bytes of bytecode */
	uint32_t line;
};

struct pycode {
	char name
		[PYCODE_NAME_BYTES]; /* "json.decoder.JSONDecoder.decode": module, function; UTF-8 */
	char file[PYCODE_FILE_BYTES]; /* as the program has it: "<string>", "app.py" */
	uint32_t start_line;
	vec_of(struct pycode_row) rows;
};

/* false: the code object has no readable name. Else for pycode_release(). */
bool pycode_read(const struct pycode_copies *copies, struct pycode *code);
void pycode_release(struct pycode *code);

#endif
