/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A step by an unwind rule once more, written plainly: what bpf/rulestep_abi.h, which BPF and user space share, is
 * compared with. It shares no line with that.
 */
#ifndef CPROF_TESTS_PLAINSTEP_H
#define CPROF_TESTS_PLAINSTEP_H

#include "unwind/unwindstep.h"

/* As unwind_step(). */
enum unwind_status plain_step(const struct unwind_rule *rule, struct unwind_regs *regs,
			      unwind_read_fn read, void *ctx);
/* As unwind_method(). */
uint64_t plain_method(const struct unwind_rule *rule, const struct unwind_regs *regs,
		      unwind_read_fn read, void *ctx);

#endif
