/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A step of a stack walk through code without unwind information, the same in BPF and in user space, so that
 * a walk that moves from one to the other gives the same frames. In order of certainty: follow the
 * instructions from ip to a nearby ret, recognize a prologue (code_abi.h), trust rbp. What is found must be
 * a return address: behind a call, or where a signal handler returns to. rbp may be used for anything.
 *
 * Define before what rulestep_abi.h asks for (without the leaf's registers), and:
 *
 *	gapstep_code(target, addr, to, len)	puts len bytes of code at addr into *to; false: they cannot be read
 *	gapstep_knows(target, ip)	whether code is known to be at ip
 *	gapstep_instruction(bytes)	code_instruction(), and
 *	gapstep_behind_call(before)	code_is_behind_call(), in BPF as functions that are verified once
 */
#ifndef CPROF_GAPSTEP_ABI_H
#define CPROF_GAPSTEP_ABI_H

#include "code_abi.h"

enum gapstep {
	GAPSTEP_BY_CODE, /* the caller's registers are known */
	GAPSTEP_GUESSED, /* they are, if rbp is a frame pointer */
	GAPSTEP_NO_FP,	 /* rbp is 0 */
	GAPSTEP_NO_WAY,	 /* neither shows the caller */
	GAPSTEP_NEW,	 /* what is found is behind a call, in code that is not known */
};

#ifdef STEP_TARGET /* without, these are only the names */

/* Where a straight line of code leads: the registers behind its ret; fp_at: where fp is, 0 in a register. */
struct gapstep_line {
	__u64 ra_at, fp_at, fp;
};

/* False: there is none from ip on. low, high: the bytes there. */
STEP_INLINE _Bool gapstep_follow_line(const STEP_REGS *regs, __u64 low, __u64 high,
				      struct gapstep_line *line)
{
	__u64 sp = regs->sp, fp = regs->fp, fp_at = 0;

	for (__u32 i = 0; i < CODE_LINE_STEPS; i++) {
		__u32 instruction = gapstep_instruction(low), effect = code_effect(instruction);
		__u32 shift = code_len(instruction) * 8;

		if (!shift || (effect == CODE_LEAVES && fp_at))
			return 0;
		if (effect == CODE_RETURNS) {
			*line = (struct gapstep_line){sp, fp_at, fp};
			return 1;
		}
		if (effect == CODE_LEAVES)
			sp = fp;
		if (effect == CODE_LEAVES || effect == CODE_POPS_FP)
			fp_at = sp;
		if (effect == CODE_SETS_FP) {
			fp = sp;
			fp_at = 0;
		}
		sp += effect == CODE_LEAVES ? 8 : (__s64)code_delta(instruction);
		low = low >> shift | high << (64 - shift);
		high >>= shift;
	}
	return 0;
}

/* A function that is about to make its frame, or is making it. */
STEP_INLINE _Bool gapstep_follow_prologue(STEP_TARGET target, const STEP_REGS *regs, __u64 code,
					  struct gapstep_line *line)
{
	enum code_prologue at = code_prologue(code);
	__u8 before = 0;

	if (at == CODE_PROLOGUE_NONE)
		return 0;
	*line = (struct gapstep_line){regs->sp, 0, regs->fp};
	if (at == CODE_PROLOGUE_AT_PUSH)
		return 1;
	if (!gapstep_code(target, regs->ip - 1, &before, sizeof(before)) || before != CODE_PUSH_FP)
		return 0;
	*line = (struct gapstep_line){regs->sp + 8, regs->sp, 0};
	return 1;
}

/* By what the code at ip shows. Below sp is what the line itself has yet to push: it is fp. */
STEP_INLINE _Bool gapstep_by_code(STEP_TARGET target, const STEP_REGS *regs, STEP_CALLER *caller)
{
	struct gapstep_line line;
	__u64 code[2] = {0};

	if (!gapstep_code(target, regs->ip, code, sizeof(code)) ||
	    !(gapstep_follow_line(regs, code[0], code[1], &line) ||
	      (regs->ip_exact && gapstep_follow_prologue(target, regs, code[0], &line))))
		return 0;
	if (line.ra_at < regs->sp)
		return 0;
	caller->fp = line.fp_at ? regs->fp : line.fp;
	if (line.fp_at >= regs->sp && !step_load(target, line.fp_at, &caller->fp))
		return 0;
	caller->sp = line.ra_at + 8;
	return step_load(target, line.ra_at, &caller->ip);
}

/* In code that cannot be read whatever is known to be code passes for a return address. */
STEP_INLINE enum gapstep gapstep_check(STEP_TARGET target, __u64 ip, enum gapstep step)
{
	_Bool is_known = gapstep_knows(target, ip - 1);
	__u64 code[2] = {0}; /* before ip, and from there on */

	if (!gapstep_code(target, ip - 8, code, sizeof(code)) &&
	    !gapstep_code(target, ip - 8, code, sizeof(code[0])))
		return is_known ? step : GAPSTEP_NO_WAY;
	if (!gapstep_behind_call(code[0]) && !code_is_sigreturn(code[1]))
		return GAPSTEP_NO_WAY;
	return is_known ? step : GAPSTEP_NEW;
}

/* Puts the registers of regs' caller into *caller, whose ip may be 0, if it returns one of the first two. */
STEP_INLINE enum gapstep gapstep(STEP_TARGET target, const STEP_REGS *regs, STEP_CALLER *caller)
{
	enum gapstep step = GAPSTEP_BY_CODE;

	if (!gapstep_by_code(target, regs, caller)) {
		step = GAPSTEP_GUESSED;
		if (!regs->fp)
			return GAPSTEP_NO_FP;
		if (regs->fp < regs->sp || regs->fp & 7 ||
		    !step_load(target, regs->fp, &caller->fp) ||
		    !step_load(target, regs->fp + 8, &caller->ip))
			return GAPSTEP_NO_WAY;
		caller->sp = regs->fp + 16;
	}
	return caller->ip ? gapstep_check(target, caller->ip, step) : step;
}

#endif

#endif
