// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * The peak. What is in use at the highest total of a run is wanted stack by stack, but a copy of all counters whenever
 * the total grows is out of the question. So each counter keeps what it was at the last peak, when it is changed for
 * the first time after it:
 *
 *	total of the image	1  2  3*  2  4*  3		* a peak: at 4* that of 3* is over
 *	counter a		1  1  1   1  2   2		never changed after 4*: it is as it was then
 *	counter b		0  1  2   1  2   1, kept 2	changed after 4*: what it was is kept
 *
 * A peak is known by its time. The total is that of the blocks' weights, which the block carries until it is freed: so
 * it is exact at rate 1, and an estimate otherwise, like all of a profile. Two CPUs may find a peak at the same time:
 * then one of the two blocks may be missing in it.
 */
#include "life.bpf.h"

#include "branchless.bpf.h"
#include "sampling.bpf.h"
#include "target.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ABI_HOLDERS_ENTRIES);
	__type(key, struct abi_image);
	__type(value, struct abi_peak);
} peaks SEC(".maps");

const volatile struct abi_life_count life_none = {};

/* size / p, where p is a fraction of 2^64. */
static __always_inline u64 weight_of(u64 size_bytes)
{
	u64 p;

	if (config.rate_bytes <= 1)
		return size_bytes;
	if (size_bytes >> 32)
		return size_bytes > config.rate_bytes ? size_bytes : config.rate_bytes;
	p = sampling_threshold(size_bytes) >> 32;
	return p ? (size_bytes << 32) / p : config.rate_bytes;
}

__hidden void life_begin(struct abi_block *block, u64 size_bytes)
{
	if (!config.keeps_lives)
		return;
	block->born_ns = bpf_ktime_get_ns();
	block->weight_bytes = weight_of(size_bytes);
}

static __always_inline struct abi_peak *peak_of_current(bool add)
{
	struct abi_image image = target_image();
	struct abi_peak *peak = bpf_map_lookup_elem(&peaks, &image), none = {};

	if (peak || !add)
		return peak;
	bpf_map_update_elem(&peaks, &image, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&peaks, &image);
}

/* What count was at the last peak is kept, if this is its first change since. */
static __always_inline void keep_peak(struct abi_life_count *count, const struct abi_peak *peak)
{
	if (count->peak_ns == peak->most_ns)
		return;
	count->peak_live = count->count.nr_taken - count->count.nr_freed;
	count->peak_ns = peak->most_ns;
}

__hidden void life_taken(struct abi_life_count *count, u64 weight_bytes)
{
	struct abi_peak *peak = peak_of_current(true);

	if (peak)
		keep_peak(count, peak);
	__sync_fetch_and_add(&count->count.nr_taken, 1);
	if (!peak)
		return; /* too many images */
	__sync_fetch_and_add(&peak->live_bytes, weight_bytes);
	if ((s64)peak->live_bytes <= (s64)peak->most_bytes)
		return;
	peak->most_bytes = peak->live_bytes;
	peak->most_ns = bpf_ktime_get_ns();
}

/* The first class whose bound is above age_ns. */
static __always_inline u32 class_of_age(u64 age_ns)
{
	u64 bound_ns = ABI_FIRST_AGE_NS;
	u32 class = 0;

#pragma unroll
	for (u32 i = 0; i < ABI_NR_AGES - 1; i++) {
		class += is_at_least(age_ns, bound_ns);
		bound_ns *= 10;
	}
	return class;
}

__hidden void life_freed(struct abi_life_count *count, u64 born_ns, u64 weight_bytes)
{
	struct abi_peak *peak = peak_of_current(false);
	u64 age_ns = bpf_ktime_get_ns() - born_ns;
	u32 class = class_of_age(age_ns);

	if (peak) {
		keep_peak(count, peak);
		__sync_fetch_and_add(&peak->live_bytes, -weight_bytes);
	}
	if (age_ns > count->oldest_freed_ns)
		count->oldest_freed_ns = age_ns;
	if (class < ABI_NR_AGES)
		__sync_fetch_and_add(&count->nr_by_age[class], 1);
	__sync_fetch_and_add(&count->count.nr_freed, 1);
}
