/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finishes a stack walk that BPF could not: from the registers where it stopped, along a copy of the stack,
 * by the steps that BPF would have taken (bpf/unwind.bpf.c). The caller supplies the rules.
 */
#ifndef CPROF_UNWIND_COPYWALK_H
#define CPROF_UNWIND_COPYWALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stream.h"
#include "unwind/unwindarch.h"

struct unwind_rule;

enum code_known {
	CODE_NONE, /* there is no code */
	CODE_FOUND,
	CODE_NOT_YET, /* not analyzed yet, and the time budget is used up */
};

/* What a walk needs from its caller; ctx is passed to each. */
struct copywalk_target {
	const struct unwind_arch *arch; /* whose stack it is */
	/*
	 * If there is code at ip, puts the rule for it in *rule; in *by_fp, where that is a gap, whether
	 * rbp is a promised frame pointer.
	 */
	enum code_known (*find)(void *ctx, uint64_t ip, struct unwind_rule *rule, bool *by_fp);
	/* Reads len_bytes of code at addr, for code without a rule. false: some of them cannot be read. */
	bool (*read_code)(void *ctx, uint64_t addr, void *to, size_t len_bytes);
	void *ctx;
};

/*
 * Finishes the user stack of a record that has a copy: its user_ips (then ips, borrowed), nr_user and end
 * are replaced, its copy is NULL.
 */
void copywalk_finish(struct record *record, const struct copywalk_target *target,
		     uint64_t ips[STACK_MAX_FRAMES]);

#endif
