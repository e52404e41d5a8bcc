/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether x86-64 code keeps to the calling convention in what it does to the stack: what is pushed is popped, the return
 * address stays where it is, and rbp is the caller's again at a return. Private to asmpath.c, asmproof.c and asmflow.c.
 */
#ifndef CPROF_UNWIND_STACKABI_H
#define CPROF_UNWIND_STACKABI_H

#include <stdbool.h>

#include "unwind/stackeffect.h"
#include "unwind/stackstate.h"

/* Whether the stack and rbp are as they were at the function's beginning, as they must be at a return. */
bool stackabi_is_balanced(const struct stackstate *state);

/* Whether the caller is lost, or the return address was moved. */
bool stackabi_is_lost(const struct stackstate *state);

/*
 * Whether an instruction breaks the convention, or does what compilers and people do not do in a function with such a
 * stack. Much of this is an idiom of just-in-time compilers, and stackeffect_apply() follows it as such.
 */
bool stackabi_is_broken_by(const struct stackstate *state, const struct instruction *in);

#endif
