/* SPDX-License-Identifier: BSD-2-Clause */
/* Registers of this process, on the machine that the tests are built for. */
#ifndef CPROF_TESTS_OWNREGS_H
#define CPROF_TESTS_OWNREGS_H

#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#include "unwind/unwindarch.h"

/* Where it stands: the pc, sp, the frame pointer, and the extra register that walks follow (bpf/unwind_abi.h), as they are there. */
#if defined(__aarch64__)
#define OWNREGS_HERE(ip, sp, fp, extra)                                          \
	__asm__ volatile("adr %0, .\n\tmov %1, sp\n\tmov %2, x29\n\tmov %3, x30" \
			 : "=&r"(ip), "=&r"(sp), "=&r"(fp), "=&r"(extra))
#else
#define OWNREGS_HERE(ip, sp, fp, extra)                                                        \
	__asm__ volatile("lea 0(%%rip), %0\n\tmov %%rsp, %1\n\tmov %%rbp, %2\n\tmov %%rbx, %3" \
			 : "=&r"(ip), "=&r"(sp), "=&r"(fp), "=&r"(extra))
#endif

/* The registers of a context, by DWARF number. Returns the pc. Registers that the machine has not stay as they are. */
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
