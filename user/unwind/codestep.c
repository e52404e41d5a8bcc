// SPDX-License-Identifier: BSD-2-Clause
/* The step of gapstep_abi.h over callbacks. */
#include "unwind/codestep.h"

#include "code_abi.h"

struct walk {
	const struct codestep_target *target;
	struct code_line line;
	struct arm64_line arm64_line;
};

/* Follows an instruction of code as its machine does. */
static enum code_line_way follow(struct walk *walk)
{
	uint32_t word;

	if (!walk->target->arch->machine->has_link)
		return code_follow(&walk->line);
	if (!walk->target->read_code(walk->target->ctx, walk->arm64_line.pc, &word, sizeof(word)))
		return CODE_LINE_ENDS;
	return arm64_follow(&walk->arm64_line, word);
}

#define STEP_INLINE		     static inline
#define STEP_TARGET		     struct walk *
#define STEP_REGS		     struct unwind_regs
#define STEP_CALLER		     struct unwind_regs
#define step_load(walk, addr, value) (walk)->target->read_stack((walk)->target->ctx, addr, value)
#define gapstep_code(walk, addr, to, len) \
	(walk)->target->read_code((walk)->target->ctx, addr, to, len)
#define gapstep_knows(walk, ip)	      (walk)->target->knows((walk)->target->ctx, ip)
#define gapstep_line(walk)	      (&(walk)->line)
#define step_machine(walk)	      ((walk)->target->arch->machine)
#define step_has_link(walk)	      (step_machine(walk)->has_link)
#define gapstep_arm64_line(walk)      (&(walk)->arm64_line)
#define gapstep_strip(walk, regs, ip) ((ip) & ~(regs)->pac_mask)
#define gapstep_follow(walk)	      follow(walk)
#define gapstep_behind_call(before)   code_is_behind_call(before)
#include "gapstep_abi.h"

static enum codestep of_gapstep(enum gapstep step)
{
	switch (step) {
	case GAPSTEP_BY_CODE:
		return CODESTEP_BY_CODE;
	case GAPSTEP_GUESSED:
		return CODESTEP_GUESSED;
	case GAPSTEP_NO_FP:
		return CODESTEP_NO_FP;
	case GAPSTEP_NEW:
		return CODESTEP_NEW;
	default:
		return CODESTEP_NO_WAY;
	}
}

enum codestep codestep(struct unwind_regs *regs, const struct codestep_target *target)
{
	struct walk walk = {.target = target};
	struct unwind_regs caller = {0};
	enum codestep way = of_gapstep(gapstep(&walk, regs, &caller));

	if (way == CODESTEP_BY_CODE || way == CODESTEP_GUESSED) {
		caller.pac_mask = regs->pac_mask;
		*regs = caller;
	}
	return way;
}
