/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is known about the stack before an instruction (x86-64), how instructions change it, and its unwind
 * rule. Registers are DWARF numbers, offsets bytes. Private to stackflow.c and asmpath.c, which follow code,
 * and stackeffect.c, which knows instructions.
 */
#ifndef CPROF_UNWIND_STACKSTATE_H
#define CPROF_UNWIND_STACKSTATE_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind_abi.h"

#define STACKSTATE_NO_REG     UNWIND_NR_REGS
#define STACKSTATE_MAX_OFF    (1 << 24) /* of any offset from sp; beyond it the state is unknown */
#define STACKSTATE_SENDER_REG 13	/* holds the CFA at an entry of the interpreter */

/* What is known before an instruction. Offsets count up from the register to the CFA. */
struct stackstate {
	bool sp_known, fp_known;
	bool interpreted; /* a frame of the interpreter: everything is relative to rbp */
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

/* At a function's entry: the return address is on top of the stack. */
extern const struct stackstate stackstate_entry;
/* The same, but r13 holds the CFA, which may be farther up. */
extern const struct stackstate stackstate_sender_entry;
/* In the interpreter's frame. */
extern const struct stackstate stackstate_interpreted;
/* In the body of a frame of this size, with rbp stored at CFA - 16. */
struct stackstate stackstate_body(uint32_t frame_bytes);

/* Whether the CFA is known. */
bool stackstate_has_base(const struct stackstate *state);

/* The stack grew by this many bytes; negative: it shrank. */
void stackstate_grow(struct stackstate *state, int64_t len_bytes);
/* sp becomes unknown. What was relative to sp becomes relative to the CFA, if that is known. */
void stackstate_lose_sp(struct stackstate *state);
/* A register gets an unknown value. */
void stackstate_overwrite(struct stackstate *state, uint8_t reg);
/* A register gets the value CFA - off, if the CFA is known. */
void stackstate_set_register(struct stackstate *state, uint8_t reg, bool known, int64_t off);
/* Whether CFA = reg + *off; sets *off. */
bool stackstate_counts_from(const struct stackstate *state, uint8_t reg, int64_t *off);

/*
 * The unwind rule of a state. prefer_fp: by rbp if that is a frame pointer, otherwise by sp if it is known. false:
 * there is none.
 */
bool stackstate_rule(const struct stackstate *state, bool prefer_fp, struct unwind_rule *rule);

#endif
