/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where in a function a probe is cheap, and does the function call others? Answered from its machine
 * code (x86-64), which is not believed: any bytes give an answer, and a doubtful one is "at the entry"
 * and "it does".
 */
#ifndef CPROF_HEAP_PROBESITE_H
#define CPROF_HEAP_PROBESITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROBESITE_MAX_BYTES 65536 /* of a function: what is longer is not looked at */

/* What a probe wants to find as it was at the function's entry. */
#define PROBESITE_DI	  1u /* the first argument */
#define PROBESITE_SI	  2u
#define PROBESITE_DX	  4u
#define PROBESITE_STACK	  8u  /* the stack pointer: the return address is on top */
#define PROBESITE_DI_OR_0 16u /* calls whose first argument is 0 need not come by */

struct probesite_code {
	const uint8_t *bytes;
	size_t len_bytes;
	uint64_t elf_addr;
};

/*
 * The offset of the instruction to probe: one that the kernel emulates, and that each call comes to
 * once, after nothing that spoils what the probe keeps. 0 where there is no such instruction.
 */
size_t probesite_choose(const struct probesite_code *code, unsigned int keeps);

/*
 * Does any call or jump of code lead to where `of_interest` says yes? What cannot be followed, a target
 * that is computed or an instruction that makes no sense, is a yes if doubt is one.
 */
bool probesite_calls(const struct probesite_code *code, bool doubt,
		     bool (*of_interest)(void *ctx, uint64_t elf_addr), void *ctx);

#endif
