/* SPDX-License-Identifier: BSD-2-Clause */
/* The step of rulestep_abi.h over a callback. A rule that BPF gets in 20 bits takes the same way here. */
#include "unwind/unwindstep.h"

#include <stddef.h>

struct target {
	const struct unwind_arch *arch;
	unwind_read_fn read;
	void *ctx;
};

#define STEP_INLINE		       static inline
#define STEP_WORD		       uint64_t
#define STEP_TARGET		       const struct target *
#define STEP_REGS		       struct unwind_regs
#define STEP_CALLER		       struct unwind_regs
#define step_machine(target)	       ((target)->arch->machine)
#define step_has_link(target)	       (step_machine(target)->has_link)
#define step_load(target, addr, value) (target)->read((target)->ctx, addr, value)
#define step_is_leaf(regs)	       ((regs)->leaf != NULL)
#define step_leaf_register(regs, reg)  (regs)->leaf[reg]
#include "rulestep_abi.h"

enum unwind_status unwind_step(const struct unwind_arch *arch, const struct unwind_rule *rule,
			       struct unwind_regs *regs, unwind_read_fn read, void *ctx)
{
	const struct target target = {arch, read, ctx};
	struct unwind_regs caller = {0};
	uint32_t packed = arch->pack(rule);
	enum unwind_status status = packed & UNWIND_RULE_EXTENDED
					    ? rulestep(&target, regs, rule, &caller)
					    : rulestep_inline(&target, regs, packed, 0, &caller);

	if (!status) {
		caller.ip &= ~regs->pac_mask;
		caller.pac_mask = regs->pac_mask;
		*regs = caller;
	}
	return status;
}

uint64_t unwind_method(const struct unwind_arch *arch, const struct unwind_rule *rule,
		       const struct unwind_regs *regs, unwind_read_fn read, void *ctx)
{
	const struct target target = {arch, read, ctx};

	return rulestep_method(&target, regs, rule);
}
