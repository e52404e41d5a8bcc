/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One step of a stack walk: from a frame's registers and the rule for its pc to its caller's.
 *
 * Pure arithmetic, the same as in BPF (bpf/rulestep_abi.h): a callback reads the memory. User space finishes walks
 * with it that the BPF unwinder could not.
 */
#ifndef CPROF_UNWIND_UNWINDSTEP_H
#define CPROF_UNWIND_UNWINDSTEP_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/unwindarch.h"
#include "unwind_abi.h"

struct unwind_regs {
	uint64_t ip, sp, fp;
	uint64_t extra;	   /* if extra_known */
	uint64_t pac_mask; /* which bits of an address of code may be its signature */
	bool ip_exact; /* ip is where the frame stopped; otherwise a return address: look up ip - 1 */
	bool extra_known;
	/* All UNWIND_NR_REGS by DWARF number, for the leaf frame; NULL in callers. Borrowed. */
	const uint64_t *leaf;
};

/* Reads the 8 bytes at addr of the target. false: they cannot be read. */
typedef bool (*unwind_read_fn)(void *ctx, uint64_t addr, uint64_t *value);

/* The address whose rule unwinds a frame. */
static inline uint64_t unwind_lookup_ip(const struct unwind_regs *regs)
{
	return regs->ip - !regs->ip_exact;
}

/*
 * Turns regs into the caller's, with the same pac_mask. With any result but UNWIND_STEPPED, regs are unchanged. An fp that the rule does not
 * know becomes 0, which no frame has.
 */
enum unwind_status unwind_step(const struct unwind_arch *arch, const struct unwind_rule *rule,
			       struct unwind_regs *regs, unwind_read_fn read, void *ctx);

/* What stands for the frame in a stack if it is interpreted (unwind_abi.h), 0: its ip. */
uint64_t unwind_method(const struct unwind_arch *arch, const struct unwind_rule *rule,
		       const struct unwind_regs *regs, unwind_read_fn read, void *ctx);

#endif
