// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Why an id and not the stack itself as a map's key: a hash map's keys have one size, so a key that
 * can hold the deepest stack would cost 5 KB for each of them. See cprof_abi.h for the whole scheme.
 *
 * The id is 64 bits, mixed with a seed that is new in every run. Among a million records two share an
 * id once in 37 million runs.
 */
#include "record.bpf.h"
#include "arch/arch.bpf.h"

#include "life.bpf.h"
#include "mix.bpf.h"
#include "runtime.bpf.h"
#include "stackmem.bpf.h"
#include "stats.bpf.h"
#include "uprobes.bpf.h"

#define E_EXIST 17 /* EEXIST */

struct counts_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ABI_COUNTS_ENTRIES);
	__uint(key_size, sizeof(u64));
	__uint(value_size, sizeof(struct abi_count)); /* struct abi_life_count with keeps_lives */
};
struct counts_map counts_even SEC(".maps"), counts_odd SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, ABI_EVENTS_BYTES);
} events SEC(".maps");

/* Selects the counts map that is written; user space flips its lowest bit. */
volatile __u32 epoch = 0;
/*
 * Set by user space before the start and after the end: probes may be attached, but nothing is counted
 * while others are still missing, or when the accounts are being read. ABI_LOOKS: is it much that will be counted?
 */
volatile __u32 stopped = 0;

__hidden bool record_is_stopped(void)
{
	return stopped != ABI_RUNS;
}

__hidden bool record_looks(void)
{
	return stopped == ABI_LOOKS;
}

static __always_inline bool ring_has_room(u32 quarters)
{
	return bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) <
	       (u64)config.events_quarter_bytes * quarters;
}

#define IPS_AT_ONCE 32
#define MAX_TURNS   ((ABI_MAX_FRAMES + IPS_AT_ONCE - 1) / IPS_AT_ONCE)

/* The hash of what hash stands for and then of IPS_AT_ONCE ips, of which there are nr. Global, to be verified once. */
__noinline u64 record_hash_ips(u32 slot, u64 hash, u32 first, u32 nr)
{
	struct scratch *scratch = scratch_at(slot);

	if (!scratch)
		return hash;
	for (u32 i = 0; i < IPS_AT_ONCE; i++) {
		u32 at = first + i;

		barrier_var(at); /* or clang checks one number, and reads by another */
		if (at >= nr || at >= ABI_MAX_FRAMES)
			break;
		hash = mix(hash, scratch->record.ips[at]);
	}
	return hash;
}

__hidden void record_close(u32 slot, u64 size_bytes)
{
	struct scratch *scratch = scratch_at(slot);
	struct abi_record *record;
	u64 hash = mix(config.hash_seed, size_bytes);
	u32 nr;

	if (!scratch)
		return;
	record = &scratch->record;
	nr = record->nr_kernel + scratch->walk.nr;
	record->size_bytes = size_bytes;
	record->time_ns = config.captures ? bpf_ktime_get_ns() : 0;
	record->nr_user = scratch->walk.nr;
	record->user_end = scratch->walk.end;
	hash = mix(hash, (u64)record->tgid << 32 | record->tid);
	hash = mix(hash, record->start_ns);
	hash = mix(hash, record->time_ns);
	hash = mix(hash, (u64)scratch->exec_id << 32 | record->user_end);
	hash = mix(hash, *(u64 *)&record->comm[0]);
	hash = mix(hash, *(u64 *)&record->comm[8]);
	hash = mix(hash, (u64)record->nr_kernel << 32 | record->nr_user);
	if (record->unloads)
		hash = mix(hash, record->unloads);
	if (scratch->has_shadow)
		hash = mix(hash, scratch->shadow_hash);
	for (u32 i = 0; i < MAX_TURNS && i * IPS_AT_ONCE < nr; i++)
		hash = record_hash_ips(slot, hash, i * IPS_AT_ONCE, nr);
	/* The rest of this stack is not known yet: it may be any. */
	scratch->sends_stack = record->user_end == ABI_END_UNKNOWN_CODE && ring_has_room(2);
	if (scratch->sends_stack) {
		record->time_ns = bpf_ktime_get_ns();
		hash = mix(mix(hash, record->time_ns), scratch->walk.sp);
	}
	/* Neighbouring ips differ in few bits: one more round spreads the last of them. */
	record->id = mix(hash, hash >> 29);
}

__hidden void record_wake(void)
{
	u32 event = ABI_EVENT_WAKE;

	bpf_ringbuf_output(&events, &event, sizeof(event), BPF_RB_FORCE_WAKEUP);
}

/* Unknown code is urgent: until user space has tables for it, every one of its samples comes so. */
static __always_inline u64 ring_flags(const struct scratch *scratch)
{
	if (scratch->record.user_end == ABI_END_UNKNOWN_CODE)
		return BPF_RB_FORCE_WAKEUP;
	return bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) >= config.events_wakeup_bytes
		       ? BPF_RB_FORCE_WAKEUP
		       : BPF_RB_NO_WAKEUP;
}

/* Sends one piece; the rest of scratch->stack is filled in. Global, to be verified once. */
__noinline int record_send_piece(u32 slot, u64 sp, u32 rest_bytes, u32 piece)
{
	struct scratch *scratch = scratch_at(slot);
	struct abi_stack *stack;
	u32 len;

	if (!scratch)
		return 0;
	stack = &scratch->stack;
	len = stackmem_copy(scratch, sp, rest_bytes);
	if (len > ABI_STACK_PIECE_BYTES)
		return 0;
	uprobes_restore(slot, sp);
	stack->sp = sp;
	stack->piece = piece;
	stack->len_bytes = len;
	stack->has_more = len && rest_bytes > stackmem_piece(sp);
	bpf_ringbuf_output(&events, stack, offsetof(struct abi_stack, stack) + len,
			   BPF_RB_NO_WAKEUP);
	return 0;
}

/*
 * Copies of stacks are large. In a storm of samples of unknown code (a program's first milliseconds
 * under the heap profiler) they get half of the ring: whole stacks for the first, and no sample lost.
 * Its first quarter is also for what lies deeper than one piece.
 */
static __noinline int send_pieces(u32 slot, u64 sp, u32 rest_bytes)
{
	for (u32 i = 0; i < ABI_MAX_STACK_PIECES; i++) {
		u32 len = stackmem_piece(sp);

		if (i && !config.captures && !ring_has_room(1))
			break;
		record_send_piece(slot, sp, rest_bytes, i);
		if (rest_bytes <= len)
			break;
		rest_bytes -= len;
		sp += len;
	}
	return 0;
}

/*
 * The registers and the stack of a walk that came to unknown code, for user space to go on with, and
 * to make the code known. If this does not fit the record is stored all the same, as the truncated
 * one it is, and user space is woken by it.
 */
static __always_inline void send_stack(struct scratch *scratch)
{
	struct abi_stack *stack = &scratch->stack;
	struct walk *walk = &scratch->walk;
	u64 sp = walk->sp;

	stack->event = ABI_EVENT_STACK;
	stack->id = scratch->record.id;
	stack->ip = walk->ip;
	stack->fp = walk->fp;
	stack->extra = walk->extra;
	stack->ip_exact = walk->ip_exact;
	stack->extra_known = walk->extra_known;
	stack->has_leaf = walk->has_leaf;
	for (u32 i = 0; i < ARCH_NR_REGS; i++)
		stack->leaf[i] = walk->leaf[i];
	if (ARCH_HAS_LINK) {
		stack->sp_lost = !sp;
		sp = sp ? sp : walk->fp;
	}
	send_pieces(walk->slot, sp, stackmem_rest(sp));
}

/* For tests: the registers that the walk began with, and the stack above them piece by piece. */
static __always_inline void send_capture(struct scratch *scratch)
{
	struct abi_stack *stack = &scratch->stack;
	struct walk *walk = &scratch->walk;

	stack->event = ABI_EVENT_LEAF;
	stack->id = scratch->record.id;
	stack->ip = scratch->record.ips[scratch->record.nr_kernel & 127];
	stack->fp = walk->leaf[ARCH_MACHINE.fp];
	stack->extra = walk->leaf[ARCH_MACHINE.extra];
	stack->ip_exact = stack->extra_known = stack->has_leaf = true;
	if (ARCH_HAS_LINK)
		stack->sp_lost = false;
	for (u32 i = 0; i < ARCH_NR_REGS; i++)
		stack->leaf[i] = walk->leaf[i];
	send_pieces(walk->slot, walk->leaf[ARCH_MACHINE.sp], STACKMEM_UNKNOWN);
}

/* Before its record, which means nothing without it. */
static __always_inline int send_shadow(struct scratch *scratch)
{
	struct shadow *shadow = shadow_at(scratch->walk.slot);
	u64 len = offsetof(struct abi_shadow, frames) +
		  (u64)scratch->nr_shadow * sizeof(struct abi_frame);

	if (!shadow)
		return 0; /* never: for the verifier */
	shadow->stack.event = ABI_EVENT_SHADOW;
	shadow->stack.id = scratch->record.id;
	if (len > sizeof(shadow->stack))
		len = sizeof(shadow->stack);
	return (int)bpf_ringbuf_output(&events, &shadow->stack, len, BPF_RB_NO_WAKEUP);
}

/* 0, or which loss it was. */
static __always_inline int send_record(struct scratch *scratch)
{
	struct abi_record *record = &scratch->record;
	u64 len = offsetof(struct abi_record, ips) +
		  (record->nr_kernel + record->nr_user) * sizeof(record->ips[0]);

	if (scratch->sends_stack)
		send_stack(scratch);
	if (scratch->has_shadow && send_shadow(scratch))
		return ABI_LOST_EVENTS_FULL;
	record->event = ABI_EVENT_RECORD;
	record->collections = stackmem_counter(scratch->walk.collections_at);
	if (!record->time_ns)
		record->time_ns = bpf_ktime_get_ns(); /* not before: most records have been sent */
	if (len > sizeof(*record))
		len = sizeof(*record);
	return bpf_ringbuf_output(&events, record, len, ring_flags(scratch)) ? ABI_LOST_EVENTS_FULL
									     : 0;
}

/*
 * Adds to id's counter. The record of a new id is sent before it is counted, so that user space has it for
 * every id that it finds in the map. Two CPUs may both send it, which does no harm.
 */
static __always_inline int count_in(struct counts_map *counts, struct scratch *scratch,
				    const struct abi_block *block)
{
	struct abi_count one = {.nr_taken = 1}, *count;
	u64 id = scratch->record.id;
	int err;

	count = bpf_map_lookup_elem(counts, &id);
	if (!count) {
		err = send_record(scratch);
		if (err)
			return err;
		err = bpf_map_update_elem(
			counts, &id, config.keeps_lives ? (void *)&life_none : &one, BPF_NOEXIST);
		if (err && err != -E_EXIST)
			return ABI_LOST_COUNTS_FULL;
		if (!err && !config.keeps_lives)
			return 0;
		count = bpf_map_lookup_elem(counts, &id);
		if (!count)
			return ABI_LOST_COUNTS_FULL;
	}
	if (config.keeps_lives && block)
		life_taken((void *)count, block->weight_bytes);
	else
		__sync_fetch_and_add(&count->nr_taken, 1);
	return 0;
}

__hidden bool record_store(struct scratch *scratch, const struct abi_block *block)
{
	int lost;

	if (config.captures && scratch->walk.nr)
		send_capture(scratch);
	lost = epoch & 1 ? count_in(&counts_odd, scratch, block)
			 : count_in(&counts_even, scratch, block);
	stat_inc(lost ? lost : ABI_STAT_STORED);
	stat_add(ABI_STAT_FRAMES, scratch->walk.nr_walked);
	return !lost;
}

static __always_inline bool count_freed_in(struct counts_map *counts, const struct abi_block *block)
{
	struct abi_count one = {.nr_freed = 1}, *count;
	u64 id = block->id;

	count = bpf_map_lookup_elem(counts, &id);
	if (!count) {
		if (!(int)bpf_map_update_elem(counts, &id,
					      config.keeps_lives ? (void *)&life_none : &one,
					      BPF_NOEXIST) &&
		    !config.keeps_lives)
			return true;
		count = bpf_map_lookup_elem(counts, &id);
		if (!count)
			return false;
	}
	if (config.keeps_lives)
		life_freed((void *)count, block->born_ns, block->weight_bytes);
	else
		__sync_fetch_and_add(&count->nr_freed, 1);
	return true;
}

__hidden void record_freed(const struct abi_block *block)
{
	bool counted = epoch & 1 ? count_freed_in(&counts_odd, block)
				 : count_freed_in(&counts_even, block);

	stat_inc(counted ? ABI_STAT_FREED : ABI_STAT_FREES_LOST);
}
