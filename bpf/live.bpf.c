// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Nearly every free is that of a block that was not sampled, which must be found out fast. In a table
 * for a million blocks each question is a cache miss (a tenth of what a probe costs its target), so
 * that a counting Bloom filter with one hash, which stays in the cache, answers nearly all of them:
 *
 *	live_filter[place of address]	how many blocks there are whose addresses have this place
 *
 * It is raised before a block is entered and lowered after one is taken out, here and in user space
 * (collect/purge.c): 0 is always true, and anything else may be too high for a moment. This needs no fence: it
 * is one word, so that its changes have one order, and a thread can free a block only after it has the block's address, which the
 * allocating thread gives away after it has raised the filter.
 *
 * Two tables. Entries of `live` are there from the start; those of `live_more`, the million, are
 * allocated when they are needed, and to free one again costs more than all else that a sampled free
 * does (150 ns, and interrupts of the target when the allocator settles its accounts). Rejected: a
 * million entries from the start, which is 80 MB for programs that hold a thousand samples.
 *
 * A block belongs to the image that allocated it: to a process, between two of its execs. A fork copies
 * blocks, but followed are only the parent's: a child begins with what it allocates itself, and its
 * free of a copy is that of an unsampled block. When an image ends, all that it holds is out of reach,
 * and would fill the tables for nothing. To find it here would be a walk through all of them in the exit
 * of some process; so the end is noted in `holders`, and user space sweeps.
 */
#include "live.bpf.h"
#include "arch/arch.bpf.h"

#include "record.bpf.h"
#include "target.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ABI_LIVE_AT_HAND);
	__uint(key_size, sizeof(struct abi_block_key));
	__uint(value_size, sizeof(u64)); /* of struct abi_block: configure.c says how much */
} live SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ABI_LIVE_ENTRIES - ABI_LIVE_AT_HAND);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(key_size, sizeof(struct abi_block_key));
	__uint(value_size, sizeof(u64));
} live_more SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ABI_HOLDERS_ENTRIES);
	__type(key, struct abi_image);
	__type(value, u32); /* enum abi_holder */
} holders SEC(".maps");

volatile __u32 live_filter[ABI_LIVE_FILTER] = {};
/*
 * How many holders have ended so far: user space looks for them when this has changed, and a grace period has passed
 * (collect/purge.h): adding orders nothing, where the CPU does not.
 */
volatile __u32 nr_ended = 0;

static __always_inline bool take_from(void *map, const struct abi_block_key *key,
				      struct abi_block *block)
{
	const struct abi_block *found = bpf_map_lookup_elem(map, key);

	if (!found)
		return false;
	block->id = found->id;
	if (config.keeps_lives) {
		block->born_ns = found->born_ns;
		block->weight_bytes = found->weight_bytes;
	}
	return !(int)bpf_map_delete_elem(map, key); /* else somebody else was faster */
}

__hidden bool live_take(u64 address, struct abi_block *block)
{
	struct abi_block_key key = {.address = arch_untag(address)};
	u32 place = ABI_LIVE_PLACE(key.address);
	bool taken;

	if (!live_filter[place])
		return false;
	key.image = target_image();
	taken = take_from(&live, &key, block);
	if (!taken && config.live_grows)
		taken = take_from(&live_more, &key, block);
	if (taken)
		__sync_fetch_and_add(&live_filter[place], -1);
	return taken;
}

/*
 * Current's image has a block. If there is no room, or the tgid was used again before user space has
 * swept, blocks stay in the tables for longer than they might: counted as what they are all the same.
 */
static void note_holder(struct abi_image image)
{
	u32 lives = ABI_HOLDER_LIVES, *holder = bpf_map_lookup_elem(&holders, &image);

	if (!holder)
		bpf_map_update_elem(&holders, &image, &lives, BPF_ANY);
	else if (*holder != ABI_HOLDER_LIVES)
		*holder = ABI_HOLDER_LIVES;
}

__hidden bool live_put(u64 address, const struct abi_block *block)
{
	struct abi_block_key key = {.address = arch_untag(address), .image = target_image()};
	u32 place = ABI_LIVE_PLACE(key.address);

	note_holder(key.image);
	__sync_fetch_and_add(&live_filter[place], 1);
	if (!(int)bpf_map_update_elem(&live, &key, block, BPF_ANY))
		return true;
	if (config.live_grows && !(int)bpf_map_update_elem(&live_more, &key, block, BPF_ANY))
		return true;
	__sync_fetch_and_add(&live_filter[place], -1);
	return false;
}

__hidden void live_end_image(u32 tgid, u32 exec_id, enum abi_holder how)
{
	struct abi_image image = {.tgid = tgid, .exec_id = exec_id};
	u32 *holder = bpf_map_lookup_elem(&holders, &image);

	if (!holder || record_is_stopped())
		return;
	*holder = how;
	__sync_fetch_and_add(&nr_ended, 1);
}
