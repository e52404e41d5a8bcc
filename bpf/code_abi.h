/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * x86-64 machine code that a walk recognizes where nothing describes it: what BPF and user space
 * both do in code without unwind information, most of it JIT code.
 *
 * Is it a return address at all? One is behind a call (code_is_behind_call()), or begins the piece of
 * code that returns from a signal handler. A frame pointer that is none leads anywhere else.
 *
 * Where is the caller? A trampoline does nothing but call, and a function that calls last of all returns
 * right behind that. From there to the ret is a straight line of a few instructions, each of which moves
 * the stack pointer by what stands in it, so adding up tells exactly where the return address is:
 *
 *	sub $8,%rsp; call *%rcx; add $8,%rsp; ret		of CPython 3.12 (-X perf)
 *	push %rbp; mov %rsp,%rbp; call *%rcx; pop %rbp; ret	of CPython 3.13
 *
 * And a function that is about to make its frame has not got one yet (code_prologue()).
 */
#ifndef CPROF_CODE_ABI_H
#define CPROF_CODE_ABI_H

#ifndef __bpf__ /* there vmlinux.h has the types, and the two do not go together */
#include <linux/types.h>
#endif

#define CODE_LINE_BYTES 16 /* looked at, from an ip on */
#define CODE_LINE_STEPS 8  /* instructions of a straight line, at most */

/* What an instruction of a straight line does, besides moving sp by code_delta(). */
enum code_effect {
	CODE_OTHER = 0, /* it is none of a straight line */
	CODE_MOVES_SP,	/* or nothing */
	CODE_POPS_FP,	/* rbp is what was at sp */
	CODE_SETS_FP,	/* rbp is sp */
	CODE_LEAVES,	/* leave: sp is rbp, then rbp is what is there */
	CODE_RETURNS,	/* the return address is at sp */
};

/* An instruction: effect, length in bytes (at most 7), how many bytes up sp goes. */
static inline __u32 code_pack(enum code_effect effect, __u32 len_bytes, __s32 delta)
{
	return (__u32)delta << 8 | effect << 4 | len_bytes;
}

static inline __u32 code_effect(__u32 instruction)
{
	return instruction >> 4 & 15;
}

static inline __u32 code_len(__u32 instruction)
{
	return instruction & 7;
}

static inline __s32 code_delta(__u32 instruction)
{
	return (__s32)instruction >> 8;
}

/* push and pop of a register whose number's lower bits are in opcode. */
static inline __u32 code_push_pop(__u32 opcode, __u32 len_bytes)
{
	if ((opcode & 0xf8) == 0x50)
		return code_pack(CODE_MOVES_SP, len_bytes, -8);
	if (opcode == 0x5d && len_bytes == 1)
		return code_pack(CODE_POPS_FP, 1, 8);
	if ((opcode & 0xf8) == 0x58 && (opcode != 0x5c || len_bytes == 2))
		return code_pack(CODE_MOVES_SP, len_bytes, 8);
	return 0;
}

/* The instruction that bytes begin with (lowest first), 0 if it is none of a straight line. */
static inline __u32 code_instruction(__u64 bytes)
{
	__u32 word = (__u32)bytes, opcode = word & 0xff, three = word & 0xffffff;
	__s32 imm32 = (__s32)(bytes >> 24);

	if (opcode == 0xc3)
		return code_pack(CODE_RETURNS, 1, 0);
	if (opcode == 0xc9)
		return code_pack(CODE_LEAVES, 1, 0);
	if ((opcode & 0xf0) == 0x50)
		return code_push_pop(opcode, 1);
	if (opcode == 0x41 && (word >> 8 & 0xf0) == 0x50)
		return code_push_pop(word >> 8 & 0xff, 2);
	if (three == 0xc48348) /* add $imm8,%rsp */
		return code_pack(CODE_MOVES_SP, 4, (__s8)(word >> 24));
	if (three == 0xec8348) /* sub $imm8,%rsp */
		return code_pack(CODE_MOVES_SP, 4, -(__s8)(word >> 24));
	if (three == 0xc48148 && imm32 >= 0 && imm32 < 1 << 20)
		return code_pack(CODE_MOVES_SP, 7, imm32);
	if (three == 0xec8148 && imm32 >= 0 && imm32 < 1 << 20)
		return code_pack(CODE_MOVES_SP, 7, -imm32);
	if (three == 0xe58948 || three == 0xec8b48) /* mov %rsp,%rbp */
		return code_pack(CODE_SETS_FP, 3, 0);
	if ((word & 0xf8ff) == 0xd0ff) /* call *%reg */
		return code_pack(CODE_MOVES_SP, 2, 0);
	if ((three & 0xf8ffff) == 0xd0ff41)
		return code_pack(CODE_MOVES_SP, 3, 0);
	if ((word & 0xffff) == 0xc3f3)
		return code_pack(CODE_RETURNS, 2, 0);
	if (word == 0xfa1e0ff3) /* endbr64 */
		return code_pack(CODE_MOVES_SP, 4, 0);
	return 0;
}

/* A straight line, as far as it was followed. */
struct code_line {
	__u64 low, high; /* the code from there on, zeros behind it */
	__u64 sp, fp;	 /* there */
	__u64 fp_at;	 /* where fp is in memory, 0: it is known */
};

enum code_line_way {
	CODE_LINE_ENDS, /* it is none */
	CODE_LINE_GOES_ON,
	CODE_LINE_RETURNS, /* the return address is at sp */
};

/* Follows one instruction. */
static inline enum code_line_way code_follow(struct code_line *line)
{
	__u32 instruction = code_instruction(line->low), effect = code_effect(instruction);
	__u32 shift = code_len(instruction) * 8;

	if (!shift || (effect == CODE_LEAVES && line->fp_at))
		return CODE_LINE_ENDS;
	if (effect == CODE_RETURNS)
		return CODE_LINE_RETURNS;
	if (effect == CODE_LEAVES)
		line->sp = line->fp;
	if (effect == CODE_LEAVES || effect == CODE_POPS_FP)
		line->fp_at = line->sp;
	if (effect == CODE_SETS_FP) {
		line->fp = line->sp;
		line->fp_at = 0;
	}
	line->sp += effect == CODE_LEAVES ? 8 : (__s64)code_delta(instruction);
	line->low = line->low >> shift | line->high << (64 - shift);
	line->high >>= shift;
	return CODE_LINE_GOES_ON;
}

/* Where in the making of its frame a function is. */
enum code_prologue {
	CODE_PROLOGUE_NONE,
	CODE_PROLOGUE_AT_PUSH, /* the return address is at sp */
	CODE_PROLOGUE_AT_MOV,  /* if the byte before is CODE_PUSH_FP, the caller's rbp is */
};

#define CODE_PUSH_FP 0x55

static inline enum code_prologue code_prologue(__u64 bytes)
{
	__u32 three;

	if ((__u32)bytes == 0xfa1e0ff3)
		bytes >>= 32;
	three = bytes & 0xffffff;
	if (three == 0xe58948 || three == 0xec8b48)
		return CODE_PROLOGUE_AT_MOV;
	three = bytes >> 8 & 0xffffff;
	if ((bytes & 0xff) == CODE_PUSH_FP && (three == 0xe58948 || three == 0xec8b48))
		return CODE_PROLOGUE_AT_PUSH;
	return CODE_PROLOGUE_NONE;
}

/* Whether the last len bytes, the last of which is the highest, are ff /2: a call through a register or memory. */
static inline int code_is_indirect_call(__u64 before, __u32 len)
{
	__u32 code = (__u32)(before >> (64 - 8 * len)), mod = code >> 14 & 3, rm = code >> 8 & 7;
	__u32 has_sib = mod != 3 && rm == 4;
	__u32 base = has_sib ? code >> 16 & 7 : rm;
	__u32 displacement = mod == 2 || (mod == 0 && base == 5) ? 4 : mod == 1;

	return (code & 0x38ff) == 0x10ff && len == 2 + has_sib + displacement;
}

/* Whether the address after these 8 bytes, the last of which is the highest, is a return address. */
static inline int code_is_behind_call(__u64 before)
{
	return (before >> 24 & 0xff) == 0xe8 || code_is_indirect_call(before, 2) ||
	       code_is_indirect_call(before, 3) || code_is_indirect_call(before, 4) ||
	       code_is_indirect_call(before, 6) || code_is_indirect_call(before, 7);
}

/* mov $15,%rax; syscall: rt_sigreturn. The kernel called what returns to it. */
static inline int code_is_sigreturn(__u64 bytes)
{
	return bytes == 0x0f0000000fc0c748ull;
}

#include "arch/arm64_code.h"

#endif
