// SPDX-License-Identifier: BSD-2-Clause
/*
 * A counter exists once per CPU, so that BPF programs on different CPUs do not share a cache line; the sum is made here.
 * Losses are listed by the X macro ABI_LOSSES, which gives both sides the reason's number and its text, so that a new
 * reason cannot be counted without being reported.
 */
#include "collect/tally.h"

#include <errno.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/alloc.h"
#include "cprof_abi.h"

_Static_assert(ABI_NR_STATS - ABI_STAT_FIRST_LOSS <= TALLY_MAX_LOSSES,
	       "more losses than a tally has");

static const char *const loss_texts[] = {
#define X(id, text) [ABI_LOST_##id - ABI_STAT_FIRST_LOSS] = text,
	ABI_LOSSES(X)
#undef X
};

static int read_stats(int fd, uint64_t *sums)
{
	int nr_cpus = libbpf_num_possible_cpus(), err;
	struct abi_stats *stats scoped(freep) = xcalloc(nr_cpus, sizeof(*stats));
	uint32_t zero = 0;

	err = bpf_map_lookup_elem(fd, &zero, stats);
	if (err)
		return err;
	for (int cpu = 0; cpu < nr_cpus; cpu++)
		for (size_t i = 0; i < ABI_NR_STATS; i++)
			sums[i] += stats[cpu].n[i];
	return 0;
}

/*
 * Calls that were sampled and had not returned when it ended. A realloc among them keeps the record of
 * its old block, which is not in the live map meanwhile, but still alive.
 */
static void count_under_way(int inflight_fd, struct tally *tally)
{
	struct abi_inflight call;
	uint64_t thread;
	void *previous = NULL;

	while (!bpf_map_get_next_key(inflight_fd, previous, &thread)) {
		if (!bpf_map_lookup_elem(inflight_fd, &thread, &call)) {
			tally->nr_under_way += call.sampled;
			tally->nr_live += call.old.id != 0;
		}
		previous = &thread;
	}
}

int tally_read(int stats_fd, int inflight_fd, struct tally *tally)
{
	uint64_t n[ABI_NR_STATS] = {0};
	int err = read_stats(stats_fd, n);

	if (err)
		return err;
	tally->nr_ticks = n[ABI_STAT_TICKS];
	tally->nr_filtered = n[ABI_STAT_FILTERED];
	tally->nr_stored = n[ABI_STAT_STORED];
	tally->nr_frames = n[ABI_STAT_FRAMES];
	tally->nr_calls = n[ABI_STAT_CALLS];
	tally->nr_nested = n[ABI_STAT_NESTED];
	tally->nr_unsampled = n[ABI_STAT_UNSAMPLED];
	tally->nr_sampled = n[ABI_STAT_SAMPLED];
	tally->nr_failed = n[ABI_STAT_FAILED];
	tally->nr_cut_off = n[ABI_STAT_CUT_OFF];
	tally->nr_frees = n[ABI_STAT_FREES];
	tally->nr_freed = n[ABI_STAT_FREED];
	tally->nr_frees_lost = n[ABI_STAT_FREES_LOST];
	tally->nr_purged = n[ABI_STAT_PURGED];
	tally->nr_left = n[ABI_STAT_LEFT];
	tally->nr_noted = n[ABI_STAT_NOTED];
	tally->sample_ns = n[ABI_STAT_SAMPLE_NS];
	tally->ended_ns = n[ABI_STAT_ENDED_NS];
	tally->nr_looked = n[ABI_STAT_LOOKED];
	tally->nr_untracked = n[ABI_LOST_LIVE_FULL];
	for (size_t i = ABI_STAT_FIRST_LOSS; i < ABI_NR_STATS; i++) {
		tally->nr_lost += n[i];
		if (n[i])
			tally->losses[tally->nr_losses++] = (struct tally_loss){
				.reason = loss_texts[i - ABI_STAT_FIRST_LOSS], .nr = n[i]};
	}
	if (inflight_fd >= 0)
		count_under_way(inflight_fd, tally);
	return 0;
}
