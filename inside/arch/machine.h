/* SPDX-License-Identifier: BSD-2-Clause */
/* What differs between machines in C; entries.S has the rest. */
#ifndef CPROF_INSIDE_ARCH_MACHINE_H
#define CPROF_INSIDE_ARCH_MACHINE_H

#if defined(__x86_64__)
#include "inside/arch/x86_64.h"
#elif defined(__aarch64__)
#include "inside/arch/arm64.h"
#else
#error "not a machine that cprof knows"
#endif

#endif
