/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What unwinding does differently on one machine than on another, chosen at run time by a file's e_machine: all of it is built,
 * and tested, everywhere. BPF has the same numbers and rules at build time (bpf/arch/).
 */
#ifndef CPROF_UNWIND_UNWINDARCH_H
#define CPROF_UNWIND_UNWINDARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind_abi.h"

struct unwind_arch {
	uint16_t e_machine;
	const struct unwind_machine *machine;
	/* The 20 bits of a rule that fits, UNWIND_RULE_EXTENDED for one that does not. */
	uint32_t (*pack)(const struct unwind_rule *rule);
	/* A rule that fitted in full, at a pc that is pc_delta bytes after its row's. */
	struct unwind_rule (*unpack)(uint32_t packed, uint32_t pc_delta);
	/* What returns from a signal handler, by the kernel's ABI; NULL: what call frame information says of it. */
	struct unwind_rule (*signal)(void);
	/*
	 * Makes a rule, packed, at pc_delta bytes behind *row a step of that row's run; in force is the rule that the row
	 * ends with. false: it is none. NULL: rows have no runs.
	 */
	bool (*extend_run)(uint32_t *row, uint32_t in_force, uint32_t pc_delta, uint32_t packed);
	bool has_gaps_in_rows; /* call frame information leaves out what unwind/a64mend.h adds */
};

extern const struct unwind_arch unwind_x86, unwind_arm64;

/* NULL: no such machine is known. */
const struct unwind_arch *unwind_arch_of(unsigned e_machine);
/* The machine that this program was built for. */
const struct unwind_arch *unwind_arch_here(void);

static inline uint64_t unwind_arch_page_bytes(const struct unwind_arch *arch)
{
	return 1ull << arch->machine->page_shift;
}

#endif
