/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The unwind tables, which user space writes and walks read; cprof_abi.h and unwind_abi.h draw them.
 *
 * Everything that user space writes for many to read is one large value behind an array map of one
 * entry, so that a look-up in it is a masked index and a load, no call and no branch for the verifier
 * to follow.
 */
#ifndef CPROF_TABLES_BPF_H
#define CPROF_TABLES_BPF_H

#include "prelude.bpf.h"
#include "scratch.bpf.h"

struct vma_space {
	struct abi_vma at[ABI_MAX_VMAS];
};

struct vma_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct vma_space);
};

/* The runs of all processes; process->first_vma is an index into it. Defined in tables.bpf.c. */
extern struct vma_map vmas SEC(".maps");

struct table_space {
	struct abi_table at[ABI_MAX_TABLES];
};

struct table_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct table_space);
};

/* By id. Defined in tables.bpf.c. */
extern struct table_map tables SEC(".maps");

struct slab {
	u32 words[ABI_SLAB_WORDS];
};

struct slab_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(struct slab));
};

struct slabs_map {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, ABI_MAX_SLABS);
	__type(key, u32);
	__array(values, struct slab_map);
};

/* Added when they are needed: slot i has the words from i * ABI_SLAB_WORDS on. Defined in tables.bpf.c. */
extern struct slabs_map slabs SEC(".maps");

/* The slab that has a word of the tables, NULL if there is none yet. */
static __always_inline struct slab *tables_slab(u32 word)
{
	u32 i = word / ABI_SLAB_WORDS, zero = 0;
	void *map = bpf_map_lookup_elem(&slabs, &i);

	return map ? bpf_map_lookup_elem(map, &zero) : NULL;
}

static __always_inline u32 tables_word(const struct slab *slab, u32 word)
{
	return slab->words[word & (ABI_SLAB_WORDS - 1)];
}

/* Sets the walk up for a process. false: it is not known. */
bool tables_enter(struct walk *walk, u32 tgid);
/* Makes the vma that holds ip the last one of the walk in slot. 0: none does. */
int tables_search_vma(u32 slot, u64 ip);
/* The extended rule that at names, in full. */
void tables_extended(const struct rule_at *at, struct unwind_rule *rule);

/* Current runs another image: its vmas are those of another. */
void tables_forget(u32 tgid);
/* A forked child has its parent's. */
void tables_inherit(u32 parent_tgid, u32 tgid);

#endif
