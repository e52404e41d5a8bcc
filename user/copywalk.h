/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finishes a walk that BPF could not: from the registers where it stopped, along a copy of the stack, by
 * the steps that BPF would have taken (bpf/unwind.bpf.c). Which rules there are is the caller's affair.
 */
#ifndef CPROF_COPYWALK_H
#define CPROF_COPYWALK_H

#include <stdbool.h>
#include <stdint.h>

#include "stream.h"

struct unwind_rule;

/*
 * Puts the rule for ip in *rule; in *by_fp, where that is a gap, whether rbp is a promised frame pointer.
 * false: there is no code.
 */
typedef bool (*copywalk_rule_fn)(void *ctx, uint64_t ip, struct unwind_rule *rule, bool *by_fp);

/*
 * Finishes the user stack of a record that has a copy: its user_ips (then ips, borrowed), nr_user and end
 * are replaced, its copy is NULL.
 */
void copywalk_finish(struct record *record, copywalk_rule_fn find, void *ctx,
		     uint64_t ips[STACK_MAX_FRAMES]);

#endif
