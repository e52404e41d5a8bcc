/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The machine that BPF code is compiled for: each header beside this one defines the same names. User space knows all machines
 * at once (user/unwind/unwindarch.h).
 */
#ifndef CPROF_ARCH_BPF_H
#define CPROF_ARCH_BPF_H

#ifdef __TARGET_ARCH_arm64
#include "arch/arm64.bpf.h"
#else
#include "arch/x86.bpf.h"
#endif

#endif
