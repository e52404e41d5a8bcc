// SPDX-License-Identifier: BSD-2-Clause
/*
 * The probed instruction is a nop, which the kernel emulates as it does those that sites are chosen for
 * (probes/probesite.h). The programs are those of the run. They end early here, since cprof is no target; what they do for
 * one was measured once, against the CPU time of a loop of malloc and free with probes and without, and is a share of the
 * trap. The best of some batches counts: others can only make them slower.
 *
 * Rejected: to measure in a child that is a target. It takes longer, and its calls would have to be taken out of the
 * accounts again.
 */
#include "collect/price.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "machine/owncode.h"

#define NR_BATCHES  12
#define BATCH_CALLS 150

/* Of the measured trap: what the programs do for a target, and what its caches lose. */
#define ALLOC_SHARE  1.5
#define FREE_SHARE   1.3
#define RETURN_SHARE 0.7 /* of the entry: no other instruction is emulated, and the call is noted */
#define FREED_SHARE  0.4 /* to find a sampled block, and count it */

/* A perf event goes slowly (collect/uprobes.h), so there is only one, and an allocation counts as two of its traps. */
#define PERF_ALLOC 2.2

void price_alloc(void);
void price_free(void);

__asm__(".text\n"
	".p2align 4\n"
	".type price_alloc, @function\n"
	"price_alloc: nop\n"
	"	ret\n"
	".size price_alloc, . - price_alloc\n"
	".p2align 4\n"
	".type price_free, @function\n"
	"price_free: nop\n"
	"	ret\n"
	".size price_free, . - price_free\n");

/* A call, in nanoseconds. */
static double best_of(void (*function)(void))
{
	double best = 0;

	for (int i = 0; i < NR_BATCHES; i++) {
		uint64_t began_ns = clock_monotonic_ns();
		double each;

		for (int j = 0; j < BATCH_CALLS; j++)
			function();
		each = (double)(clock_monotonic_ns() - began_ns) / BATCH_CALLS;
		if (!i || each < best)
			best = each;
	}
	return best;
}

static int attach(struct uprobes *uprobes, const struct cprof_bpf *bpf, bool frees_only)
{
	const struct alloc_site sites[] = {
		{.shape = SHAPE_FREE, .file_off = owncode_offset(price_free)},
		{.shape = SHAPE_MALLOC, .file_off = owncode_offset(price_alloc), .is_leaf = true},
	};
	int fd scoped(closep) = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (!sites[0].file_off || !sites[1].file_off)
		return -ENOENT;
	return uprobes_attach(uprobes, bpf, sites, frees_only ? 1 : 2, fd, getpid());
}

int price_measure(struct uprobes *uprobes, const struct cprof_bpf *bpf, struct price *price)
{
	bool is_perf = uprobes->mode == UPROBES_PERF;
	double alloc_ns, free_ns;
	int err = attach(uprobes, bpf, is_perf);

	*price = (struct price){0};
	if (err)
		return err;
	free_ns = best_of(price_free);
	alloc_ns = is_perf ? PERF_ALLOC * free_ns : best_of(price_alloc);
	*price = (struct price){.alloc_ns = alloc_ns * ALLOC_SHARE,
				.free_ns = free_ns * FREE_SHARE,
				.return_ns = alloc_ns * RETURN_SHARE,
				.all_return = uprobes->mode != UPROBES_SESSION};
	detail("a probe costs its target %.0f ns at an allocation, %.0f ns at a free",
	       price->alloc_ns, price->free_ns);
	return 0;
}

void price_apply(const struct price *price, const struct tally *tally, struct overhead *overhead)
{
	uint64_t nr_returns = price->all_return ? tally->nr_calls : tally->nr_noted;
	double cost_ns = (double)tally->nr_calls * price->alloc_ns +
			 (double)tally->nr_frees * price->free_ns + (double)tally->sample_ns +
			 (double)tally->nr_freed * price->free_ns * FREED_SHARE;

	if (!price->all_return)
		cost_ns += (double)nr_returns * price->return_ns;
	overhead->nr_traps = tally->nr_calls + nr_returns + tally->nr_frees;
	overhead->cost_ns = price->free_ns > 0 ? (uint64_t)cost_ns : 0;
}

void price_expect(const struct price *price, uint64_t nr_calls, bool allocs_only,
		  struct overhead *expected)
{
	double each_ns = allocs_only ? price->alloc_ns : (price->alloc_ns + price->free_ns) / 2;

	*expected = (struct overhead){.nr_traps = nr_calls,
				      .cost_ns = (uint64_t)((double)nr_calls * each_ns)};
}
