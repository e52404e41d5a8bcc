/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The name, file and lines of a CRuby function, from copies of what its iseq consists of.
 *
 * The copies are a target's: their lengths and contents may be any. What cannot be read of them is left out.
 */
#ifndef CPROF_RUNTIME_RUBYCODE_H
#define CPROF_RUNTIME_RUBYCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "runtime/memorycopy.h"

#define RUBYCODE_NAME_BYTES 512
#define RUBYCODE_FILE_BYTES 1024
#define RUBYCODE_MAX_ROWS   16384

struct rubycode_copies {
	uint16_t version; /* 0x0301 is 3.1 */
	struct memory_copy body, label, path;
	struct memory_copy lines, index; /* entries, and which is whose (rubycode.c) */
};

/* The words of code before limit, behind those of the row before, belong to a line; 0: to none. */
struct rubycode_row {
	uint32_t limit;
	uint32_t line;
};

struct rubycode {
	char name
		[RUBYCODE_NAME_BYTES]; /* "run", "block in run", "<main>": as backtraces have it; UTF-8 */
	char file[RUBYCODE_FILE_BYTES]; /* as the program has it: "app.rb", "<internal:kernel>" */
	uint32_t start_line;		/* 0: not known */
	vec_of(struct rubycode_row) rows;
};

/* false: the function has no readable name. Else for rubycode_release(). */
bool rubycode_read(const struct rubycode_copies *copies, struct rubycode *code);
void rubycode_release(struct rubycode *code);

#endif
