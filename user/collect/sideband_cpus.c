// SPDX-License-Identifier: BSD-2-Clause
/*
 * CPUs that come and go. The clock of an event whose CPU goes offline stands still, and stays so when the CPU is online again:
 * then the event is opened anew.
 */
#include "collect/sideband_state.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "base/clock.h"
#include "base/smallfile.h"

#define LOOK_EVERY_NS (NSEC_PER_SEC / 2)

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
	sideband_read_ring(sideband, sideband->rings.at[at]);
	munmap(sideband->rings.at[at], sideband_ring_bytes());
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
	struct perf_event_attr attr = sideband_announcements();
	int fd = perf_open_on_cpu(&attr, cpu);
	void *ring;

	if (fd < 0)
		return is_online(cpu) ? fd : -ENODEV;
	/* First the old one: both together may be more than this user may lock. */
	if (at < sideband->events.fds.nr)
		close_ring(sideband, at);
	ring = sideband_map_ring(fd);
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
