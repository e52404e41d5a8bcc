// SPDX-License-Identifier: BSD-2-Clause
/*
 * The order is what makes it exact:
 *
 *	flip the epoch			new ticks count in the other map
 *	wait for a grace period		ticks under way, which may have read the old epoch, are over
 *	empty the ring			a record is sent before it is counted, so after this every id
 *					in the old map has been described
 *	empty the old map		nobody writes it now
 *
 * BPF programs run inside RCU read-side sections, and MEMBARRIER_CMD_GLOBAL is, from user space, a
 * wait for an RCU grace period (kernel/sched/membarrier.c: synchronize_rcu()).
 */
#include "collect/drain.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/alloc.h"
#include "base/log.h"
#include "cprof_abi.h"

#define BATCH 4096

static const char *const end_texts[] = {
#define X(id, text) [ABI_END_##id] = text,
	ABI_STACK_ENDS(X)
#undef X
};

static int on_record(void *ctx, void *data, size_t len_bytes)
{
	const struct drain *drain = ctx;
	const struct abi_record *in = data;
	const uint64_t *ips = (const uint64_t *)in->ips; /* __u64 has another name */
	struct record out = {
		.id = in->id,
		.tgid = in->tgid,
		.tid = in->tid,
		.start_ns = in->start_ns,
		.time_ns = in->time_ns,
		.size_bytes = in->size_bytes,
		.kernel_ips = ips,
		.nr_kernel = in->nr_kernel,
		.user_ips = ips + in->nr_kernel,
		.nr_user = in->nr_user,
		.truncated = in->user_end < ABI_NR_STACK_ENDS ? end_texts[in->user_end] : NULL,
	};

	(void)len_bytes; /* our own program wrote it */
	memcpy(out.comm, in->comm, sizeof(out.comm));
	out.comm[sizeof(out.comm) - 1] = '\0';
	drain->sink->record(drain->sink->ctx, &out);
	return 0;
}

int drain_open(struct drain *drain, int events_fd, const int counts_fds[2],
	       volatile uint32_t *epoch)
{
	drain->counts_fds[0] = counts_fds[0];
	drain->counts_fds[1] = counts_fds[1];
	drain->epoch = epoch;
	drain->ids = xcalloc(BATCH, sizeof(*drain->ids));
	drain->counts = xcalloc(BATCH, sizeof(*drain->counts));
	drain->ring = ring_buffer__new(events_fd, on_record, drain, NULL);
	return drain->ring ? 0 : fail(-errno, "map the event ring");
}

static void wait_for_running_programs(void)
{
	struct timespec tenth = {.tv_nsec = 100 * 1000 * 1000};

	/* nohz_full kernels refuse it: then wait longer than any tick's program runs. */
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		nanosleep(&tenth, NULL);
}

static int empty_counts(struct drain *drain, int fd)
{
	const struct session_sink *sink = drain->sink;
	struct bpf_map_batch_opts opts = {.sz = sizeof(opts)};
	uint32_t position, nr;
	bool first = true;
	int err;

	do {
		nr = BATCH;
		err = bpf_map_lookup_and_delete_batch(fd, first ? NULL : &position, &position,
						      drain->ids, drain->counts, &nr, &opts);
		if (err && err != -ENOENT)
			return fail(err, "read the aggregation map");
		for (uint32_t i = 0; i < nr; i++)
			sink->count(sink->ctx, &(struct count){
						       .id = drain->ids[i],
						       .nr_taken = drain->counts[i].nr_taken,
						       .nr_freed = drain->counts[i].nr_freed,
					       });
		first = false;
	} while (!err);
	return 0;
}

int drain_run(struct drain *drain, const struct session_sink *sink)
{
	uint32_t old = *drain->epoch & 1;
	int err;

	drain->sink = sink;
	__atomic_store_n(drain->epoch, old ^ 1, __ATOMIC_SEQ_CST);
	wait_for_running_programs();
	err = ring_buffer__consume(drain->ring);
	if (err < 0)
		return fail(err, "read the event ring");
	return empty_counts(drain, drain->counts_fds[old]);
}

void drain_release(struct drain *drain)
{
	ring_buffer__free(drain->ring);
	free(drain->ids);
	free(drain->counts);
}
