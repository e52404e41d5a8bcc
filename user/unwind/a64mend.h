/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Adds to the rows of arm64's call frame information what compilers and C libraries leave out of it. Stands between who makes rows
 * and who takes them.
 *
 * - clang (before 15, and later for what is not asked for asynchronous tables) does not say where a frame is undone: behind
 *   ldp x29, x30, [sp], #n up to the return the caller was another's. Rows are added where the code undoes just what the rule in
 *   force says was done.
 * - Behind the system call of clone both threads go on, and the new one has no caller. That is a function with svc, of their
 *   number, behind which another one begins that has no return address.
 */
#ifndef CPROF_UNWIND_A64MEND_H
#define CPROF_UNWIND_A64MEND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "object/elf.h"
#include "unwind/cfa.h"

/* Private. */
struct a64mend {
	const struct elf_file *file;
	cfa_row_fn emit;
	void *ctx;
	struct unwind_row row, gap; /* the last, and a short gap behind it: not emitted yet */
	bool has_row, has_gap;
	vec_of(uint8_t) bytes;
};

/* file is borrowed. Rows go to emit. */
void a64mend_open(struct a64mend *mend, const struct elf_file *file, cfa_row_fn emit, void *ctx);
/* A cfa_row_fn for a struct a64mend: takes rows at ascending addresses. */
void a64mend_row(void *mend, const struct unwind_row *row);
/* After the last row: emits what is left, and releases what mend holds. */
void a64mend_close(struct a64mend *mend);

#endif
