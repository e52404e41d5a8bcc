/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The name, file and first line of a Perl function, from copies of what it consists of.
 *
 * The copies are a target's: their lengths and contents may be any. What cannot be read of them is left out.
 */
#ifndef CPROF_RUNTIME_PERLCODE_H
#define CPROF_RUNTIME_PERLCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/memorycopy.h"

#define PERLCODE_NAME_BYTES 512
#define PERLCODE_FILE_BYTES 1024

struct perlcode_copies {
	uint16_t version;	  /* 0x0524 is 5.36 */
	struct memory_copy start; /* the statement that it begins with; less of it: not known */
	/* Each a length, a text, NUL, flags; empty: it has none. */
	struct memory_copy name, package;
	struct memory_copy file;  /* a text that ends with NUL */
	struct memory_copy block; /* as many words as enum abi_perl_block says */
};

struct perlcode {
	char name
		[PERLCODE_NAME_BYTES]; /* "Shape::area", "main::f"; without one "prog.pl", "(eval)", "{sort}"; UTF-8 */
	char file[PERLCODE_FILE_BYTES]; /* as the program has it: "prog.pl", "(eval 12)" */
	uint32_t start_line;		/* of its first statement; 0: not known */
};

/* false: the function has no readable name. */
bool perlcode_read(const struct perlcode_copies *copies, struct perlcode *code);

#endif
