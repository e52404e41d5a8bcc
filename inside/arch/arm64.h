/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of machine.h that is arm64's. */
#ifndef CPROF_INSIDE_ARCH_ARM64_H
#define CPROF_INSIDE_ARCH_ARM64_H

#include <stdint.h>

#define MACHINE_PAGE_BYTES 65536 /* the largest that a kernel has */
#define MACHINE_JUMP_SLOT  R_AARCH64_JUMP_SLOT
#define MACHINE_GLOB_DAT   R_AARCH64_GLOB_DAT

/* The state of floating-point arithmetic: modes, and what has happened. */
struct machine_arithmetic {
	uint64_t control, status;
};

/* Sets the state as a process begins with it: no traps, to the nearest. Returns what it was. */
static inline struct machine_arithmetic machine_begin_arithmetic(void)
{
	struct machine_arithmetic before;

	__asm__ volatile("mrs %0, fpcr" : "=r"(before.control));
	__asm__ volatile("mrs %0, fpsr" : "=r"(before.status));
	__asm__ volatile("msr fpcr, xzr" : : : "memory");
	return before;
}

static inline void machine_end_arithmetic(struct machine_arithmetic before)
{
	__asm__ volatile("msr fpcr, %0" : : "r"(before.control) : "memory");
	__asm__ volatile("msr fpsr, %0" : : "r"(before.status) : "memory");
}

/* What the kernel returns: -errno if it fails. */
static inline long machine_system_call(long number, long a, long b, long c, long d, long e)
{
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = 0;

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}

#endif
