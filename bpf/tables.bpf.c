// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* What of the unwind tables is not needed at every frame, which is in lookup.bpf.h: their maps, whose they are. */
#include "tables.bpf.h"

#include "lookup.bpf.h"

struct vma_map vmas SEC(".maps");
struct table_map tables SEC(".maps");
struct slabs_map slabs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries,
	       ABI_PROCESS_ENTRIES); /* all at once: before 6.1 ticks may not allocate */
	__type(key, u32);	     /* tgid */
	__type(value, struct abi_process);
} processes SEC(".maps");

__hidden bool tables_enter(struct walk *walk, u32 tgid)
{
	struct abi_process *process = bpf_map_lookup_elem(&processes, &tgid);

	if (!process)
		return false;
	walk->first_vma = walk->last_vma = process->first_vma;
	walk->nr_vmas = process->nr_vmas;
	walk->runtime = process->runtime;
	walk->unloads_at = process->unloads_at;
	walk->collections_at = process->collections_at;
	return true;
}

__hidden void tables_forget(u32 tgid)
{
	bpf_map_delete_elem(&processes, &tgid);
}

__hidden void tables_inherit(u32 parent_tgid, u32 tgid)
{
	struct abi_process *process = bpf_map_lookup_elem(&processes, &parent_tgid), copy;

	if (!process)
		return;
	copy = *process;
	bpf_map_update_elem(&processes, &tgid, &copy, BPF_ANY);
}

__hidden bool tables_knows(struct walk *walk, u64 ip)
{
	u32 zero = 0;
	struct vma_space *space = bpf_map_lookup_elem(&vmas, &zero);

	return space && lookup_vma(walk, space, ip);
}

__hidden void tables_extended(const struct rule_at *at, struct unwind_rule *rule)
{
	u32 zero = 0, i = at->packed & UNWIND_EXTENDED_MASK, word, *to = (u32 *)rule;
	struct table_space *space = bpf_map_lookup_elem(&tables, &zero);
	struct abi_table *table;
	struct slab *slab;

	to[0] = to[1] = to[2] = to[3] = 0; /* kind UNWIND_GAP */
	if (!space || at->table >= ABI_MAX_TABLES)
		return;
	table = &space->at[at->table & (ABI_MAX_TABLES - 1)];
	if (i >= table->nr_extended)
		return;
	word = table->extended_at + 4 * i;
	slab = tables_slab(word);
	if (!slab)
		return;
	to[0] = tables_word(slab, word);
	to[1] = tables_word(slab, word + 1);
	to[2] = tables_word(slab, word + 2);
	to[3] = tables_word(slab, word + 3);
}
