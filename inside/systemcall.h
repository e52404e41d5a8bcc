/* SPDX-License-Identifier: BSD-2-Clause */
/* System calls without the C library, whose wrappers set errno, and may not be used yet. */
#ifndef CPROF_INSIDE_SYSTEMCALL_H
#define CPROF_INSIDE_SYSTEMCALL_H

/* What the kernel returns: -errno if it fails. */
static inline long system_call(long number, long a, long b, long c, long d, long e)
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
