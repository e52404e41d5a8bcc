/* SPDX-License-Identifier: BSD-2-Clause */
/* The user side of bpf/tables.bpf.c: what it reads is written here, through shared memory. */
#ifndef CPROF_COLLECT_TABLES_H
#define CPROF_COLLECT_TABLES_H

#include <stdint.h>

#include "base/vec.h"
#include "collect/rangealloc.h"
#include "cprof_abi.h"
#include "stream.h"

struct stored_table {
	uint32_t id;
	vec_of(struct range) words; /* what it occupies */
};

struct tables {
	int processes_fd, slabs_fd;
	struct abi_vma *vmas;	  /* shared with BPF */
	struct abi_table *tables; /* shared with BPF */
	struct rangealloc vma_space, table_space, word_space;
	vec_of(uint32_t *) slabs; /* shared with BPF */
	vec_of(struct stored_table) stored;
};

/* The descriptors of the maps of those names; borrowed. -errno, printed. */
int tables_open(struct tables *tables, int processes_fd, int vmas_fd, int tables_fd, int slabs_fd);
void tables_release(struct tables *tables);

/* Copies a table in. -ENOSPC: the stated cap is reached (ABI_MAX_SLABS), -EFBIG: too large. */
int tables_add(struct tables *tables, const struct table_image *image, uint32_t *id);
/* No vma refers to it any more. */
void tables_remove(struct tables *tables, uint32_t id);

/*
 * Replaces what is known of tgid, which is in *run; vmas are sorted and do not overlap. -ENOSPC,
 * -errno of the map: then it is as before.
 */
int tables_set_process(struct tables *tables, uint32_t tgid, const struct unwind_vma *vmas,
		       uint32_t nr, struct vma_run *run);
void tables_remove_process(struct tables *tables, uint32_t tgid, struct vma_run *run);

/* After a grace period: what was removed may be used again. */
void tables_settle(struct tables *tables);

#endif
