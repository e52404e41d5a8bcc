/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * arm64 machine code that a walk recognizes where nothing describes it: what BPF and user space both do there, most of it JIT
 * code (code_abi.h for x86-64).
 *
 * A function that has not called yet has its return address in lr, and maybe no pair on the stack: x29 alone would leave
 * its caller out. One that has called has in lr an address of its own. Which of both it is the code itself says: followed from ip on,
 * it first uses lr (ret), saves it (stp), loads it (ldp) or overwrites it (bl).
 */
#ifndef CPROF_ARCH_ARM64_CODE_H
#define CPROF_ARCH_ARM64_CODE_H

#include "code_abi.h"

#define ARM64_LINE_STEPS 32 /* instructions followed, at most */

/* A piece of code, as far as it was followed. Registers are those that its caller will have. */
struct arm64_line {
	__u64 pc;
	__u64 sp;    /* there; 0: not known */
	__u64 fp;    /* x29 where it began */
	__u64 ra_at; /* where the return address is in memory, 0: in lr */
	__u64 fp_at; /* the same for the caller's x29 */
};

/* nr_bits of an instruction, from low on, as a number with a sign. */
static inline __s64 arm64_signed(__u32 word, __u32 low, __u32 nr_bits)
{
	return (__s64)((__u64)word << (64 - low - nr_bits)) >> (64 - nr_bits);
}

/* ret, also retaa and retab. */
static inline int arm64_is_ret(__u32 word)
{
	return word == 0xd65f03c0 || (word & 0xfffffbff) == 0xd65f0bff;
}

/* bl, blr and the forms of it that check a signature. */
static inline int arm64_is_call(__u32 word)
{
	return (word & 0xfc000000) == 0x94000000 || (word & 0xfffffc1f) == 0xd63f0000 ||
	       (word & 0xfefff800) == 0xd63f0800;
}

/* mov x8,#139; svc #0: rt_sigreturn, the first in the lower half. The kernel called what returns to it. */
static inline int arm64_is_sigreturn(__u64 code)
{
	return code == 0xd4000001d2801168ull;
}

/* br, braa and so on; brk; udf: from here nothing is known. */
static inline int arm64_ends(__u32 word)
{
	return (word & 0xfffffc1f) == 0xd61f0000 || (word & 0xfefff800) == 0xd61f0800 ||
	       (word & 0xffe0001f) == 0xd4200000 || word >> 16 == 0;
}

/* br x16 and br x17 go to another function: a PLT's stub, a veneer. */
static inline int arm64_is_tail_call(__u32 word)
{
	return word == 0xd61f0200 || word == 0xd61f0220;
}

/* What an instruction does with memory at sp, or with sp: zeroed for others. */
struct arm64_access {
	__s64 off;		/* of the first register, from sp before it moves */
	__s64 moves;		/* sp, by so many bytes */
	__u8 first, second;	/* registers, 31: none */
	__u8 is_load, is_store; /* of these */
};

/* ldp and stp: class is 1 behind, 2 without, 3 before a move of sp. Registers are those of 64 bits that are general ones. */
static inline struct arm64_access arm64_pair(__u32 word)
{
	__u32 class = word >> 23 & 3, opc = word >> 30, is_other = word >> 26 & 1;
	__u32 is_general = !is_other && opc == 2;
	__s64 imm = arm64_signed(word, 15, 7) * (is_other ? 4 << opc : opc == 2 ? 8 : 4);
	struct arm64_access access = {
		.off = class == 1 ? 0 : imm,
		.moves = class == 2 ? 0 : imm,
		.first = is_general ? word & 31 : 31,
		.second = is_general ? word >> 10 & 31 : 31,
		.is_load = word >> 22 & 1,
		.is_store = !(word >> 22 & 1),
	};

	return access;
}

/* ldr and str of a general register, of 64 bits; of others, how they move sp. */
static inline struct arm64_access arm64_single(__u32 word)
{
	__u32 is_general = (word & 0xfe800000) == 0xf8000000;
	__u32 scaled = word >> 24 & 1, is_before = word >> 11 & 1;
	__s64 imm = scaled ? (__s64)(word >> 10 & 0xfff) * 8 : arm64_signed(word, 12, 9);
	struct arm64_access access = {
		.off = scaled || is_before ? imm : 0,
		.moves = scaled ? 0 : imm,
		.first = is_general ? word & 31 : 31,
		.second = 31,
		.is_load = word >> 22 & 1,
		.is_store = !(word >> 22 & 1),
	};

	return access;
}

static inline struct arm64_access arm64_access_of(__u32 word)
{
	struct arm64_access none = {.first = 31, .second = 31};
	__s64 imm = (__s64)(word >> 10 & 0xfff) << (word >> 22 & 1) * 12;

	if ((word >> 5 & 31) != 31)
		return none;
	if ((word & 0x3a000000) == 0x28000000 && (word >> 23 & 3))
		return arm64_pair(word);
	if ((word & 0xff800000) == 0xf9000000 || (word & 0x3b200400) == 0x38000400)
		return arm64_single(word);
	if ((word & 0xff80001f) == 0x9100001f)
		none.moves = imm;
	if ((word & 0xff80001f) == 0xd100001f)
		none.moves = -imm;
	return none;
}

/* mov sp,x29; add and sub sp,x29,#n. */
static inline int arm64_sets_sp(struct arm64_line *line, __u32 word)
{
	__u64 imm = (__u64)(word >> 10 & 0xfff) << (word >> 22 & 1) * 12;

	if ((word & 0xbf8003ff) != 0x910003bf)
		return 0;
	line->sp = word >> 30 & 1 ? line->fp - imm : line->fp + imm;
	return 1;
}

/* add and sub of a register, and of a number where none of both registers before it is followed; and, orr, eor of a number. */
static inline int arm64_loses_sp(__u32 word)
{
	if ((word & 31) != 31)
		return 0;
	if ((word & 0x3fe00000) == 0x0b200000 ||
	    ((word & 0x1f800000) == 0x12000000 && (word >> 29 & 3) != 3))
		return 1;
	return (word & 0x3f000000) == 0x11000000 && (word >> 5 & 31) != 31;
}

/* A register that the caller wants is loaded. */
static inline void arm64_loads(struct arm64_line *line, __u32 reg, __u64 at)
{
	if (reg == 29)
		line->fp_at = at;
	if (reg == 30)
		line->ra_at = at;
}

static inline enum code_line_way arm64_follow_access(struct arm64_line *line, __u32 word)
{
	struct arm64_access access = arm64_access_of(word);
	_Bool is_lr = access.first == 30 || access.second == 30;

	if (access.is_store && is_lr) {
		line->sp = 0; /* the return address is about to be saved, in a frame of any size */
		return CODE_LINE_RETURNS;
	}
	if (access.is_load && is_lr && !line->sp)
		return CODE_LINE_ENDS;
	if (access.is_load && line->sp) {
		arm64_loads(line, access.first, line->sp + (__u64)access.off);
		arm64_loads(line, access.second, line->sp + (__u64)access.off + 8);
	}
	line->sp += line->sp ? (__u64)access.moves : 0;
	return CODE_LINE_GOES_ON;
}

/* add x29,sp,#n: the pair has just been stored at sp + n, and x29 still is the caller's. */
static inline enum code_line_way arm64_makes_frame(struct arm64_line *line, __u32 word)
{
	if (!line->sp)
		return CODE_LINE_ENDS;
	line->ra_at = line->sp + (word >> 10 & 0xfff) + 8;
	line->sp = 0;
	return CODE_LINE_RETURNS;
}

/* Follows the instruction at line->pc, which is word. Conditional jumps are not taken. */
static inline enum code_line_way arm64_follow(struct arm64_line *line, __u32 word)
{
	__u64 pc = line->pc;

	line->pc = pc + 4;
	if (arm64_is_ret(word) || arm64_is_tail_call(word))
		return CODE_LINE_RETURNS;
	if (arm64_ends(word) || arm64_is_call(word))
		return line->ra_at && !arm64_is_call(word) ? CODE_LINE_RETURNS : CODE_LINE_ENDS;
	if ((word & 0xfc000000) == 0x14000000) {
		line->pc = pc + (__u64)(arm64_signed(word, 0, 26) * 4);
		return CODE_LINE_GOES_ON;
	}
	if ((word & 0xffc003ff) == 0x910003fd && !line->ra_at)
		return arm64_makes_frame(line, word);
	if (arm64_sets_sp(line, word))
		return CODE_LINE_GOES_ON;
	if (arm64_loses_sp(word))
		line->sp = 0;
	return arm64_follow_access(line, word);
}

#endif
