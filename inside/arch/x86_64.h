/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of machine.h that is x86-64's. */
#ifndef CPROF_INSIDE_ARCH_X86_64_H
#define CPROF_INSIDE_ARCH_X86_64_H

#include <stdint.h>
#include <x86intrin.h>

#define MACHINE_PAGE_BYTES 4096 /* the largest that a kernel has */
#define MACHINE_JUMP_SLOT  R_X86_64_JUMP_SLOT
#define MACHINE_GLOB_DAT   R_X86_64_GLOB_DAT

/* The state of floating-point arithmetic: modes, and what has happened. */
struct machine_arithmetic {
	unsigned int control;
};

/* Sets the state as a process begins with it: no traps, to the nearest. Returns what it was. */
static inline struct machine_arithmetic machine_begin_arithmetic(void)
{
	struct machine_arithmetic before = {_mm_getcsr()};

	_mm_setcsr(0x1f80);
	return before;
}

static inline void machine_end_arithmetic(struct machine_arithmetic before)
{
	_mm_setcsr(before.control);
}

/* What the kernel returns: -errno if it fails. */
static inline long machine_system_call(long number, long a, long b, long c, long d, long e)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = 0;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

#endif
