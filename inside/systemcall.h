/* SPDX-License-Identifier: BSD-2-Clause */
/* System calls without the C library, whose wrappers set errno, and may not be used yet. */
#ifndef CPROF_INSIDE_SYSTEMCALL_H
#define CPROF_INSIDE_SYSTEMCALL_H

#include "inside/arch/machine.h"

/* What the kernel returns: -errno if it fails. */
static inline long system_call(long number, long a, long b, long c, long d, long e)
{
	return machine_system_call(number, a, b, c, d, e);
}

#endif
