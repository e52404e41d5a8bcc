/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is known of the stack before an instruction (x86-64), and what the instruction makes of it.
 * Private to stackflow.c, which follows code.
 */
#ifndef CPROF_OBJECT_STACKSTATE_H
#define CPROF_OBJECT_STACKSTATE_H

#include <stdbool.h>
#include <stdint.h>

#include <Zydis/Zydis.h>

#include "unwind_abi.h"

#define STACKSTATE_NO_REG UNWIND_NR_REGS

/* What is known before an instruction. Offsets count up from the register to the CFA. */
struct stackstate {
	bool sp_known, fp_known;
	bool interpreted; /* the interpreter's frame: all of it by rbp */
	bool home_known;
	uint8_t alias;	/* a register that holds CFA - alias_off; STACKSTATE_NO_REG: none */
	uint8_t ra_reg; /* the return address is in that register; STACKSTATE_NO_REG: in memory */
	bool ra_by_sp;	/* in memory at sp + ra_off; else at CFA - 8 */
	uint8_t fp_how; /* UNWIND_SAME, UNWIND_AT_CFA, UNWIND_AT_SP */
	int32_t sp_off; /* CFA = sp + sp_off */
	int32_t frame_off;	      /* CFA = rbp + frame_off */
	int32_t alias_off;	      /* CFA = alias + alias_off */
	int32_t home_off, home_deref; /* CFA = *(sp + home_off) + home_deref */
	int32_t ra_off, fp_off;
};

/* States are compared as bytes. */
_Static_assert(sizeof(struct stackstate) == 8 + 7 * 4, "no padding");

struct instruction {
	ZydisDecodedInstruction decoded;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	uint32_t offset, next;
};

/* Where a function is entered: the return address is on top of the stack. */
extern const struct stackstate stackstate_entry;
/* The same, but the CFA is what r13 says, and may be farther up. */
extern const struct stackstate stackstate_sender_entry;
/* In the interpreter's frame. */
extern const struct stackstate stackstate_interpreted;
/* In the body of a frame of that size, rbp stored at CFA - 16. */
struct stackstate stackstate_body(uint32_t frame_bytes);

/* Is it known where the CFA is counted from? */
bool stackstate_has_base(const struct stackstate *state);

/* From before the instruction, which is no jump or return, to behind it; behind a call, to its return. */
void stackstate_apply(struct stackstate *state, const struct instruction *in);

/*
 * The rule that a state is. prefer_fp: by rbp if that is a frame pointer, else by sp if it is known.
 * false: there is none.
 */
bool stackstate_rule(const struct stackstate *state, bool prefer_fp, struct unwind_rule *rule);

#endif
