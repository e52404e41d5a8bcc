/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One step of a stack walk: from a frame's registers and the rule for its pc to its caller's.
 *
 * Pure arithmetic over unwind_abi.h: what memory holds is asked of a callback. It is what user
 * space unwinds with where the BPF unwinder could not, and what that one is compared with.
 */
#ifndef CPROF_UNWIND_UNWINDSTEP_H
#define CPROF_UNWIND_UNWINDSTEP_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind_abi.h"

struct unwind_regs {
	uint64_t ip, sp, fp;
	uint64_t bx;   /* if bx_known */
	bool ip_exact; /* ip is where the frame stopped; else a return address: look up ip - 1 */
	bool bx_known;
	/* All UNWIND_NR_REGS by DWARF number, for the leaf frame; NULL in callers. Borrowed. */
	const uint64_t *leaf;
};

/* The 8 bytes at addr of the target. false: they cannot be read. */
typedef bool (*unwind_read_fn)(void *ctx, uint64_t addr, uint64_t *value);

/* The address whose rule a frame is unwound by. */
static inline uint64_t unwind_lookup_ip(const struct unwind_regs *regs)
{
	return regs->ip - !regs->ip_exact;
}

/*
 * Turns regs into the caller's. Anything but UNWIND_STEPPED leaves regs as they were. An fp that
 * the rule does not know becomes 0, which is never a frame's.
 */
enum unwind_status unwind_step(const struct unwind_rule *rule, struct unwind_regs *regs,
			       unwind_read_fn read, void *ctx);

#endif
