/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The machine that the BPF code of a test was compiled for, as bpf/arch/ has it: what tests of either write and read of it. Both
 * run here.
 */
#ifndef CPROF_TESTS_MACHINE_H
#define CPROF_TESTS_MACHINE_H

#include "shim/host.h"

#include "unwind/unwindarch.h"

#ifdef __TARGET_ARCH_arm64

#define HOST_ARCH	 (&unwind_arm64)
#define HOST_IP(from)	 (*(u64 *)&(from)->pc)
#define HOST_FP(from)	 ((from)->regs[29])
#define HOST_EXTRA(from) ((from)->regs[30])
#define HOST_LIBRARIES	 "/usr/aarch64-linux-gnu/lib/"
#define HOST_LOADER	 HOST_LIBRARIES "ld-linux-aarch64.so.1"

/* By DWARF's numbers. */
static inline void host_leaf(const struct pt_regs *regs, u64 leaf[UNWIND_NR_REGS])
{
	for (u32 i = 0; i < 31; i++)
		leaf[i] = regs->regs[i];
	leaf[31] = regs->sp;
}

static inline void host_set_user_mode(struct pt_regs *regs)
{
	regs->pstate = 0;
}

#else

#define HOST_ARCH	 (&unwind_x86)
#define HOST_IP(from)	 ((from)->ip)
#define HOST_FP(from)	 ((from)->bp)
#define HOST_EXTRA(from) ((from)->bx)
#define HOST_LIBRARIES	 "/lib/x86_64-linux-gnu/"
#define HOST_LOADER	 "/lib64/ld-linux-x86-64.so.2"

/* By DWARF's numbers. */
static inline void host_leaf(const struct pt_regs *regs, u64 leaf[UNWIND_NR_REGS])
{
	const u64 by_dwarf[UNWIND_NR_REGS] = {regs->ax,	 regs->dx,  regs->cx,  regs->bx,
					      regs->si,	 regs->di,  regs->bp,  regs->sp,
					      regs->r8,	 regs->r9,  regs->r10, regs->r11,
					      regs->r12, regs->r13, regs->r14, regs->r15};

	for (u32 i = 0; i < UNWIND_NR_REGS; i++)
		leaf[i] = by_dwarf[i];
}

static inline void host_set_user_mode(struct pt_regs *regs)
{
	regs->cs = 0x33;
}

#endif

#define HOST_MACHINE	(HOST_ARCH->machine)
#define HOST_PAGE_BYTES (1ull << HOST_MACHINE->page_shift)

#endif
