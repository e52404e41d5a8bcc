/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The pieces of an interpreter's loop in a file: compilers move parts of it away from its symbol, up to nearly all, and what they
 * move has no name where a file is stripped.
 */
#ifndef CPROF_RUNTIME_LOOP_H
#define CPROF_RUNTIME_LOOP_H

#include <stdint.h>

#include "object/object.h"

#define LOOP_MAX_PIECES 4

struct loop_piece {
	uint64_t start, limit; /* elf_addrs; both 0: there is none */
};

/* The function that begins at start and what was moved away from it, as loop_find() has them. */
void loop_find_at(struct object *object, uint64_t start, struct loop_piece pieces[LOOP_MAX_PIECES]);

/* The function of this name and what was moved away from it. Sets the first of pieces, as many as there are; the others stay 0, 0. */
void loop_find(struct object *object, const char *name, struct loop_piece pieces[LOOP_MAX_PIECES]);

#endif
