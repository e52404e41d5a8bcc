// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* What of the unwind tables is not needed at every frame, which is in lookup.bpf.h: their maps, whose they are. */
#include "tables.bpf.h"

#include "lookup.bpf.h"

#define MAX_PROCESS_VMAS_SHIFT 13
_Static_assert(1 << MAX_PROCESS_VMAS_SHIFT == ABI_MAX_PROCESS_VMAS, "steps of the search");

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

/*
 * 1 if a < b, else 0; neither may be 2^63 or more. The barrier keeps clang from seeing that this is
 * a comparison, and turning it into a branch again. Not a mask of all ones, though that would save the shift
 * below: since Linux 6.16 the verifier follows both values of one (maybe_fork_scalars).
 */
static __always_inline u64 below(u64 a, u64 b)
{
	u64 difference = a - b;

	barrier_var(difference);
	return difference >> 63;
}

/* Global, to be verified once. */
__noinline int tables_search_vma(u32 slot, u64 ip)
{
	struct scratch *scratch = scratch_at(slot);
	u32 zero = 0;
	struct vma_space *space = bpf_map_lookup_elem(&vmas, &zero);
	struct walk *walk;
	struct abi_vma *vma;
	u64 i = 0;

	if (!scratch || !space)
		return 0;
	walk = &scratch->walk;
	for (u32 shift = MAX_PROCESS_VMAS_SHIFT; shift--;) {
		u64 next = i + (1 << shift);
		u64 start = space->at[(walk->first_vma + next) & (ABI_MAX_VMAS - 1)].start;

		i += (below(next, walk->nr_vmas) & below(start, ip + 1)) << shift;
	}
	vma = &space->at[(walk->first_vma + i) & (ABI_MAX_VMAS - 1)];
	if (ip - vma->start >= vma->limit - vma->start || !walk->nr_vmas)
		return 0;
	walk->last_vma = walk->first_vma + i;
	return 1;
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
