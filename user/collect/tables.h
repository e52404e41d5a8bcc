/* SPDX-License-Identifier: BSD-2-Clause */
/* Stores unwind tables and mappings where bpf/tables.bpf.c reads them, through shared memory. */
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

/* Takes the descriptors of the maps of these names; borrowed until tables_release(). -errno, printed. */
int tables_open(struct tables *tables, int processes_fd, int vmas_fd, int tables_fd, int slabs_fd);
void tables_release(struct tables *tables);

/* Copies a table; *id is what vmas refer to it by. -ENOSPC: ABI_MAX_SLABS are full; -EFBIG: too large for a table. */
int tables_add(struct tables *tables, const struct table_image *image, uint32_t *id);
/* Frees a table that no vma refers to any more. */
void tables_remove(struct tables *tables, uint32_t id);

/*
 * Replaces the vmas of tgid, which are in *run, and updates *run. vmas are sorted and do not overlap; copied.
 * runtime: ABI_RUNTIME(), or 0. counters: a JVM's, or zeroed. -ENOSPC, or -errno of the map: then nothing has changed.
 */
int tables_set_process(struct tables *tables, uint32_t tgid, const struct unwind_vma *vmas,
		       uint32_t nr, uint32_t runtime, struct jvm_counters counters,
		       struct vma_run *run);
/* Removes the vmas of tgid, which are in *run; *run is empty then. */
void tables_remove_process(struct tables *tables, uint32_t tgid, struct vma_run *run);

/* Called after a grace period: makes the room of removed tables and vmas available again (rangealloc.h). */
void tables_settle(struct tables *tables);

#endif
