// SPDX-License-Identifier: BSD-2-Clause
/* The step of gapstep_abi.h over callbacks. */
#include "unwind/codestep.h"

#include "code_abi.h"

struct walk {
	const struct codestep_target *target;
	struct code_line line;
};

#define STEP_INLINE		     static inline
#define STEP_TARGET		     struct walk *
#define STEP_REGS		     struct unwind_regs
#define STEP_CALLER		     struct unwind_regs
#define step_load(walk, addr, value) (walk)->target->read_stack((walk)->target->ctx, addr, value)
#define gapstep_code(walk, addr, to, len) \
	(walk)->target->read_code((walk)->target->ctx, addr, to, len)
#define gapstep_knows(walk, ip)	    (walk)->target->knows((walk)->target->ctx, ip)
#define gapstep_line(walk)	    (&(walk)->line)
#define gapstep_follow(walk)	    code_follow(&(walk)->line)
#define gapstep_behind_call(before) code_is_behind_call(before)
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

	if (way == CODESTEP_BY_CODE || way == CODESTEP_GUESSED)
		*regs = caller;
	return way;
}
