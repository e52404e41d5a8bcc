// SPDX-License-Identifier: BSD-2-Clause
/*
 * Map sizes and constants are set between open and load: a map's size is fixed when it is created, and the verifier
 * knows the constants of .rodata, so it drops the branches that a run does not take. Each default says below what it
 * is derived from; --limit (struct session_limits) overrides it in tests.
 */
#include "collect/configure.h"

#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "base/clock.h"
#include "cprof_abi.h"
#include "machine/pacmask.h"

#include "cprof.skel.h"

#define DENSE_RATE_BYTES   16 /* below: every allocation is sampled, or nearly */
#define DENSE_EVENTS_BYTES (64u << 20)

/*
 * An aggregation map must hold what comes between two drains, twice over: four seconds of ticks that
 * are all different.
 */
static uint32_t counts_entries(const struct session_options *options)
{
	uint64_t nr = ABI_COUNTS_ENTRIES;
	uint64_t need = options->source == SESSION_HEAP
				? 65536
				: 4ull * options->frequency_hz * libbpf_num_possible_cpus();

	if (options->limits.counts)
		return options->limits.counts;
	while (nr < need && nr < 1024 * 1024)
		nr *= 2;
	return nr;
}

static uint32_t or_default(uint32_t limit, uint32_t otherwise)
{
	return limit ? limit : otherwise;
}

/*
 * Before Linux 6.1 the verifier warns, in the kernel's log and with a stack dump, of maps that tracing
 * programs let grow. There one map is allocated as a whole, and is smaller.
 */
static uint32_t live_entries(const struct session_options *options,
			     const struct kernel_features *features)
{
	if (options->allocs_only)
		return 1;
	return or_default(options->limits.live,
			  features->map_allocator
				  ? or_default(options->limits.live_grown, ABI_LIVE_ENTRIES)
				  : ABI_LIVE_ENTRIES_AT_ONCE);
}

static bool live_grows(const struct session_options *options,
		       const struct kernel_features *features)
{
	return features->map_allocator && live_entries(options, features) > ABI_LIVE_AT_HAND;
}

static void size_live_maps(struct cprof_bpf *bpf, const struct session_options *options,
			   const struct kernel_features *features)
{
	uint32_t nr = live_entries(options, features);

	if (live_grows(options, features)) {
		bpf_map__set_max_entries(bpf->maps.live_more, nr - ABI_LIVE_AT_HAND);
		return;
	}
	bpf_map__set_max_entries(bpf->maps.live, nr);
	bpf_map__set_max_entries(bpf->maps.live_more, 1); /* not used, but named */
	bpf_map__set_map_flags(bpf->maps.live_more, 0);
}

/* Where nothing is kept of the lives of blocks, values are short, and the map of peaks is not used, but named. */
static void size_lives(struct cprof_bpf *bpf, const struct session_options *options)
{
	if (!options->keeps_lives) {
		bpf_map__set_max_entries(bpf->maps.peaks, 1);
		return;
	}
	bpf_map__set_value_size(bpf->maps.live, sizeof(struct abi_block));
	bpf_map__set_value_size(bpf->maps.live_more, sizeof(struct abi_block));
	bpf_map__set_value_size(bpf->maps.counts_even, sizeof(struct abi_life_count));
	bpf_map__set_value_size(bpf->maps.counts_odd, sizeof(struct abi_life_count));
}

/*
 * Where every allocation is sampled, a program's first blocks come faster than user space can hear of its code. Their stacks are copied
 * whole until then, and need room for some milliseconds.
 */
static uint32_t events_bytes(const struct session_options *options)
{
	bool is_dense = options->source == SESSION_HEAP && options->rate_bytes < DENSE_RATE_BYTES;

	return or_default(options->limits.events, is_dense ? DENSE_EVENTS_BYTES : ABI_EVENTS_BYTES);
}

static void size_maps(struct cprof_bpf *bpf, const struct session_options *options,
		      const struct kernel_features *features)
{
	const struct session_limits *limits = &options->limits;
	bool heap = options->source == SESSION_HEAP;

	bpf_map__set_max_entries(bpf->maps.counts_even, counts_entries(options));
	bpf_map__set_max_entries(bpf->maps.counts_odd, counts_entries(options));
	bpf_map__set_max_entries(bpf->maps.events, events_bytes(options));
	size_live_maps(bpf, options, features);
	size_lives(bpf, options);
	bpf_map__set_max_entries(bpf->maps.inflight,
				 or_default(limits->inflight, ABI_INFLIGHT_ENTRIES));
	bpf_map__set_autocreate(bpf->maps.seen_processes,
				!features->kernel_reads && !features->current_task_btf);
	bpf_map__set_autocreate(bpf->maps.live, heap);
	bpf_map__set_autocreate(bpf->maps.live_more, heap);
	bpf_map__set_autocreate(bpf->maps.inflight, heap);
	bpf_map__set_autocreate(bpf->maps.holders, heap);
	bpf_map__set_autocreate(bpf->maps.peaks, heap);
	bpf_map__set_autocreate(bpf->maps.sampling_tables, heap);
}

/*
 * What one walk may take. A tick's, which nothing can preempt: a quarter of the time to the next,
 * whatever a target makes of its stack; that is 30,000 frames or more at the default rate. An
 * allocation's is the target's own time.
 */
static uint64_t walk_ns(const struct session_options *options)
{
	return options->source == SESSION_CPU ? NSEC_PER_SEC / 4 / options->frequency_hz
					      : NSEC_PER_SEC / 100;
}

/* arm64's THREAD_SIZE. x86-64 programs do not ask. */
static uint32_t kernel_stack_bytes(void)
{
	long page_bytes = sysconf(_SC_PAGESIZE);

	return page_bytes > 16384 ? (uint32_t)page_bytes : 16384;
}

static void set_config(struct cprof_bpf *bpf, const struct session_options *options,
		       const struct kernel_features *features)
{
	struct abi_config config = {
		.rate_bytes = options->rate_bytes,
		.pac_mask = pacmask_get(),
		.walk_ns = walk_ns(options),
		.kernel_stack_bytes = kernel_stack_bytes(),
		.self_tgid = getpid(),
		.only_tgid = options->only_tgid,
		.helper_tgids = {options->helper_tgids[0], options->helper_tgids[1]},
		.events_wakeup_bytes = or_default(options->limits.events, ABI_EVENTS_BYTES) / 4,
		.events_quarter_bytes = events_bytes(options) / 4,
		.all = options->all,
		.unknown_too = options->judged && options->source == SESSION_CPU,
		.wake_at_exec = options->judged && options->source == SESSION_HEAP,
		.follow_forks = options->follow_forks,
		.threads = options->threads,
		.kernel_stacks = options->kernel_stacks,
		.nr_uprobe_slots = ABI_NR_SLOTS - ABI_SLOT_UPROBE,
		.captures = options->captures,
		.has_cookies = features->attach_cookie,
		.allocs_only = options->allocs_only,
		.live_grows = live_grows(options, features),
		.keeps_lives = options->keeps_lives,
		.no_kernel_reads = !features->kernel_reads,
	};

	if (options->limits.slots)
		config.nr_uprobe_slots = options->limits.slots - 1;
	if (getrandom(&config.hash_seed, sizeof(config.hash_seed), 0) < 0)
		config.hash_seed = (uintptr_t)bpf;
	memcpy((void *)&bpf->rodata->config, &config, sizeof(config));
}

void configure_bpf(struct cprof_bpf *bpf, const struct session_options *options,
		   const struct kernel_features *features)
{
	size_maps(bpf, options, features);
	set_config(bpf, options, features);
}
