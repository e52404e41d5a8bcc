/* SPDX-License-Identifier: BSD-2-Clause */
/* The machines. What their rules say is in bpf/arch/. */
#include "unwind/unwindarch.h"

#include <elf.h>
#include <stddef.h>

static bool x86_extend_run(uint32_t *row, uint32_t in_force, uint32_t pc_delta, uint32_t packed)
{
	const uint32_t cfa_step = 1u << X86_RULE_CFA_SHIFT;
	uint32_t nr = *row & X86_RULE_RUN_MASK, run;
	bool down = packed + cfa_step == in_force;

	if ((packed | in_force) & UNWIND_RULE_EXTENDED ||
	    (!down && packed != in_force + cfa_step) ||
	    (packed ^ in_force) & ~(X86_RULE_CFA_MASK << X86_RULE_CFA_SHIFT))
		return false;
	run = down ? X86_RULE_RUN_DOWN : 0;
	if (nr == 0)
		run |= pc_delta == 2 ? X86_RULE_RUN_EXTENDED : 0;
	else
		run |= *row & X86_RULE_RUN_EXTENDED;
	if (nr == X86_RULE_RUN_MASK || pc_delta != (nr + 1) << !!(run & X86_RULE_RUN_EXTENDED) ||
	    (nr > 0 && run != (*row & (X86_RULE_RUN_DOWN | X86_RULE_RUN_EXTENDED))))
		return false;
	*row = (*row | run) + 1;
	return true;
}

const struct unwind_arch unwind_x86 = {
	.e_machine = EM_X86_64,
	.machine = &x86_machine,
	.pack = x86_rule_pack,
	.unpack = x86_rule_unpack,
	.extend_run = x86_extend_run,
};

const struct unwind_arch unwind_arm64 = {
	.e_machine = EM_AARCH64,
	.machine = &arm64_machine,
	.pack = arm64_rule_pack,
	.unpack = arm64_rule_unpack,
	.signal = arm64_signal_rule,
	.has_gaps_in_rows = true,
};

const struct unwind_arch *unwind_arch_of(unsigned e_machine)
{
	if (e_machine == EM_X86_64)
		return &unwind_x86;
	return e_machine == EM_AARCH64 ? &unwind_arm64 : NULL;
}

#ifdef __aarch64__

const struct unwind_arch *unwind_arch_here(void)
{
	return &unwind_arm64;
}

#else

const struct unwind_arch *unwind_arch_here(void)
{
	return &unwind_x86;
}

#endif
