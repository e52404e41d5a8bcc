/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decodes A64, the instructions of arm64: 32-bit words, little-endian whatever the data is, at multiples of 4.
 *
 * Instructions that change sp, the frame record, control flow or an address are decoded in full; of all others only the general
 * registers that they may write are known. An instruction of an extension that is not known here may be A64_OTHER or A64_UNKNOWN; never one of the others.
 */
#ifndef CPROF_OBJECT_A64_H
#define CPROF_OBJECT_A64_H

#include <stdbool.h>
#include <stdint.h>

#define A64_BYTES 4 /* of an instruction */

/* Register numbers. 31 is sp or the zero register: each field says which. */
#define A64_FP	 29
#define A64_LR	 30
#define A64_SP	 31
#define A64_ZR	 32 /* in fields that can be either */
#define A64_NONE 33 /* no register: the instruction has no such field */

enum a64_class {
	A64_UNKNOWN, /* no instruction, or one that may do anything; nothing behind it is reached for certain */
	A64_OTHER, /* goes on with the next instruction; only `written` is said, and `rd` to `imm` are not */

	/* Control flow. imm: the target, in bytes from the instruction. */
	A64_B,
	A64_BL,	    /* writes x30 */
	A64_B_COND, /* also bc.cond; cond */
	A64_CBZ,    /* tests rn, all bits; is_not: cbnz */
	A64_TBZ,    /* tests bit `shift` of rn; is_not: tbnz */
	A64_BR,	    /* to rn; braa and its like too */
	A64_BLR,    /* to rn, blraa too; writes x30 */
	A64_RET,    /* to rn, which is x30 nearly always; retaa and retab: is_signed */
	A64_SVC,    /* imm: 0 on Linux. The kernel writes x0 */
	A64_BRK,    /* imm; nothing behind it is reached */
	A64_ERET,   /* also drps: the kernel's */

	/* Addresses and constants. rd is never sp. */
	A64_ADR,  /* rd = address of the instruction + imm */
	A64_ADRP, /* rd = (address of the instruction & ~4095) + imm */
	A64_MOV_IMM, /* rd = imm: movz, movn, orr with the zero register; 32 bits are extended with zeros */
	A64_MOVK,    /* 16 bits of rd from bit `shift` on become imm */
	A64_MOV_REG, /* rd = rm: orr with the zero register. mov to or from sp is A64_ADD_IMM of 0 */
	A64_ADD_IMM, /* rd = rn + imm; sub: imm < 0. rd and rn may be sp. sets_flags: rd may be A64_ZR (cmp) */
	A64_ADD_REG, /* rd = rn + (rm extended, << shift); is_not: rn - .... Both may be sp in its extended form */
	A64_AND_IMM, /* rd = rn & imm; rd may be sp. sets_flags as above (tst) */

	/*
	 * Memory at rn (31: sp) + imm. mode says when rn changes. size_bytes: of one register in memory: 1 to 16. rd is the
	 * register loaded or stored, rd2 the second of a pair; is_vector: both are vector registers, so not in `written`.
	 */
	A64_LOAD,	/* also ldur, ldtr, ldar, ldapr; not atomics */
	A64_STORE,	/* also stlr */
	A64_LOAD_PAIR,	/* ldp, ldnp, ldpsw */
	A64_STORE_PAIR, /* stp, stnp */
	/* Memory at rn + (rm extended, << shift). */
	A64_LOAD_REG,
	A64_STORE_REG,
	A64_LOAD_LITERAL, /* memory at the instruction + imm. A kernel may not simulate it under a probe */
	A64_PREFETCH, /* reads nothing, writes nothing */
	A64_EXCLUSIVE, /* ldxr, stxr, ldaxr, stlxr, and pairs: a probe between them makes them fail for ever */
	A64_ATOMIC, /* cas, ldadd, swp and so on: one instruction; only `written` is said */

	/* Return addresses that are signed (PAC): rd is changed in bits that are no part of an address. */
	A64_SIGN, /* paciasp, pacibsp, pacia x30, sp ... */
	A64_AUTH, /* autiasp ...; also xpac, which only strips */
	A64_BTI,  /* a landing pad; paciasp is one as well */
	A64_HINT, /* nop, yield and hints not known here: nothing is written. imm: the hint's number */
};

enum a64_mode {
	A64_OFFSET, /* rn is not changed */
	A64_PRE,    /* rn += imm, then memory is at rn */
	A64_POST,   /* memory is at rn, then rn += imm */
};

/* How the register rm is extended before it is shifted: the field `option` of the instruction. */
enum a64_extend {
	A64_UXTB,
	A64_UXTH,
	A64_UXTW,
	A64_LSL, /* all 64 bits (or, of a 32-bit instruction, 32) */
	A64_SXTB,
	A64_SXTH,
	A64_SXTW,
	A64_SXTX,
};

/* One instruction. Fields that its class does not name are 0 or A64_NONE. */
struct a64 {
	uint8_t class; /* enum a64_class */
	uint8_t rd, rd2, rn, rm;
	uint8_t mode;	    /* enum a64_mode */
	uint8_t extend;	    /* enum a64_extend */
	uint8_t shift;	    /* bits */
	uint8_t size_bytes; /* in memory, of one register */
	uint8_t cond;	    /* of A64_B_COND: 0 eq, 1 ne, ... 14 always */
	bool is_64;	    /* general registers are x, not w; a load extended to 64 bits as well */
	bool is_vector, is_signed_load, is_signed, is_not, sets_flags;
	int64_t imm;
	uint32_t
		written; /* general registers that it may write: bit n for xn, bit 31 for sp; none is missing */
};

/* The instruction of a word. Nothing fails: what is not known is A64_UNKNOWN, which may write all registers. */
struct a64 a64_decode(uint32_t word);

/* The word at bytes, whatever order this machine has. */
static inline uint32_t a64_word(const uint8_t *bytes)
{
	return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
	       (uint32_t)bytes[3] << 24;
}

/* Whether the next instruction is not reached from it but by a return (A64_BL and A64_BLR return). */
static inline bool a64_is_end(const struct a64 *in)
{
	return in->class == A64_B || in->class == A64_BR || in->class == A64_RET ||
	       in->class == A64_BRK || in->class == A64_ERET || in->class == A64_UNKNOWN ||
	       (in->class == A64_B_COND && in->cond >= 14);
}

/* Whether it branches to in->imm bytes from itself, always or sometimes; calls too. */
static inline bool a64_is_relative_branch(const struct a64 *in)
{
	return in->class >= A64_B && in->class <= A64_TBZ;
}

#endif
