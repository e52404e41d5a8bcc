/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds cprof's own code in its file, where probes are tried and measured. */
#ifndef CPROF_MACHINE_OWNCODE_H
#define CPROF_MACHINE_OWNCODE_H

#include <stdint.h>

/* The offset of a function in /proc/self/exe. 0: not known. */
uint64_t owncode_offset(void (*function)(void));

#endif
