// SPDX-License-Identifier: BSD-2-Clause
/*
 * The probed instruction is a nop, which the kernel emulates as it does those that sites are chosen for
 * (probes/probesite.h). The programs are those of the run. They end early here, since cprof is no target; what they do for
 * one was measured once, against the CPU time of a loop of malloc and free with probes and without, and is a share of the
 * trap. The best of many batches counts, since others can only make them slower. They are spread over the run, most of them over its first seconds:
 * while another process removes probes, or many programs end, every trap on the machine takes twice as long for a tenth of a second.
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

#define FIRST_BATCHES 12
#define BATCH_CALLS   150
/* After the first ones: 0.2 ms of this process's time each. */
#define LATER_BATCHES  40
#define BATCH_EVERY_NS (NSEC_PER_SEC / 20)
/* And from then on, as long as the run lasts. */
#define LAST_EVERY_NS NSEC_PER_SEC

/*
 * Multiples of the measured trap: they include the work of the programs, and cache misses of the target. What sampling costs beside
 * the work that BPF times itself is the return and the free. tests/bench/bench_overhead.py has the truth.
 */
#define ALLOC_SHARE  1.4
#define FREE_SHARE   1.22
#define RETURN_SHARE 1.0 /* of the entry: no other instruction is emulated, and the call is noted */
#define FREED_SHARE  1.0 /* of a free that is no sampled block's: to find the block, and count it */

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

/* A batch of calls: *best_ns, of one of them, if it was faster. */
static void try_batch(void (*function)(void), double *best_ns)
{
	uint64_t began_ns = clock_monotonic_ns();
	double each_ns;

	for (int i = 0; i < BATCH_CALLS; i++)
		function();
	each_ns = (double)(clock_monotonic_ns() - began_ns) / BATCH_CALLS;
	if (!*best_ns || each_ns < *best_ns)
		*best_ns = each_ns;
}

static void measure(struct price *price)
{
	try_batch(price_free, &price->free_trap_ns);
	if (price->is_perf)
		price->alloc_trap_ns = PERF_ALLOC * price->free_trap_ns;
	else
		try_batch(price_alloc, &price->alloc_trap_ns);
	price->next_ns =
		clock_monotonic_ns() + (price->batches_left ? BATCH_EVERY_NS : LAST_EVERY_NS);
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
	int err = attach(uprobes, bpf, is_perf);

	*price = (struct price){.is_perf = is_perf, .all_return = uprobes->mode != UPROBES_SESSION};
	if (err)
		return err;
	for (int i = 0; i < FIRST_BATCHES; i++)
		measure(price);
	price->batches_left = LATER_BATCHES;
	return 0;
}

void price_refine(struct price *price)
{
	if (!price->next_ns || clock_monotonic_ns() < price->next_ns)
		return;
	if (price->batches_left)
		price->batches_left--;
	measure(price);
}

static double alloc_ns(const struct price *price)
{
	return price->alloc_trap_ns * ALLOC_SHARE;
}

static double free_ns(const struct price *price)
{
	return price->free_trap_ns * FREE_SHARE;
}

void price_detail(const struct price *price)
{
	if (price->free_trap_ns > 0)
		detail("a probe costs its target %.0f ns at an allocation, %.0f ns at a free",
		       alloc_ns(price), free_ns(price));
}

void price_apply(const struct price *price, const struct tally *tally, struct overhead *overhead)
{
	uint64_t nr_returns = price->all_return ? tally->nr_calls : tally->nr_noted;
	double cost_ns = (double)tally->nr_calls * alloc_ns(price) +
			 (double)tally->nr_frees * free_ns(price) + (double)tally->sample_ns +
			 (double)tally->nr_freed * free_ns(price) * FREED_SHARE;

	if (!price->all_return)
		cost_ns += (double)nr_returns * price->alloc_trap_ns * RETURN_SHARE;
	overhead->nr_traps = tally->nr_calls + nr_returns + tally->nr_frees;
	overhead->cost_ns = price->free_trap_ns > 0 ? (uint64_t)cost_ns : 0;
}

void price_expect(const struct price *price, uint64_t nr_calls, bool allocs_only,
		  struct overhead *expected)
{
	double each_ns = allocs_only ? alloc_ns(price) : (alloc_ns(price) + free_ns(price)) / 2;

	*expected = (struct overhead){.nr_traps = nr_calls,
				      .cost_ns = (uint64_t)((double)nr_calls * each_ns)};
}
