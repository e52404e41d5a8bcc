/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is known of the stack before an instruction (x86-64), how that can change, and the unwind rule
 * that it is. Registers are DWARF numbers, offsets bytes. Private to stackflow.c, which follows code,
 * and stackeffect.c, which knows instructions.
 */
#ifndef CPROF_UNWIND_STACKSTATE_H
#define CPROF_UNWIND_STACKSTATE_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind_abi.h"

#define STACKSTATE_NO_REG     UNWIND_NR_REGS
#define STACKSTATE_MAX_OFF    (1 << 24) /* of anything from sp: beyond, nothing is known */
#define STACKSTATE_SENDER_REG 13	/* the CFA, where the interpreter is entered */

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

/* The stack grew by that much; negative: it shrank. */
void stackstate_grow(struct stackstate *state, int64_t len_bytes);
/* sp becomes unknown. What was found relative to sp is then found relative to the CFA, if that is known. */
void stackstate_lose_sp(struct stackstate *state);
/* A register has another value from now on. */
void stackstate_overwrite(struct stackstate *state, uint8_t reg);
/* The same, and that value is CFA - off, if that is known. */
void stackstate_set_register(struct stackstate *state, uint8_t reg, bool known, int64_t off);
/* Is CFA = reg + *off? */
bool stackstate_counts_from(const struct stackstate *state, uint8_t reg, int64_t *off);

/*
 * The rule that a state is. prefer_fp: by rbp if that is a frame pointer, else by sp if it is known.
 * false: there is none.
 */
bool stackstate_rule(const struct stackstate *state, bool prefer_fp, struct unwind_rule *rule);

#endif
