// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * One call counts once. An allocator's functions call each other (glibc's realloc(NULL, n) even jumps
 * to malloc), so a thread's outermost call is noted in `inflight` and what it calls is left alone. The
 * note and the return that ends it cost more than everything else, so an unsampled call of a function
 * that calls no other (ABI_SITE_LEAF) goes without: whatever the thread does until it returns, there
 * it is not drawn for a second time. A stack pointer tells the cases apart, stacks growing down:
 *
 *	entry below the noted call's		nested in it
 *	entry at it, of another function	nested: the noted one jumped there
 *	entry at it, of the same function	the noted call is over, its return was never seen,
 *	entry above it				or the next would be nested in it, and all that follow
 *	return with the sp that such a return	the noted call's own return (on x86-64 the entry's + 8:
 *	leaves, arch_return_sp()		its address is popped)
 *
 * Where a process samples by itself (inside.bpf.c) there are no calls, only blocks; of a realloc's old one a note is kept
 * in the same map. An allocator that is probed from outside may call one that samples: then the former counts.
 *
 * A block's record leaves the live ones before the allocator can hand its address out again: at the entry of
 * free, and of realloc, which puts it back if it fails. A block is entered at the return of its
 * allocation, when nobody else can know its address yet.
 */
#include "heap.bpf.h"
#include "arch/arch.bpf.h"

#include "sampling.bpf.h"
#include "life.bpf.h"
#include "live.bpf.h"
#include "record.bpf.h"
#include "registers.bpf.h"
#include "runtime.bpf.h"
#include "scratch.bpf.h"
#include "stats.bpf.h"
#include "target.bpf.h"
#include "unwind.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ABI_INFLIGHT_ENTRIES);
	__type(key, u64); /* pid_tgid */
	__type(value, struct abi_inflight);
} inflight SEC(".maps");

/*
 * Takes the note of a call away. Since Linux 6.15 a delete can fail on a busy machine (-ETIMEDOUT of the
 * bucket's lock): what is left then must not look like a call. No stack pointer is 0.
 */
static void forget_call(struct abi_inflight *noted, u64 thread)
{
	noted->entry_sp = 0;
	noted->old.id = 0;
	noted->sampled = 0;
	bpf_map_delete_elem(&inflight, &thread);
}

/* Is this entry inside the noted call? If not, the noted call's return was missed. */
static bool is_nested(struct abi_inflight *noted, const struct pt_regs *regs)
{
	if (arch_sp(regs) < noted->entry_sp ||
	    (arch_sp(regs) == noted->entry_sp && arch_ip(regs) != noted->entry_ip))
		return true;
	if (noted->sampled)
		stat_inc(ABI_LOST_RETURN_MISSED);
	if (noted->old.id)
		record_freed(&noted->old);
	noted->sampled = 0; /* counted */
	noted->old.id = 0;
	return false;
}

/* Notes that a call is under way. false: there is no room. */
static bool note_call(const struct pt_regs *regs, const struct heap_call *call, bool sampled)
{
	u64 thread = bpf_get_current_pid_tgid();
	struct abi_inflight note = {};

	note.sampled = sampled;
	note.allocator = call->allocator;
	note.entry_sp = arch_sp(regs);
	note.entry_ip = arch_ip(regs);
	note.size_bytes = call->size_bytes;
	note.result_at = call->result_at;
	note.old_address = call->old_address;
	if (call->old_address && !config.allocs_only)
		live_take(call->old_address, &note.old);
	if (!(int)bpf_map_update_elem(&inflight, &thread, &note, BPF_ANY)) {
		stat_inc(ABI_STAT_NOTED);
		return true;
	}
	if (note.sampled)
		stat_inc(ABI_LOST_INFLIGHT_FULL);
	if (note.old.id)
		record_freed(&note.old); /* most calls succeed */
	return false;
}

/* Is this call one to be handled? Before the start it is counted at most. */
static __always_inline bool is_wanted(void)
{
	if (!record_is_stopped())
		return target_is_current();
	if (record_looks() && target_is_current())
		stat_inc(ABI_STAT_LOOKED);
	return false;
}

__hidden bool heap_enter(const struct pt_regs *regs, u64 site, const struct heap_call *call)
{
	u64 thread = bpf_get_current_pid_tgid();
	struct abi_inflight *noted;
	bool sampled;

	if (!is_wanted())
		return false;
	stat_inc(ABI_STAT_CALLS);
	noted = bpf_map_lookup_elem(&inflight, &thread);
	if (noted && is_nested(noted, regs)) {
		stat_inc(ABI_STAT_NESTED);
		return false;
	}
	sampled = sampling_draw(call->size_bytes);
	stat_inc(sampled ? ABI_STAT_SAMPLED : ABI_STAT_UNSAMPLED);
	if (sampled || !(site & ABI_SITE_LEAF))
		return note_call(regs, call, sampled);
	if (noted)
		forget_call(noted, thread); /* it is over */
	return false;
}

/* Stores the sample of a block: its stack begins in the function, then its caller. */
static __always_inline void store_sample(const struct pt_regs *regs, const struct heap_block *block,
					 bool at_entry, u32 slot)
{
	struct scratch *scratch = scratch_at(slot);
	struct abi_block taken = {}, replaced = {};
	u64 address = block->address;

	if (!scratch)
		return;
	target_identify(scratch);
	scratch->record.nr_kernel = 0;
	if (registers_begin_walk(regs, scratch)) {
		if (at_entry)
			arch_return_to_caller(&scratch->walk);
		unwind_push(scratch, block->entry_ip);
		unwind_user(slot);
		runtime_walk((void *)regs, slot);
	}
	record_close(slot, block->size_bytes);
	taken.id = scratch->record.id;
	if (config.allocs_only) {
		if (record_store(scratch, &taken))
			record_freed(&taken); /* as far as anybody knows */
		return;
	}
	if (live_take(address, &replaced))
		record_freed(&replaced); /* freed where no probe saw it */
	life_begin(&taken, block->size_bytes);
	if (!live_put(address, &taken)) {
		stat_inc(ABI_LOST_LIVE_FULL);
		return;
	}
	if (!record_store(scratch, &taken))
		live_take(address, &replaced);
}

static __always_inline void take_sample(const struct pt_regs *regs, const struct heap_block *block,
					bool at_entry)
{
	u64 began_ns = bpf_ktime_get_ns(), took_ns;
	u32 slot = scratch_claim();

	if (!slot) {
		stat_inc(ABI_LOST_SLOT_TAKEN);
		return;
	}
	store_sample(regs, block, at_entry, slot);
	scratch_give_back(slot);
	took_ns = bpf_ktime_get_ns() - began_ns;
	stat_add(ABI_STAT_SAMPLE_NS, took_ns < ABI_MAX_SAMPLE_NS ? took_ns : ABI_MAX_SAMPLE_NS);
}

/* What became of a realloc's old block: gone, unless the call failed and left it alone. */
static void settle_old_block(const struct abi_inflight *call, u64 result)
{
	if (!call->old.id)
		return;
	if (result || !call->size_bytes) /* realloc(p, 0) frees p and returns NULL */
		record_freed(&call->old);
	else if (!live_put(call->old_address, &call->old))
		stat_inc(ABI_STAT_FREES_LOST);
}

/* The address a call returned, 0 if it failed; result is its return value. */
static u64 call_result(const struct abi_inflight *call, u64 result)
{
	u64 address = 0;

	if (call->allocator != ABI_ALLOCATOR_POSIX_MEMALIGN)
		return result;
	if (!(int)result)
		bpf_probe_read_user(&address, sizeof(address), (void *)call->result_at);
	return address;
}

__hidden void heap_return(const struct pt_regs *regs)
{
	u64 thread = bpf_get_current_pid_tgid(), result = arch_result(regs), address;
	struct abi_inflight *noted = bpf_map_lookup_elem(&inflight, &thread), call;

	if (record_is_stopped() || !noted || arch_sp(regs) != arch_return_sp(noted->entry_sp))
		return;
	call = *noted;
	forget_call(noted, thread);
	address = call_result(&call, result);
	settle_old_block(&call, address);
	if (!call.sampled)
		return;
	if (!address) {
		stat_inc(ABI_STAT_FAILED);
		return;
	}
	take_sample(regs, &(struct heap_block){address, call.size_bytes, call.entry_ip}, false);
}

__hidden void heap_sampled(const struct pt_regs *regs, const struct heap_block *block)
{
	u64 thread = bpf_get_current_pid_tgid();
	struct abi_inflight *noted;

	if (record_is_stopped() || !target_is_current())
		return;
	stat_inc(ABI_STAT_CALLS);
	noted = bpf_map_lookup_elem(&inflight, &thread);
	if (noted && is_nested(noted, regs)) {
		stat_inc(ABI_STAT_NESTED);
		return;
	}
	stat_inc(ABI_STAT_SAMPLED);
	take_sample(regs, block, true);
}

__hidden void heap_leaves(const struct pt_regs *regs, u64 address)
{
	const struct heap_call call = {
		.allocator = ABI_ALLOCATOR_REALLOC, .size_bytes = 1, .old_address = address};

	if (record_is_stopped() || !target_is_current())
		return;
	stat_inc(ABI_STAT_FREES);
	note_call(regs, &call, false);
}

__hidden void heap_moved(bool has_moved)
{
	u64 thread = bpf_get_current_pid_tgid();
	struct abi_inflight *noted = bpf_map_lookup_elem(&inflight, &thread), call;

	if (record_is_stopped() || !noted)
		return;
	call = *noted;
	forget_call(noted, thread);
	settle_old_block(&call, has_moved);
}

__hidden void heap_free(u64 address)
{
	struct abi_block block = {};

	if (!is_wanted())
		return;
	stat_inc(ABI_STAT_FREES);
	if (address && live_take(address, &block))
		record_freed(&block);
}

__hidden void heap_end_thread(u64 pid_tgid, enum abi_holder how)
{
	struct abi_inflight *noted = bpf_map_lookup_elem(&inflight, &pid_tgid);

	if (!noted || record_is_stopped())
		return;
	if (noted->sampled)
		stat_inc(ABI_STAT_CUT_OFF);
	if (noted->old.id)
		stat_inc(how == ABI_HOLDER_EXECED ? ABI_STAT_PURGED : ABI_STAT_LEFT);
	forget_call(noted, pid_tgid);
}
