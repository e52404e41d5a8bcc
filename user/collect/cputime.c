// SPDX-License-Identifier: BSD-2-Clause
/*
 * A process's clock can be read by anybody (clock_getcpuclockid(3)), until its parent has waited for it. At its end BPF
 * counts all that it used since its start; what it had used before it became a target is subtracted here. Of threads that
 * end at the same time BPF may miss some, so no process counts less than at the last look.
 *
 * Rejected: to count at each switch of tasks, which would cost everybody.
 */
#include "collect/cputime.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/clock.h"

#define MAX_LOOKED_AT 4096 /* processes: of more the CPU time is an underestimate until they end */

/* false: there is no such process any more. */
static bool read_clock(uint32_t tgid, uint64_t *ns)
{
	struct timespec ts;

	/* As clock_getcpuclockid(3) does it. */
	if (clock_gettime((clockid_t)(~tgid << 3 | 2), &ts))
		return false;
	*ns = (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
	return true;
}

/* User and system time of all CPUs. */
static uint64_t read_all(void)
{
	unsigned long user = 0, low = 0, kernel = 0;
	FILE *file = fopen("/proc/stat", "re");

	if (!file)
		return 0;
	if (fscanf(file, "cpu %lu %lu %lu", &user, &low, &kernel) != 3)
		user = low = kernel = 0;
	fclose(file);
	return (user + low + kernel) * (NSEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK));
}

void cputime_open(struct cputime *cputime, int targets_fd, bool all)
{
	*cputime = (struct cputime){.targets_fd = targets_fd, .all = all};
}

static struct cputime_process *find(const struct cputime *cputime, uint32_t tgid)
{
	vec_for_each(&cputime->processes, process)
		if (process->tgid == tgid && !process->has_ended)
			return process;
	return NULL;
}

static void add(struct cputime *cputime, uint32_t tgid, uint64_t first_ns)
{
	if (!cputime->all && cputime->processes.nr < MAX_LOOKED_AT && !find(cputime, tgid))
		vec_push(&cputime->processes,
			 ((struct cputime_process){
				 .tgid = tgid, .first_ns = first_ns, .last_ns = first_ns}));
}

void cputime_add(struct cputime *cputime, uint32_t tgid)
{
	uint64_t first_ns;

	if (read_clock(tgid, &first_ns))
		add(cputime, tgid, first_ns);
}

void cputime_begin(struct cputime *cputime, uint64_t ended_ns)
{
	cputime->ended_first_ns = ended_ns;
	if (cputime->all)
		cputime->all_first_ns = read_all();
	vec_for_each(&cputime->processes, process) {
		if (process->has_ended) /* before */
			process->first_ns = 0;
		else
			read_clock(process->tgid, &process->first_ns);
		process->last_ns = process->first_ns;
	}
}

/* Children that BPF has made targets: all of their time counts. */
static void find_children(struct cputime *cputime)
{
	uint32_t tgid, previous;
	void *from = NULL;

	for (int i = 0; i < MAX_LOOKED_AT; i++) {
		if (bpf_map_get_next_key(cputime->targets_fd, from, &tgid))
			return;
		add(cputime, tgid, 0);
		previous = tgid;
		from = &previous;
	}
}

static void look(struct cputime *cputime, struct cputime_process *process)
{
	uint8_t how;

	if (process->has_ended)
		return;
	process->has_ended = bpf_map_lookup_elem(cputime->targets_fd, &process->tgid, &how) != 0;
	read_clock(process->tgid, &process->last_ns);
}

uint64_t cputime_read(struct cputime *cputime, uint64_t ended_ns)
{
	uint64_t live_ns = 0, seen_ended_ns = 0, before_ns = 0, counted_ns;

	if (cputime->all)
		return read_all() - cputime->all_first_ns;
	find_children(cputime);
	vec_for_each(&cputime->processes, process) {
		uint64_t used_ns;

		look(cputime, process);
		used_ns = process->last_ns - process->first_ns;
		*(process->has_ended ? &seen_ended_ns : &live_ns) += used_ns;
		before_ns += process->has_ended ? process->first_ns : 0;
	}
	counted_ns = ended_ns - cputime->ended_first_ns;
	counted_ns = counted_ns > before_ns ? counted_ns - before_ns : 0;
	return live_ns + (counted_ns > seen_ended_ns ? counted_ns : seen_ended_ns);
}

void cputime_release(struct cputime *cputime)
{
	vec_release(&cputime->processes);
}
