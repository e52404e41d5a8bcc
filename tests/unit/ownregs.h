/* SPDX-License-Identifier: BSD-2-Clause */
/* The registers of a context of this process, by DWARF number, on the machine that the tests are built for. */
#ifndef CPROF_TESTS_OWNREGS_H
#define CPROF_TESTS_OWNREGS_H

#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#include "unwind/unwindarch.h"

/* Returns the pc. Registers that the machine has not stay as they are. */
static inline uint64_t ownregs(const ucontext_t *context, uint64_t regs[UNWIND_NR_REGS])
{
#if defined(__aarch64__)
	memcpy(regs, context->uc_mcontext.regs, 31 * sizeof(regs[0]));
	regs[31] = context->uc_mcontext.sp;
	return context->uc_mcontext.pc;
#else
	static const int gregs[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
				    REG_RBP, REG_RSP, REG_R8,  REG_R9,	REG_R10, REG_R11,
				    REG_R12, REG_R13, REG_R14, REG_R15};

	for (size_t i = 0; i < sizeof(gregs) / sizeof(gregs[0]); i++)
		regs[i] = (uint64_t)context->uc_mcontext.gregs[gregs[i]];
	return (uint64_t)context->uc_mcontext.gregs[REG_RIP];
#endif
}

#endif
