/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One step of a stack walk through code without unwind information, as BPF makes it
 * (bpf/gapstep_abi.h): by what the code itself shows, else by rbp, and only to what is a return address.
 * Pure arithmetic: what memory holds is asked of callbacks.
 */
#ifndef CPROF_UNWIND_CODESTEP_H
#define CPROF_UNWIND_CODESTEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/unwindstep.h"

struct codestep_target {
	const struct unwind_arch *arch;
	unwind_read_fn read_stack;
	/* len_bytes of code at addr. false: some of them cannot be read. */
	bool (*read_code)(void *ctx, uint64_t addr, void *to, size_t len_bytes);
	/* Whether code is known to be at ip. */
	bool (*knows)(void *ctx, uint64_t ip);
	void *ctx;
};

enum codestep {
	CODESTEP_BY_CODE, /* the registers are the caller's */
	CODESTEP_GUESSED, /* the registers are the caller's if rbp is a frame pointer */
	CODESTEP_NO_FP,	  /* rbp is 0 */
	CODESTEP_NO_WAY,  /* neither shows the caller */
	CODESTEP_NEW,	  /* what is found is behind a call, in code that is not known */
};

/* Turns regs into the caller's, but for the last three, which leave them as they were. */
enum codestep codestep(struct unwind_regs *regs, const struct codestep_target *target);

#endif
