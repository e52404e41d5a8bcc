// SPDX-License-Identifier: BSD-2-Clause
/*
 * The ring of a perf event: a control page, then 2^n data pages. The kernel moves data_head forward,
 * we move data_tail; both only grow, and a record starts at its position modulo the size and may wrap.
 *
 *	control page | .... [header|body|trailer] ....
 *	                    ^data_tail            ^data_head
 *
 * Source: perf_event_open(2).
 */
#include "collect/sideband_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

/* A CPU that execs 2,000 programs a second writes 5 MB of events in that time: 0.2 s of it. */
#define RING_BYTES (1024 * 1024)
/* Beyond that the rings are left to overflow, which is counted: memory is limited, too. */
#define GATHER_MAX_EVENTS     (256u << 10)
#define GATHER_MAX_TEXT_BYTES (32u << 20) /* of paths, which can be 4 KB each */

size_t sideband_ring_bytes(void)
{
	return RING_BYTES + sysconf(_SC_PAGESIZE);
}

/* Without CAP_IPC_LOCK, the rings of all of a user's programs count against a limit. */
static int fail_to_map(int error)
{
	if (error == EPERM)
		return fail(
			-error,
			"cannot map a ring of %d KB for process events on each CPU: that is more "
			"memory than this user may lock; raise kernel.perf_event_mlock_kb, or "
			"grant CAP_IPC_LOCK.",
			RING_BYTES / 1024);
	return fail(-error, "cannot map a ring of %d KB for process events", RING_BYTES / 1024);
}

struct perf_event_attr sideband_announcements(void)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
		.sample_id_all = 1,
		.mmap = 1, /* executable ones only: mmap_data is 0 */
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.ksymbol = 1,
		.watermark = 1,
		.wakeup_watermark = RING_BYTES / 4,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
}

void *sideband_map_ring(int fd)
{
	return mmap(NULL, sideband_ring_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

int sideband_open(struct sideband *sideband)
{
	struct perf_event_attr attr = sideband_announcements();
	int err = perf_open_on_cpus(&attr, "side-band", &sideband->events);

	if (err)
		return err;
	vec_for_each(&sideband->events.fds, fd) {
		void *ring = sideband_map_ring(*fd);

		if (ring == MAP_FAILED)
			return fail_to_map(errno);
		vec_push(&sideband->rings, ring);
		vec_push(&sideband->enabled_ns, UINT64_MAX);
	}
	return 0;
}

void sideband_read_ring(struct sideband *sideband, void *ring)
{
	struct perf_event_mmap_page *control = ring;
	const char *data = (const char *)ring + sysconf(_SC_PAGESIZE);
	uint64_t head = __atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = control->data_tail;
	_Alignas(8) char buffer[UINT16_MAX + 1]; /* a record's size is a u16 */

	while (tail < head) {
		size_t at = tail % RING_BYTES;
		const struct perf_event_header *header = (const void *)(data + at);
		size_t size = header->size; /* headers are 8-byte aligned: they do not wrap */
		struct sideband_pending pending = {.arrival = sideband->nr_read++};
		const struct sideband_trailer *trailer;

		if (size < sizeof(*header) + sizeof(*trailer))
			break;
		if (at + size > RING_BYTES) {
			memcpy(buffer, data + at, RING_BYTES - at);
			memcpy(buffer + (RING_BYTES - at), data, size - (RING_BYTES - at));
			header = (const void *)buffer;
		}
		trailer = sideband_trailer(header);
		pending.event.time_ns = trailer->time;
		if (sideband_parse(sideband, header, trailer, &pending.event))
			vec_push(&sideband->pending.events, pending);
		tail += size;
	}
	__atomic_store_n(&control->data_tail, head, __ATOMIC_RELEASE);
}

/* Every ring that there is. */
static void read_rings(struct sideband *sideband)
{
	vec_for_each(&sideband->rings, ring)
		if (*ring)
			sideband_read_ring(sideband, *ring);
}

/* Records of one CPU are in order already, and may share a nanosecond: the order of arrival decides. */
static int compare_time(const void *a, const void *b)
{
	const struct sideband_pending *x = a, *y = b;

	if (x->event.time_ns != y->event.time_ns)
		return x->event.time_ns < y->event.time_ns ? -1 : 1;
	return x->arrival < y->arrival ? -1 : 1;
}

static void batch_release(struct sideband_batch *batch)
{
	vec_release(&batch->events);
	arena_release(&batch->arena);
}

/* Puts the events of a batch from there on, and their strings, back for the next drain. */
static void keep_from(struct sideband *sideband, const struct sideband_batch *batch, size_t first)
{
	for (size_t i = first; i < batch->events.nr; i++) {
		struct sideband_pending kept = batch->events.at[i];
		struct task_event *event = &kept.event;

		if (event->kind == TASK_MAP)
			event->map.path = arena_strndup(&sideband->pending.arena, event->map.path,
							strlen(event->map.path));
		if (event->kind == KERNEL_CODE_CAME || event->kind == KERNEL_CODE_WENT)
			event->code.name = arena_strndup(&sideband->pending.arena, event->code.name,
							 strlen(event->code.name));
		vec_push(&sideband->pending.events, kept);
	}
}

void sideband_gather(struct sideband *sideband)
{
	if (sideband->pending.events.nr >= GATHER_MAX_EVENTS ||
	    sideband->pending.text_bytes >= GATHER_MAX_TEXT_BYTES)
		return;
	read_rings(sideband);
}

/*
 * The rings are read one after another. If a process is forked on a CPU whose ring was read already,
 * and execs on one whose ring was not, the exec must not come before the fork: so what happened while
 * they were read is for the next time.
 */
void sideband_drain(struct sideband *sideband,
		    void (*deliver)(void *ctx, const struct task_event *event), void *ctx)
{
	uint64_t began_ns = clock_monotonic_ns();
	struct sideband_batch batch;
	size_t nr = 0;

	read_rings(sideband);
	batch = sideband->pending;
	sideband->pending = (struct sideband_batch){0};
	if (batch.events.nr)
		qsort(batch.events.at, batch.events.nr, sizeof(*batch.events.at), compare_time);
	while (nr < batch.events.nr && batch.events.at[nr].event.time_ns <= began_ns)
		deliver(ctx, &batch.events.at[nr++].event);
	keep_from(sideband, &batch, nr);
	batch_release(&batch);
}

void sideband_release(struct sideband *sideband)
{
	vec_for_each(&sideband->rings, ring)
		if (*ring)
			munmap(*ring, sideband_ring_bytes());
	vec_release(&sideband->rings);
	vec_release(&sideband->enabled_ns);
	vec_release(&sideband->refused_cpus);
	batch_release(&sideband->pending);
	perf_fds_release(&sideband->events);
}
