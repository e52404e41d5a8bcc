/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds from a function's machine code where a probe is cheapest, and which functions it calls.
 *
 * The code is not trusted: any bytes give an answer, and if in doubt it is "at the entry" and "it may call any".
 */
#ifndef CPROF_PROBES_PROBESITE_H
#define CPROF_PROBES_PROBESITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "object/arch.h"

#define PROBESITE_MAX_BYTES 65536 /* of a function: what is longer is not looked at */

/* What a probe needs unchanged since the function's entry. */
#define PROBESITE_FIRST	     1u /* the first argument */
#define PROBESITE_SECOND     2u
#define PROBESITE_THIRD	     4u
#define PROBESITE_STACK	     8u	 /* where the function returns to, as a return probe needs it */
#define PROBESITE_FIRST_OR_0 16u /* calls whose first argument is 0 need not come by */

struct probesite_code {
	const uint8_t *bytes;
	size_t len_bytes;
	uint64_t elf_addr;
	const struct arch *arch;
};

/* No instruction of the function may be probed. */
#define PROBESITE_NONE SIZE_MAX

/*
 * The offset in bytes of the instruction to probe: one that the kernel emulates, that every call executes once, and
 * before which nothing in keeps is changed. 0 if there is none; PROBESITE_NONE if the entry is no place either (arm64).
 */
size_t probesite_choose(const struct probesite_code *code, unsigned int keeps);

/*
 * Whether any call or jump of code leads to an address for which of_interest() is true. If a target is computed, or an
 * instruction is invalid, the answer is doubt.
 */
bool probesite_calls(const struct probesite_code *code, bool doubt,
		     bool (*of_interest)(void *ctx, uint64_t elf_addr), void *ctx);

#endif
