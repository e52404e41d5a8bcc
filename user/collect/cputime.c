// SPDX-License-Identifier: BSD-2-Clause
/*
 * A process's clock can be read by anybody (clock_getcpuclockid(3)), until its parent has waited for it. At its end BPF
 * adds all that it used since its start to one counter; what it had used before it became a target is subtracted here. Of
 * threads that end at the same time BPF may miss some: so the ended together count no less than their clocks had shown.
 * Since that is about their sum, what BPF misses of one may be hidden by what is not seen of another.
 *
 * A process that has ended, or is no target any more, is added to sums, and its place is free. The list is sorted by tgid.
 *
 * Rejected: to count at each switch of tasks, which would cost everybody.
 */
#include "collect/cputime.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/clock.h"
#include "cprof_abi.h"

/* false: there is no such process any more. */
static bool read_clock(uint32_t tgid, uint64_t *ns)
{
	struct timespec ts;

	/* the same as clock_getcpuclockid(3) */
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

static uint64_t at_least_0(uint64_t ns, uint64_t less_ns)
{
	return ns > less_ns ? ns - less_ns : 0;
}

void cputime_open(struct cputime *cputime, int targets_fd, bool all)
{
	*cputime = (struct cputime){.targets_fd = targets_fd, .all = all};
}

/* The index of tgid in the list, or the index to insert it at. */
static size_t place_of(const struct cputime *cputime, uint32_t tgid)
{
	return vec_partition(&cputime->processes, process, process->tgid < tgid);
}

static bool is_at(const struct cputime *cputime, size_t i, uint32_t tgid)
{
	return i < cputime->processes.nr && cputime->processes.at[i].tgid == tgid;
}

static void insert(struct cputime *cputime, size_t i, struct cputime_process process)
{
	vec_reserve(&cputime->processes, 1);
	memmove(&cputime->processes.at[i + 1], &cputime->processes.at[i],
		(cputime->processes.nr - i) * sizeof(process));
	cputime->processes.at[i] = process;
	cputime->processes.nr++;
}

static bool is_full(struct cputime *cputime)
{
	cputime->was_full |= cputime->processes.nr >= CPUTIME_MAX_PROCESSES;
	return cputime->processes.nr >= CPUTIME_MAX_PROCESSES;
}

void cputime_add(struct cputime *cputime, uint32_t tgid)
{
	size_t i = place_of(cputime, tgid);
	uint64_t ns;

	if (!cputime->all && !is_at(cputime, i, tgid) && !is_full(cputime) && read_clock(tgid, &ns))
		insert(cputime, i,
		       (struct cputime_process){.tgid = tgid, .first_ns = ns, .last_ns = ns});
}

/* Not one that was rejected: BPF does not count its time either. */
static bool is_target(const struct cputime *cputime, uint32_t tgid, bool *has_ended)
{
	uint8_t how = ABI_TARGET_NOW;

	*has_ended = bpf_map_lookup_elem(cputime->targets_fd, &tgid, &how) != 0;
	return !*has_ended && how != ABI_TARGET_REJECTED;
}

void cputime_begin(struct cputime *cputime, uint64_t ended_ns)
{
	size_t nr = 0;
	bool has_ended;

	cputime->ended_first_ns = ended_ns;
	cputime->seen_ended_ns = cputime->before_ns = cputime->left_ns = cputime->read_ns = 0;
	if (cputime->all)
		cputime->all_first_ns = read_all();
	vec_for_each(&cputime->processes, process) {
		if (!is_target(cputime, process->tgid, &has_ended))
			continue;
		read_clock(process->tgid, &process->first_ns);
		process->last_ns = process->first_ns;
		cputime->processes.at[nr++] = *process;
	}
	cputime->processes.nr = nr;
}

/* Children that BPF has made targets: all of their time counts, but for those that found no place at first. */
static void find_children(struct cputime *cputime)
{
	uint32_t tgid, previous;
	void *from = NULL;
	bool has_ended;

	for (int i = 0; i < CPUTIME_MAX_PROCESSES; i++) {
		uint64_t first_ns = 0;
		size_t place;

		if (bpf_map_get_next_key(cputime->targets_fd, from, &tgid) || is_full(cputime))
			return;
		previous = tgid;
		from = &previous;
		place = place_of(cputime, tgid);
		if (is_at(cputime, place, tgid) || !is_target(cputime, tgid, &has_ended))
			continue;
		if (!cputime->was_full || read_clock(tgid, &first_ns))
			insert(cputime, place,
			       (struct cputime_process){
				       .tgid = tgid, .first_ns = first_ns, .last_ns = first_ns});
	}
}

/* It has ended: BPF has counted all of its time. */
static void account_ended(struct cputime *cputime, const struct cputime_process *process)
{
	cputime->seen_ended_ns += process->last_ns - process->first_ns;
	cputime->before_ns += process->first_ns;
}

/*
 * false: it is a target no more, and is in the sums. A clock that goes back is another process's, which has got the number
 * of one that ended: a child, if it is a target.
 */
static bool look(struct cputime *cputime, struct cputime_process *process)
{
	uint64_t ns = process->last_ns;
	bool has_ended, is_in;

	read_clock(process->tgid, &ns);
	is_in = is_target(cputime, process->tgid, &has_ended);
	if (is_in && ns < process->last_ns) {
		account_ended(cputime, process);
		*process = (struct cputime_process){.tgid = process->tgid, .last_ns = ns};
	}
	if (ns > process->last_ns)
		process->last_ns = ns;
	if (has_ended)
		account_ended(cputime, process);
	else if (!is_in)
		cputime->left_ns += process->last_ns - process->first_ns;
	return is_in;
}

uint64_t cputime_read(struct cputime *cputime, uint64_t ended_ns)
{
	uint64_t live_ns = 0, counted_ns, read_ns;
	size_t nr = 0;

	if (cputime->all)
		return at_least_0(read_all(), cputime->all_first_ns);
	find_children(cputime);
	vec_for_each(&cputime->processes, process) {
		if (!look(cputime, process))
			continue;
		live_ns += process->last_ns - process->first_ns;
		cputime->processes.at[nr++] = *process;
	}
	cputime->processes.nr = nr;
	counted_ns = at_least_0(at_least_0(ended_ns, cputime->ended_first_ns), cputime->before_ns);
	if (counted_ns < cputime->seen_ended_ns)
		counted_ns = cputime->seen_ended_ns;
	read_ns = live_ns + cputime->left_ns + counted_ns;
	/* One may have ended between BPF's counter and its clock: time does not go back. */
	if (read_ns > cputime->read_ns)
		cputime->read_ns = read_ns;
	return cputime->read_ns;
}

void cputime_release(struct cputime *cputime)
{
	vec_release(&cputime->processes);
}
