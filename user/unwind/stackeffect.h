/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The effect of one x86-64 instruction on what is known of the stack. Private to stackflow.c, which follows
 * code.
 */
#ifndef CPROF_UNWIND_STACKEFFECT_H
#define CPROF_UNWIND_STACKEFFECT_H

#include <stdint.h>

#include <Zydis/Zydis.h>

#include "unwind/stackstate.h"

/* Decoded, with its operands; where it begins and ends, in bytes from the start of the code. */
struct instruction {
	ZydisDecodedInstruction decoded;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	uint32_t offset, next;
};

/* From before the instruction, which is no jump or return, to behind it; behind a call, to its return. */
void stackeffect_apply(struct stackstate *state, const struct instruction *in);

#endif
