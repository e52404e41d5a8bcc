/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What the walks of runtimes need of the machine that BPF code is compiled for, beside arch.bpf.h; no variable of the main object's, so
 * that their own objects can include it.
 */
#ifndef CPROF_ARCH_RUNTIME_BPF_H
#define CPROF_ARCH_RUNTIME_BPF_H

#ifdef __TARGET_ARCH_arm64
#include "arch/arm64_runtime.bpf.h"
#else
#include "arch/x86_runtime.bpf.h"
#endif

#endif
