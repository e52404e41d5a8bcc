/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Where a walk begins: the registers of current when it was in user space last. */
#ifndef CPROF_REGISTERS_BPF_H
#define CPROF_REGISTERS_BPF_H

#include "prelude.bpf.h"
#include "scratch.bpf.h"

/*
 * Sets walk to the user registers of current: those of the interrupt if it hit user space, else those
 * saved at the kernel's entry. false: there are none, and walk->end says why.
 */
bool registers_begin_walk(const struct pt_regs *interrupted, struct scratch *scratch);

#endif
