/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unwind rows from x86-64 machine code that has no unwind information.
 *
 * The code must follow the conventions of a just-in-time compiler, its stubs and its interpreter; their effect on
 * the stack is followed from instruction to instruction, along every branch.
 *
 * The bytes are not trusted: any bytes give rows, at worst wrong ones, in time and memory linear in their number.
 */
#ifndef CPROF_UNWIND_STACKFLOW_H
#define CPROF_UNWIND_STACKFLOW_H

#include <stddef.h>
#include <stdint.h>

#include "unwind/cfa.h"

#define STACKFLOW_MAX_BYTES (16u << 20) /* of code in one call; there are no rows for more */

enum stackflow_kind {
	STACKFLOW_COMPILED,    /* frames of a fixed size; rbp is like any other register */
	STACKFLOW_STUB,	       /* hand-written; once rbp is a frame pointer it stays one */
	STACKFLOW_INTERPRETER, /* rbp frames that hold the caller's sp at rbp - 8 */
};

/* An address where code is entered with its caller's frame on top of the stack. */
struct stackflow_entry {
	size_t offset;
	/* r13 is the caller's sp; the stack between belongs to neither (entries of the interpreter) */
	bool sender_in_r13;
};

struct stackflow_code {
	const uint8_t *bytes; /* borrowed */
	size_t len_bytes;
	uint64_t addr; /* of bytes[0] */
	enum stackflow_kind kind;
	/*
	 * COMPILED, STUB: what is between sp and the CFA in the body, for code that no branch leads
	 * to; 0: such code is a function's entry.
	 */
	uint32_t frame_bytes;
	const struct stackflow_entry *entries; /* ascending; those out of bounds are ignored */
	size_t nr_entries;
};

/* Calls emit for each change of the rule, at ascending addresses, the first of them code->addr. */
void stackflow_rows(const struct stackflow_code *code, cfa_row_fn emit, void *ctx);

#endif
