// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Everything that user space writes for many to read is one large value behind an array map of one
 * entry, so that a look-up in it is a masked index and a load, no call and no branch for the verifier
 * to follow. The searches have a fixed number of steps and no data-dependent branches: one path to
 * verify, and nothing for the CPU to mispredict.
 */
#include "tables.bpf.h"

#define MAX_PROCESS_VMAS_SHIFT 13
_Static_assert(1 << MAX_PROCESS_VMAS_SHIFT == ABI_MAX_PROCESS_VMAS, "steps of the search");
_Static_assert(UNWIND_PAGE_MAX_ROWS == 1 << UNWIND_PAGE_SHIFT, "steps of the search");

struct vma_space {
	struct abi_vma at[ABI_MAX_VMAS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct vma_space);
} vmas SEC(".maps");

struct table_space {
	struct abi_table at[ABI_MAX_TABLES];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct table_space);
} tables SEC(".maps");

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

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, ABI_MAX_SLABS);
	__type(key, u32);
	__array(values, struct slab_map);
} slabs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries,
	       ABI_PROCESS_ENTRIES); /* all at once: before 6.1 ticks may not allocate */
	__type(key, u32);	     /* tgid */
	__type(value, struct abi_process);
} processes SEC(".maps");

/*
 * 1 if a < b, else 0; neither may be 2^63 or more. The barrier keeps clang from seeing that this is
 * a comparison, and making a branch of it again. Not a mask of all ones, though that would save the shift
 * below: since Linux 6.16 the verifier follows both values of one (maybe_fork_scalars).
 */
static __always_inline u64 below(u64 a, u64 b)
{
	u64 difference = a - b;

	barrier_var(difference);
	return difference >> 63;
}

__hidden bool tables_enter(struct walk *walk)
{
	u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct abi_process *process = bpf_map_lookup_elem(&processes, &tgid);

	if (!process)
		return false;
	walk->first_vma = walk->last_vma = process->first_vma;
	walk->nr_vmas = process->nr_vmas;
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

/* The vma that holds ip, NULL if none does. */
static __always_inline struct abi_vma *find_vma(struct walk *walk, u64 ip)
{
	struct vma_space *space;
	struct abi_vma *vma;
	u32 zero = 0;
	u64 i = 0;

	space = bpf_map_lookup_elem(&vmas, &zero);
	if (!space)
		return NULL;
	vma = &space->at[walk->last_vma & (ABI_MAX_VMAS - 1)];
	if (ip - vma->start < vma->limit - vma->start && walk->nr_vmas)
		return vma;
	for (u32 shift = MAX_PROCESS_VMAS_SHIFT; shift--;) {
		u64 next = i + (1 << shift);
		u64 start = space->at[(walk->first_vma + next) & (ABI_MAX_VMAS - 1)].start;

		i += (below(next, walk->nr_vmas) & below(start, ip + 1)) << shift;
	}
	vma = &space->at[(walk->first_vma + i) & (ABI_MAX_VMAS - 1)];
	if (ip - vma->start >= vma->limit - vma->start || !walk->nr_vmas)
		return NULL;
	walk->last_vma = walk->first_vma + i;
	return vma;
}

__hidden bool tables_knows(struct walk *walk, u64 ip)
{
	return find_vma(walk, ip);
}

static __always_inline struct slab *slab_of(u32 word)
{
	u32 i = word / ABI_SLAB_WORDS, zero = 0;
	void *map = bpf_map_lookup_elem(&slabs, &i);

	return map ? bpf_map_lookup_elem(map, &zero) : NULL;
}

static __always_inline u32 word_at(const struct slab *slab, u32 word)
{
	return slab->words[word & (ABI_SLAB_WORDS - 1)];
}

/*
 * The last of a page's rows that is not behind pc; nr is at most 1 << shift. A page's first is at 0.
 *
 * Here branches are better: the same functions come again and again, so the CPU foresees them, and is
 * ahead of the loads, which it cannot be of arithmetic. The mask makes it cheap to verify: whichever
 * way a branch goes, what is known of `at` is the same, so the verifier follows one of the two. (Of
 * a sum of known numbers it follows all 2^shift.)
 */
static __always_inline u32 search_rows(const struct slab *slab, u32 first, u32 nr, u32 pc,
				       u32 shift)
{
	u64 at = first & (ABI_SLAB_WORDS - 1), limit = at + nr;

	while (shift--) {
		u64 next = at + (1 << shift);

		if (next < limit && unwind_row_pc(word_at(slab, next)) <= pc)
			at = next;
		at &= ABI_SLAB_WORDS - 1;
		barrier_var(at);
	}
	return word_at(slab, at);
}

/* Few pages have more than 128 rows (the average is 75), and each step costs. */
static __always_inline u32 find_row(const struct slab *slab, u32 first, u32 nr, u32 pc)
{
	return nr <= 128 ? search_rows(slab, first, nr, pc, 7)
			 : search_rows(slab, first, nr, pc, UNWIND_PAGE_SHIFT);
}

__hidden void tables_find(struct walk *walk)
{
	struct rule_at *at = &walk->at;
	u64 ip = walk->ip - !walk->ip_exact;
	struct abi_vma *vma = find_vma(walk, ip);
	struct table_space *space;
	struct abi_table *table;
	struct slab *slab;
	u32 zero = 0, word, first, nr, row, pc;
	u64 offset;

	at->table = vma ? vma->table : ABI_TABLE_UNBUILT;
	at->packed = UNWIND_RULE_EXTENDED | UNWIND_EXTENDED_GAP;
	at->pc_delta = 0;
	at->gap_by_fp = vma && vma->flags & ABI_VMA_GAP_BY_FP;
	space = bpf_map_lookup_elem(&tables, &zero);
	if (!vma || !space || at->table >= ABI_MAX_TABLES)
		return;
	table = &space->at[at->table & (ABI_MAX_TABLES - 1)];
	offset = ip - vma->bias - table->start;
	if (offset >> UNWIND_PAGE_SHIFT >= table->nr_pages)
		return;
	word = table->pages_at + 2 * (u32)(offset >> UNWIND_PAGE_SHIFT);
	slab = slab_of(word);
	if (!slab)
		return;
	first = word_at(slab, word);
	nr = word_at(slab, word + 1);
	if (first / ABI_SLAB_WORDS != word / ABI_SLAB_WORDS)
		slab = slab_of(first);
	if (!slab)
		return;
	pc = offset & (UNWIND_PAGE_BYTES - 1);
	row = find_row(slab, first, nr, pc);
	at->packed = unwind_row_rule(row);
	at->pc_delta = pc - unwind_row_pc(row);
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
	slab = slab_of(word);
	if (!slab)
		return;
	to[0] = word_at(slab, word);
	to[1] = word_at(slab, word + 1);
	to[2] = word_at(slab, word + 2);
	to[3] = word_at(slab, word + 3);
}
