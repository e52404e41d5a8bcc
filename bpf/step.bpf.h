/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * One step of a walk, from a frame to its caller: how rulestep_abi.h and gapstep_abi.h read the target here,
 * and what becomes of what they find. unwind.bpf.c steps by a rule, gap.bpf.c where there is none.
 */
#ifndef CPROF_STEP_BPF_H
#define CPROF_STEP_BPF_H

#include "prelude.bpf.h"
#include "arch/arch.bpf.h"
#include "scratch.bpf.h"
#include "stackmem.bpf.h"
#include "unwind.bpf.h"

/* What a step finds out: the caller's registers, or how the walk ends. */
struct caller {
	u64 ip, sp, fp, extra;
	u64 guessed; /* ABI_IP_GUESSED or 0 */
	u8 ip_exact, extra_known;
};

/*
 * The functions below return 0 to go on, or the abi_stack_end that ends the walk, plus one: no end is
 * 0 then, not even ABI_END_ROOT.
 */
#define END(reason) (ABI_END_##reason + 1)

/* Where a step reads. */
struct target {
	struct scratch *scratch;
	u32 slot;
};

/* Opaque: clang drops a mask where it knows the range, which the verifiers of before 6.12 do not. */
static __always_inline u64 leaf_register(const struct walk *walk, u32 reg)
{
	barrier_var(reg);
	return walk->leaf[reg & (UNWIND_NR_REGS - 1)];
}

#define STEP_INLINE		       static __always_inline
#define STEP_WORD		       u64
#define STEP_TARGET		       const struct target *
#define STEP_REGS		       struct walk
#define STEP_CALLER		       struct caller
#define step_machine(target)	       (&ARCH_MACHINE)
#define step_has_link(target)	       ARCH_HAS_LINK
#define step_load(target, addr, value) stackmem_load((target)->scratch, (target)->slot, addr, value)
#define step_is_leaf(regs)	       ((regs)->has_leaf)
#define step_leaf_register(regs, reg)  leaf_register(regs, reg)
#include "rulestep_abi.h"

static __always_inline int end_of_status(enum unwind_status status)
{
	switch (status) {
	case UNWIND_STEPPED:
		return 0;
	case UNWIND_AT_ROOT:
		return END(ROOT);
	case UNWIND_NO_CFI:
		return END(NO_CFI);
	case UNWIND_NO_REG:
		return END(NO_REG);
	case UNWIND_NO_MEMORY:
		return END(UNREADABLE);
	case UNWIND_NO_MOVE:
		return END(NO_MOVE);
	case UNWIND_NEW_CODE:
		return END(UNKNOWN_CODE);
	default:
		return END(NO_RULE);
	}
}

/* Makes the caller's frame the walk's. 0, or 1 if the walk is over. */
static __always_inline int go_to_caller(struct scratch *scratch, const struct caller *caller,
					int end)
{
	struct walk *walk = &scratch->walk;

	if (!end && !arch_strip(caller->ip))
		end = END(NO_ROOT);
	if (end) {
		walk->end = end - 1;
		return 1;
	}
	walk->ip = arch_strip(caller->ip);
	walk->sp = caller->sp;
	walk->fp = caller->fp;
	walk->extra = caller->extra;
	walk->extra_known = caller->extra_known;
	walk->ip_exact = caller->ip_exact;
	walk->has_leaf = false;
	unwind_push(scratch, arch_strip(caller->ip) | caller->guessed |
				     (caller->ip_exact ? ABI_IP_EXACT : 0));
	return 0;
}

/*
 * The step where no rule is, or no table yet; the walk's `at` is set. 0, or 1 if the walk is over. Global, and so verified
 * once.
 */
int unwind_step_gap(u32 slot);

#endif
