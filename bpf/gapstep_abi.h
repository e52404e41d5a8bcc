/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A step of a stack walk through code without unwind information, the same in BPF and in user space, so that
 * a walk that moves from one to the other gives the same frames. In order of certainty: follow the
 * instructions from ip to a nearby ret, recognize a prologue (code_abi.h), trust the frame pointer: rbp, or x29 on arm64, where
 * instructions also tell whether lr has the return address (arch/arm64_code.h). What is found must be
 * a return address: behind a call, or where a signal handler returns to. A frame pointer may be used for anything.
 *
 * Define before what rulestep_abi.h asks for (without the leaf's registers), and:
 *
 *	gapstep_strip(target, regs, ip)	an address of code without its signature
 *	gapstep_code(target, addr, to, len)	puts len bytes of code at addr into *to; false: they cannot be read
 *	gapstep_knows(target, ip)	whether code is known to be at ip
 *	gapstep_line(target)		where a struct code_line may be kept: in BPF in a map, since of what is there
 *					the verifier knows nothing, and follows each instruction of a line but once
 *	gapstep_arm64_line(target)	the same for a struct arm64_line
 *	gapstep_follow(target)		code_follow() of it, or arm64_follow(), and
 *	gapstep_behind_call(before)	code_is_behind_call(), in BPF as functions that are verified once
 */
#ifndef CPROF_GAPSTEP_ABI_H
#define CPROF_GAPSTEP_ABI_H

#include "code_abi.h"

enum gapstep {
	GAPSTEP_BY_CODE, /* the caller's registers are known */
	GAPSTEP_GUESSED, /* they are, if rbp or x29 is a frame pointer */
	GAPSTEP_NO_FP,	 /* it is 0 */
	GAPSTEP_NO_WAY,	 /* neither shows the caller */
	GAPSTEP_NEW,	 /* what is found is behind a call, in code that is not known */
};

#ifdef STEP_TARGET /* without, these are only the names */

/* Whether a straight line of code leads to a ret; then *line has the registers there. low, high: the code from ip on. */
STEP_INLINE _Bool gapstep_follow_line(STEP_TARGET target, const STEP_REGS *regs, __u64 low,
				      __u64 high)
{
	*gapstep_line(target) = (struct code_line){low, high, regs->sp, regs->fp, 0};
	for (__u32 i = 0; i < CODE_LINE_STEPS; i++) {
		int way = gapstep_follow(target);

		if (way != CODE_LINE_GOES_ON)
			return way == CODE_LINE_RETURNS;
	}
	return 0;
}

/* A function that is about to make its frame, or is making it. */
STEP_INLINE _Bool gapstep_follow_prologue(STEP_TARGET target, const STEP_REGS *regs, __u64 code)
{
	struct code_line *line = gapstep_line(target);
	enum code_prologue at = code_prologue(code);
	__u8 before = 0;

	if (at == CODE_PROLOGUE_NONE)
		return 0;
	*line = (struct code_line){0, 0, regs->sp, regs->fp, 0};
	if (at == CODE_PROLOGUE_AT_PUSH)
		return 1;
	if (!gapstep_code(target, regs->ip - 1, &before, sizeof(before)) || before != CODE_PUSH_FP)
		return 0;
	*line = (struct code_line){0, 0, regs->sp + 8, 0, regs->sp};
	return 1;
}

/* By what the code at ip shows. Below sp is what the line itself has yet to push: it is fp. */
STEP_INLINE _Bool gapstep_by_code(STEP_TARGET target, const STEP_REGS *regs, STEP_CALLER *caller)
{
	struct code_line *line = gapstep_line(target);
	__u64 code[2] = {0};

	if (!gapstep_code(target, regs->ip, code, sizeof(code)) ||
	    !(gapstep_follow_line(target, regs, code[0], code[1]) ||
	      (regs->ip_exact && gapstep_follow_prologue(target, regs, code[0]))))
		return 0;
	if (line->sp < regs->sp)
		return 0;
	caller->fp = line->fp_at ? regs->fp : line->fp;
	if (line->fp_at >= regs->sp && !step_load(target, line->fp_at, &caller->fp))
		return 0;
	caller->sp = line->sp + 8;
	return step_load(target, line->sp, &caller->ip);
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

/* Whether the caller is where the code at ip, followed to its ret, shows it. */
STEP_INLINE _Bool gapstep_arm64_by_code(STEP_TARGET target, const STEP_REGS *regs,
					STEP_CALLER *caller)
{
	struct arm64_line *line = gapstep_arm64_line(target);
	int way = CODE_LINE_GOES_ON;

	*line = (struct arm64_line){.pc = regs->ip, .sp = regs->sp, .fp = regs->fp};
	for (__u32 i = 0; i < ARM64_LINE_STEPS && way == CODE_LINE_GOES_ON; i++)
		way = gapstep_follow(target);
	if (way != CODE_LINE_RETURNS || (!line->ra_at && !regs->extra_known) ||
	    (line->sp && line->sp < regs->sp))
		return 0;
	caller->sp = line->sp;
	caller->fp = regs->fp;
	caller->ip = regs->extra;
	if (line->ra_at && (line->ra_at < regs->sp || !step_load(target, line->ra_at, &caller->ip)))
		return 0;
	return !line->fp_at || step_load(target, line->fp_at, &caller->fp);
}

/* By the pair that x29 points to: nothing but ascending addresses bounds such a chain. */
STEP_INLINE _Bool gapstep_arm64_by_fp(STEP_TARGET target, const STEP_REGS *regs,
				      STEP_CALLER *caller)
{
	if (regs->fp < regs->sp || regs->fp & 7 || !step_load(target, regs->fp, &caller->fp) ||
	    !step_load(target, regs->fp + 8, &caller->ip))
		return 0;
	caller->sp = 0;
	return !caller->fp || caller->fp > regs->fp;
}

STEP_INLINE enum gapstep gapstep_arm64_check(STEP_TARGET target, __u64 ip, enum gapstep step)
{
	_Bool is_known = gapstep_knows(target, ip - 1);
	__u64 code[2] = {0}; /* before ip, and from there on */

	if (ip & 3)
		return GAPSTEP_NO_WAY;
	if (!gapstep_code(target, ip - 8, code, sizeof(code)) &&
	    !gapstep_code(target, ip - 8, code, sizeof(code[0])))
		return is_known ? step : GAPSTEP_NO_WAY;
	if (!arm64_is_call(code[0] >> 32) && !arm64_is_sigreturn(code[1]))
		return GAPSTEP_NO_WAY;
	return is_known ? step : GAPSTEP_NEW;
}

/* The registers that this finds are the caller's, and of sp it may know nothing (0). */
STEP_INLINE enum gapstep gapstep_arm64(STEP_TARGET target, const STEP_REGS *regs,
				       STEP_CALLER *caller)
{
	enum gapstep step = GAPSTEP_BY_CODE;

	if (!gapstep_arm64_by_code(target, regs, caller)) {
		step = GAPSTEP_GUESSED;
		if (!regs->fp)
			return GAPSTEP_NO_FP;
		if (!gapstep_arm64_by_fp(target, regs, caller))
			return GAPSTEP_NO_WAY;
	}
	caller->ip = gapstep_strip(target, regs, caller->ip);
	return caller->ip ? gapstep_arm64_check(target, caller->ip, step) : step;
}

/* Puts the registers of regs' caller into *caller, whose ip may be 0, if it returns one of the first two. */
STEP_INLINE enum gapstep gapstep(STEP_TARGET target, const STEP_REGS *regs, STEP_CALLER *caller)
{
	enum gapstep step = GAPSTEP_BY_CODE;

	if (step_has_link(target))
		return gapstep_arm64(target, regs, caller);
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
