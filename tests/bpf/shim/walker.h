/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One process and its unwind tables, walked twice: by the BPF unwinder, from the maps that
 * collect/tables.c filled, and by a plain walker over unwind_table_find() and plain_step(), which share
 * no line with it. What ends a walk, and how, must be the same.
 */
#ifndef CPROF_TESTS_WALKER_H
#define CPROF_TESTS_WALKER_H

#include "shim/host.h"
#include "shim/machine.h"

#include "base/vec.h"
#include "collect/tables.h"
#include "unwind/unwindstep.h"
#include "unwind/tablebuild.h"

struct walker_vma {
	u64 start, limit, bias;
	const struct unwind_table *table; /* borrowed; NULL: id says why */
	u32 id;				  /* of the uploaded table, or ABI_TABLE_* */
	bool gap_by_fp;
};

struct walker {
	struct tables tables;
	struct vma_run run;
	vec_of(struct walker_vma) vmas;
};

struct walked {
	u64 ips[ABI_MAX_USER_FRAMES]; /* guessed ones marked */
	u32 nr;
	u32 end; /* enum abi_stack_end */
	u64 ip, sp, fp, extra;
	bool ip_exact, extra_known;
};

/* On the maps of a host_open(). */
void walker_open(struct walker *walker);
void walker_release(struct walker *walker);

/* Copies a table to where BPF reads it. */
u32 walker_upload(struct walker *walker, const struct unwind_table *table);
/* In order, and made visible by walker_publish(). */
void walker_add_vma(struct walker *walker, u64 start, u64 limit, u64 bias,
		    const struct unwind_table *table, u32 id);
void walker_publish(struct walker *walker);

/* One step of the plain walker. 0: regs are the caller's; else the end plus one. */
int walker_step(const struct walker *walker, struct unwind_regs *regs, u64 *guessed);
struct unwind_regs walker_begin(const struct pt_regs *regs, u64 leaf[UNWIND_NR_REGS]);

void walker_plain(const struct walker *walker, const struct pt_regs *regs, struct walked *walked);
void walker_bpf(const struct pt_regs *regs, struct walked *walked);

/* Walks both ways; prints the first difference. */
bool walker_agree(const struct walker *walker, const struct pt_regs *regs, struct walked *walked);

#endif
