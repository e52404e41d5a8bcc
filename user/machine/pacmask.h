/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pointer authentication (arm64): the upper bits of a return address that is kept on a stack may be a signature.
 */
#ifndef CPROF_MACHINE_PACMASK_H
#define CPROF_MACHINE_PACMASK_H

#include <stdint.h>

/* Which bits of an address of code may be a signature in this machine's processes. 0: none is signed. */
uint64_t pacmask_get(void);

#endif
