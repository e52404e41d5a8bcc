/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where glibc keeps the values of a thread's pthread keys, in bytes from its struct pthread: since 2.1 at the same places.
 *
 * Of x86-64 fs points to it, and it begins with what the ABI puts there, 704 bytes; on arm64 with 192 bytes, and it lies before what
 * the thread pointer points to.
 *
 * Source: nptl/descr.h, struct pthread: specific_1stblock and specific.
 */
#ifndef CPROF_RUNTIME_PTHREADKEYS_H
#define CPROF_RUNTIME_PTHREADKEYS_H

#include <stdint.h>

#include "object/arch.h"

struct pthread_keys {
	uint16_t values_at;	 /* of the first 32 */
	uint16_t more_values_at; /* pointers to those of 32 each */
};

/* In processes whose files are of this machine. */
static inline struct pthread_keys pthread_keys_of(const struct arch *arch)
{
	uint16_t values_at = arch == &arch_arm64 ? 0x110 : 0x310;

	return (struct pthread_keys){values_at, values_at + 0x200};
}

#endif
