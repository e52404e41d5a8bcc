/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where glibc keeps the values of a thread's pthread keys, in bytes from where fs points: since 2.1 at the same places.
 *
 * Source: nptl/descr.h, struct pthread: specific_1stblock and specific.
 */
#ifndef CPROF_RUNTIME_PTHREADKEYS_H
#define CPROF_RUNTIME_PTHREADKEYS_H

#define GLIBC_KEY_VALUES_AT	 0x310 /* of the first 32 */
#define GLIBC_MORE_KEY_VALUES_AT 0x510 /* pointers to those of 32 each */

#endif
