/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The effect of one x86-64 instruction on what is known about the stack. Private to stackflow.c and asmpath.c, which follow
 * code.
 */
#ifndef CPROF_UNWIND_STACKEFFECT_H
#define CPROF_UNWIND_STACKEFFECT_H

#include <stdint.h>

#include <Zydis/Zydis.h>

#include "unwind/stackstate.h"

/* A decoded instruction with its operands; its begin and end, in bytes from the start of the code. */
struct instruction {
	ZydisDecodedInstruction decoded;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	uint32_t offset, next;
};

/* Changes the state before an instruction (not a jump or return) to the one after it; after a call's return. */
void stackeffect_apply(struct stackstate *state, const struct instruction *in);

#endif
