// SPDX-License-Identifier: BSD-2-Clause
/*
 * Decides how to get to the caller, in order of certainty: follow the instructions from ip to a nearby ret,
 * recognize a prologue, trust rbp. What is found must be a return address: behind a call, or where a
 * signal handler returns to.
 *
 * bpf/gap.bpf.c takes the same decisions, so that a walk that moves from the kernel to user space gives the
 * same frames.
 */
#include "unwind/codestep.h"

#include <string.h>

#include "code_abi.h"

struct place {
	uint64_t sp, fp; /* registers as they will be */
	uint64_t fp_at;	 /* if not 0, where fp is in memory */
};

/* What a straight line has yet to push, and pop again, is fp as it is now. */
static bool load_fp(const struct codestep_target *target, const struct unwind_regs *regs,
		    const struct place *place, uint64_t *fp)
{
	*fp = place->fp;
	if (!place->fp_at)
		return true;
	*fp = regs->fp;
	return place->fp_at < regs->sp || target->read_stack(target->ctx, place->fp_at, fp);
}

/* Goes from instruction to instruction to the ret. false: these are others. */
static bool follow_line(const uint8_t *code, struct place *place)
{
	size_t at = 0;

	for (int i = 0; i < CODE_LINE_STEPS && at < CODE_LINE_BYTES; i++) {
		size_t len = CODE_LINE_BYTES - at;
		uint64_t bytes = 0;
		uint32_t instruction;

		memcpy(&bytes, code + at, len < sizeof(bytes) ? len : sizeof(bytes));
		instruction = code_instruction(bytes);
		switch (code_effect(instruction)) {
		case CODE_RETURNS:
			return true;
		case CODE_POPS_FP:
			place->fp_at = place->sp;
			break;
		case CODE_SETS_FP:
			place->fp = place->sp;
			place->fp_at = 0;
			break;
		case CODE_LEAVES:
			if (place->fp_at)
				return false;
			place->fp_at = place->fp;
			place->sp = place->fp + 8;
			break;
		case CODE_MOVES_SP:
			break;
		default:
			return false;
		}
		place->sp += (uint64_t)(int64_t)code_delta(instruction);
		at += code_len(instruction);
	}
	return false;
}

static bool follow_prologue(const struct codestep_target *target, const struct unwind_regs *regs,
			    const uint8_t *code, struct place *place)
{
	uint64_t bytes;
	uint8_t before;

	memcpy(&bytes, code, sizeof(bytes));
	*place = (struct place){regs->sp, regs->fp, 0};
	switch (code_prologue(bytes)) {
	case CODE_PROLOGUE_AT_PUSH:
		return true;
	case CODE_PROLOGUE_AT_MOV:
		*place = (struct place){regs->sp + 8, 0, regs->sp};
		return target->read_code(target->ctx, regs->ip - 1, &before, 1) &&
		       before == CODE_PUSH_FP;
	default:
		return false;
	}
}

static bool step_by_code(const struct unwind_regs *regs, const struct codestep_target *target,
			 struct unwind_regs *caller)
{
	struct place place = {regs->sp, regs->fp, 0};
	uint8_t code[CODE_LINE_BYTES];

	if (!target->read_code(target->ctx, regs->ip, code, sizeof(code)))
		return false;
	if (!follow_line(code, &place) &&
	    !(regs->ip_exact && follow_prologue(target, regs, code, &place)))
		return false;
	if (place.sp < regs->sp || !load_fp(target, regs, &place, &caller->fp))
		return false;
	caller->sp = place.sp + 8;
	return target->read_stack(target->ctx, place.sp, &caller->ip);
}

static bool step_by_fp(const struct unwind_regs *regs, const struct codestep_target *target,
		       struct unwind_regs *caller)
{
	if (regs->fp < regs->sp || regs->fp & 7 || regs->fp > UINT64_MAX - 16)
		return false;
	caller->sp = regs->fp + 16;
	return target->read_stack(target->ctx, regs->fp, &caller->fp) &&
	       target->read_stack(target->ctx, regs->fp + 8, &caller->ip);
}

/* In code that cannot be read whatever is known to be code passes for a return address. */
static enum codestep check_return(const struct codestep_target *target, uint64_t ip)
{
	bool is_known = target->knows(target->ctx, ip - 1);
	uint64_t code[2] = {0}; /* before ip, and from there on */

	if (!target->read_code(target->ctx, ip - 8, code, sizeof(code)) &&
	    !target->read_code(target->ctx, ip - 8, code, sizeof(code[0])))
		return is_known ? CODESTEP_BY_CODE : CODESTEP_NO_WAY;
	if (!code_is_behind_call(code[0]) && !code_is_sigreturn(code[1]))
		return CODESTEP_NO_WAY;
	return is_known ? CODESTEP_BY_CODE : CODESTEP_NEW;
}

enum codestep codestep(struct unwind_regs *regs, const struct codestep_target *target)
{
	enum codestep way = CODESTEP_BY_CODE, checked;
	struct unwind_regs caller = {0};

	if (!step_by_code(regs, target, &caller)) {
		way = CODESTEP_GUESSED;
		if (!regs->fp)
			return CODESTEP_NO_FP;
		if (!step_by_fp(regs, target, &caller))
			return CODESTEP_NO_WAY;
	}
	checked = caller.ip ? check_return(target, caller.ip) : CODESTEP_BY_CODE;
	if (checked != CODESTEP_BY_CODE)
		return checked;
	*regs = caller;
	return way;
}
