// SPDX-License-Identifier: BSD-2-Clause
/*
 * The ring of a perf event: a control page, then 2^n data pages. The kernel moves data_head forward,
 * we move data_tail; both only grow, and a record starts at its position modulo the size and may wrap.
 *
 *	control page | .... [header|body|trailer] ....
 *	                    ^data_tail            ^data_head
 *
 * With sample_id_all every record that is not a sample ends in a trailer of the fields that
 * sample_type asks for, here u32 pid, u32 tid, u64 time. Source: perf_event_open(2).
 */
#include "collect/sideband.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/smallfile.h"

/* A CPU that execs 2,000 programs a second writes 5 MB of events in that time: 0.2 s of it. */
#define RING_BYTES (1024 * 1024)
/* Beyond that the rings are left to overflow, which is counted: memory is limited, too. */
#define GATHER_MAX_EVENTS     (256u << 10)
#define GATHER_MAX_TEXT_BYTES (32u << 20) /* of paths, which can be 4 KB each */

#define LOOK_EVERY_NS (NSEC_PER_SEC / 2)

struct trailer {
	uint32_t pid, tid;
	uint64_t time;
};

/* The bodies, as the kernel writes them behind struct perf_event_header. */
struct fork_body { /* and exit */
	uint32_t pid, ppid, tid, ptid;
	uint64_t time;
};

struct comm_body {
	uint32_t pid, tid;
	char comm[];
};

struct mmap2_body {
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	uint32_t maj, min;
	uint64_t ino, ino_generation;
	uint32_t prot, flags;
	char filename[];
};

struct lost_body {
	uint64_t id, lost;
};

struct ksymbol_body {
	uint64_t addr;
	uint32_t len;
	uint16_t type, flags;
	char name[]; /* padded with NULs to 8 bytes */
};

static size_t ring_bytes(void)
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

static struct perf_event_attr announcements(void)
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

static void *map_ring(int fd)
{
	return mmap(NULL, ring_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

int sideband_open(struct sideband *sideband)
{
	struct perf_event_attr attr = announcements();
	int err = perf_open_on_cpus(&attr, "side-band", &sideband->events);

	if (err)
		return err;
	vec_for_each(&sideband->events.fds, fd) {
		void *ring = map_ring(*fd);

		if (ring == MAP_FAILED)
			return fail_to_map(errno);
		vec_push(&sideband->rings, ring);
		vec_push(&sideband->enabled_ns, UINT64_MAX);
	}
	return 0;
}

/* A copy of the text in a record's body, which ends at limit at the latest. */
static const char *copy_text(struct sideband *sideband, const char *text, const void *limit)
{
	size_t len = strnlen(text, (const char *)limit - text);

	sideband->pending.text_bytes += len;
	return arena_strndup(&sideband->pending.arena, text, len);
}

static void copy_comm(char *to, const char *comm, const void *limit)
{
	size_t len = strnlen(comm, (const char *)limit - comm);

	memcpy(to, comm, len < COMM_BYTES ? len : COMM_BYTES - 1);
}

/*
 * Fills in the event of one record; false: it says nothing of interest. end is where its trailer
 * begins.
 */
static bool parse_record(struct sideband *sideband, const struct perf_event_header *header,
			 const void *end, struct task_event *event)
{
	const struct mmap2_body *map = (const void *)(header + 1);
	const struct fork_body *task = (const void *)(header + 1);
	const struct comm_body *comm = (const void *)(header + 1);
	const struct lost_body *lost = (const void *)(header + 1);
	const struct ksymbol_body *symbol = (const void *)(header + 1);

	event->tgid = task->pid; /* the bodies of tasks begin with it */
	switch (header->type) {
	case PERF_RECORD_MMAP2:
		if (!(map->prot & PROT_EXEC))
			return false;
		event->kind = TASK_MAP;
		event->tid = map->tid;
		event->map = (struct map_event){
			.start = map->addr,
			.limit = map->addr + map->len,
			.file_off = map->pgoff,
			.dev_major = map->maj,
			.dev_minor = map->min,
			.inode = map->ino,
			.path = copy_text(sideband, map->filename, end),
		};
		return true;
	case PERF_RECORD_COMM:
		event->kind = header->misc & PERF_RECORD_MISC_COMM_EXEC ? TASK_EXEC : TASK_COMM;
		event->tid = comm->tid;
		copy_comm(event->comm, comm->comm, end);
		return true;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		event->kind = header->type == PERF_RECORD_FORK ? TASK_FORK : TASK_EXIT;
		event->tid = task->tid;
		event->parent_tgid = task->ppid;
		/* A new thread has its creator's pid. */
		return header->type == PERF_RECORD_EXIT || task->pid != task->ppid;
	case PERF_RECORD_KSYMBOL:
		event->kind = symbol->flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER
				      ? KERNEL_CODE_WENT
				      : KERNEL_CODE_CAME;
		event->tgid = 0;
		event->code = (struct kernel_code){
			.start = symbol->addr,
			.limit = symbol->addr + symbol->len,
			.name = copy_text(sideband, symbol->name, end),
		};
		return symbol->len && event->code.start < event->code.limit;
	case PERF_RECORD_LOST:
		event->kind = TASK_LOST;
		event->tgid = 0;
		event->nr_lost = lost->lost;
		sideband->nr_lost += lost->lost;
		return true;
	default:
		return false;
	}
}

/*
 * Where a record's trailer is. At its end, but for a KSYMBOL: where several events of a CPU ask for these, each next record
 * has the size of the one before and a trailer more, and what is behind its own trailer was never written
 * (kernel/events/core.c: perf_event_ksymbol_output() adds to the header that they share).
 */
static const struct trailer *trailer_of(const struct perf_event_header *header)
{
	const char *last = (const char *)header + header->size - sizeof(struct trailer);
	const struct ksymbol_body *symbol = (const void *)(header + 1);
	const char *behind;

	if (header->type != PERF_RECORD_KSYMBOL || last < symbol->name)
		return (const void *)last;
	behind = symbol->name + (strnlen(symbol->name, last - symbol->name) / 8 + 1) * 8;
	return (const void *)(behind < last ? behind : last);
}

static void read_ring(struct sideband *sideband, void *ring)
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
		const struct trailer *trailer;

		if (size < sizeof(*header) + sizeof(*trailer))
			break;
		if (at + size > RING_BYTES) {
			memcpy(buffer, data + at, RING_BYTES - at);
			memcpy(buffer + (RING_BYTES - at), data, size - (RING_BYTES - at));
			header = (const void *)buffer;
		}
		trailer = trailer_of(header);
		pending.event.time_ns = trailer->time;
		if (parse_record(sideband, header, trailer, &pending.event))
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
			read_ring(sideband, *ring);
}

/* CPUs that come and go --------------------------------------------------------------------------- */

/* Has the event's own clock stood still since the last look? */
static bool stands_still(struct sideband *sideband, size_t i)
{
	uint64_t values[2] = {0}, before_ns = sideband->enabled_ns.at[i];

	if (read(sideband->events.fds.at[i], values, sizeof(values)) != sizeof(values))
		return true;
	sideband->enabled_ns.at[i] = values[1];
	return values[1] == before_ns;
}

/* What happened on a CPU while nobody listened there is not known. */
static void note_loss(struct sideband *sideband)
{
	struct sideband_pending lost = {.arrival = sideband->nr_read++};

	lost.event.kind = TASK_LOST;
	lost.event.time_ns = clock_monotonic_ns();
	vec_push(&sideband->pending.events, lost);
}

static void close_ring(struct sideband *sideband, size_t at)
{
	if (!sideband->rings.at[at])
		return;
	read_ring(sideband, sideband->rings.at[at]);
	munmap(sideband->rings.at[at], ring_bytes());
	sideband->rings.at[at] = NULL;
}

/* Puts a descriptor and its ring in the place of the CPU's: at; that behind the last one: it is new. */
static void put(struct sideband *sideband, size_t at, int cpu, int fd, void *ring)
{
	if (at < sideband->events.fds.nr) {
		close(sideband->events.fds.at[at]);
	} else {
		vec_push(&sideband->rings, NULL);
		vec_push(&sideband->events.fds, -1);
		vec_push(&sideband->events.cpus, cpu);
		vec_push(&sideband->enabled_ns, 0);
	}
	sideband->rings.at[at] = ring;
	sideband->events.fds.at[at] = fd;
	sideband->enabled_ns.at[at] = UINT64_MAX;
}

/* The kernel looks at descriptors and privileges before it looks at the CPU. */
static bool is_online(int cpu)
{
	char list[4096], *rest = list, *range;

	if (!smallfile_line("/sys/devices/system/cpu/online", list, sizeof(list)))
		return true;
	while ((range = strsep(&rest, ","))) { /* "0-3", "5" */
		int first, last, nr = sscanf(range, "%d-%d", &first, &last);

		if (nr > 0 && cpu >= first && cpu <= (nr > 1 ? last : first))
			return true;
	}
	return false;
}

/* at: as for put(). -ENODEV: the CPU is offline. */
static int reopen(struct sideband *sideband, size_t at, int cpu)
{
	struct perf_event_attr attr = announcements();
	int fd = perf_open_on_cpu(&attr, cpu);
	void *ring;

	if (fd < 0)
		return is_online(cpu) ? fd : -ENODEV;
	/* First the old one: both together may be more than this user may lock. */
	if (at < sideband->events.fds.nr)
		close_ring(sideband, at);
	ring = map_ring(fd);
	if (ring == MAP_FAILED) {
		int err = -errno;

		close(fd);
		return err;
	}
	put(sideband, at, cpu, fd, ring);
	note_loss(sideband);
	return 0;
}

/* Whether this is the first time, or it was opened since. */
static bool is_news(struct sideband *sideband, int cpu, int err)
{
	vec_for_each(&sideband->refused_cpus, refused) {
		if (*refused != cpu)
			continue;
		if (!err)
			*refused = sideband->refused_cpus.at[--sideband->refused_cpus.nr];
		return !err;
	}
	if (err)
		vec_push(&sideband->refused_cpus, cpu);
	return true;
}

unsigned int sideband_look(struct sideband *sideband, void (*on_cpu)(void *ctx, int cpu, int err),
			   void *ctx)
{
	uint64_t now_ns = clock_monotonic_ns();
	int nr_cpus = libbpf_num_possible_cpus();
	unsigned int nr = 0;

	if (now_ns < sideband->next_look_ns)
		return 0;
	sideband->next_look_ns = now_ns + LOOK_EVERY_NS;
	for (int cpu = 0; cpu < nr_cpus; cpu++) {
		int at = perf_fds_find(&sideband->events, cpu), err;

		if (at >= 0 && !stands_still(sideband, at))
			continue;
		err = reopen(sideband, at < 0 ? sideband->events.fds.nr : (size_t)at, cpu);
		if (err != -ENODEV && is_news(sideband, cpu, err))
			on_cpu(ctx, cpu, err);
		nr += !err;
	}
	return nr;
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
			munmap(*ring, ring_bytes());
	vec_release(&sideband->rings);
	vec_release(&sideband->enabled_ns);
	vec_release(&sideband->refused_cpus);
	batch_release(&sideband->pending);
	perf_fds_release(&sideband->events);
}
