// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a session does once session_open.c has loaded and attached it. Most functions hand on to the part of the session that
 * they are about. The one order that matters is that of a drain (drain.c says why): collect, side-band, deliver; what has ended
 * is swept last.
 */
#include "collect/session_state.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "collect/lives.h"
#include "collect/tally.h"

#define GATHER_EVERY_NS (NSEC_PER_SEC / 100)

/* Said once, and at the end how many they were. */
static int leave_out(struct session *session)
{
	if (!session->nr_left_out++)
		warn("no more than %s processes can be chosen at a time: the others are left out. "
		     "-a has no such limit.",
		     text_count(bpf_map__max_entries(session->bpf->maps.targets)));
	return -E2BIG;
}

int session_add_target(struct session *session, uint32_t tgid, bool after_exec)
{
	uint8_t when = after_exec ? ABI_TARGET_AFTER_EXEC : ABI_TARGET_NOW;
	int err =
		bpf_map_update_elem(bpf_map__fd(session->bpf->maps.targets), &tgid, &when, BPF_ANY);

	if (err == -E2BIG)
		return leave_out(session);
	if (!err && session->options.source == SESSION_HEAP)
		cputime_add(&session->cputime, tgid);
	return err ? fail(err, "cannot add process %u to the targets", tgid) : 0;
}

int session_reject(struct session *session, uint32_t tgid)
{
	uint8_t rejected = ABI_TARGET_REJECTED;

	return bpf_map_update_elem(bpf_map__fd(session->bpf->maps.targets), &tgid, &rejected,
				   BPF_ANY);
}

void session_forget_target(struct session *session, uint32_t tgid)
{
	bpf_map_delete_elem(bpf_map__fd(session->bpf->maps.targets), &tgid);
}

int session_probe(struct session *session, const struct alloc_site *sites, size_t nr, int fd,
		  uint32_t tgid)
{
	return uprobes_attach(&session->uprobes, session->bpf, sites, nr, fd, tgid);
}

int session_probe_more(struct session *session)
{
	return uprobes_go_on(&session->uprobes, session->bpf);
}

uint32_t session_max_files(const struct session *session)
{
	return uprobes_max_files(&session->uprobes);
}

uint32_t session_max_blocks(const struct session *session)
{
	const struct cprof_bpf *bpf = session->bpf;
	uint32_t nr = bpf_map__max_entries(bpf->maps.live);

	return bpf->rodata->config.live_grows ? nr + bpf_map__max_entries(bpf->maps.live_more) : nr;
}

int session_add_table(struct session *session, const struct table_image *image, uint32_t *table)
{
	return tables_add(&session->tables, image, table);
}

void session_remove_table(struct session *session, uint32_t table)
{
	tables_remove(&session->tables, table);
}

int session_set_vmas(struct session *session, uint32_t tgid, const struct unwind_vma *vmas,
		     uint32_t nr, uint32_t runtime, struct jvm_counters counters,
		     struct vma_run *run)
{
	return tables_set_process(&session->tables, tgid, vmas, nr, runtime, counters, run);
}

void session_forget_vmas(struct session *session, uint32_t tgid, struct vma_run *run)
{
	tables_remove_process(&session->tables, tgid, run);
}

int session_add_runtime(struct session *session, enum abi_runtime kind,
			const union abi_layout *layout, uint32_t *runtime)
{
	return session->options.no_runtimes[kind]
		       ? -ENOTSUP
		       : runtimes_add(&session->runtimes, kind, layout, runtime);
}

void session_remove_runtime(struct session *session, uint32_t runtime)
{
	runtimes_remove(&session->runtimes, runtime);
}

/* The CPU time of targets that have ended, as BPF counts it. */
static uint64_t ended_ns(const struct session *session)
{
	struct tally tally = {0};

	tally_read(bpf_map__fd(session->bpf->maps.stats), -1, &tally);
	return tally.ended_ns;
}

#define LOOK_NS	     (NSEC_PER_SEC / 10)
#define LONG_LOOK_NS NSEC_PER_SEC   /* where others keep the target from the CPUs */
#define PAUSE_NS     (LOOK_NS / 20) /* between looks at whether the user gives up */
#define MOST_ASKED   16		    /* of the targets at a time, whether they are runnable */

/* What the targets did since the look began. */
static void read_look(struct session *session, struct overhead *expected)
{
	struct tally tally = {0};

	tally_read(bpf_map__fd(session->bpf->maps.stats), -1, &tally);
	price_expect(&session->price, tally.nr_looked, session->options.allocs_only, expected);
	expected->cpu_ns = cputime_read(&session->cputime, tally.ended_ns);
}

/* The next of the targets, of which *at were asked before. */
static bool is_any(const struct session *session, bool (*is_runnable)(uint32_t tgid), size_t *at)
{
	size_t nr = session->cputime.processes.nr;

	for (size_t i = 0; i < nr && i < MOST_ASKED; i++)
		if (is_runnable(session->cputime.processes.at[(*at)++ % nr].tgid))
			return true;
	return false;
}

uint64_t session_look(struct session *session, bool (*gives_up)(void),
		      bool (*is_runnable)(uint32_t tgid), struct overhead *expected)
{
	uint64_t began_ns = clock_monotonic_ns(), now_ns = began_ns, due_ns = began_ns + LOOK_NS;
	size_t nr_asked = 0;

	cputime_begin(&session->cputime, ended_ns(session));
	session->bpf->bss->stopped = ABI_LOOKS;
	while (now_ns < due_ns && !gives_up()) {
		nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
		session_gather(session);
		now_ns = clock_monotonic_ns();
		if (now_ns < due_ns || now_ns - began_ns >= LONG_LOOK_NS)
			continue;
		read_look(session, expected);
		if (expected->cpu_ns < OVERHEAD_LEAST_CPU_NS &&
		    is_any(session, is_runnable, &nr_asked))
			due_ns = clock_monotonic_ns() + LOOK_NS;
	}
	session->bpf->bss->stopped = ABI_STOPPED;
	read_look(session, expected);
	return clock_monotonic_ns() - began_ns;
}

int session_start(struct session *session)
{
	if (session->options.source == SESSION_HEAP)
		cputime_begin(&session->cputime, ended_ns(session));
	session->bpf->bss->stopped = ABI_RUNS;
	return session->options.source == SESSION_CPU ? sampler_enable(&session->sampler) : 0;
}

void session_stop(struct session *session)
{
	if (session->options.source == SESSION_HEAP && !session->bpf->bss->stopped) {
		session->cpu_ns = cputime_read(&session->cputime, ended_ns(session));
		price_detail(&session->price);
	}
	session->bpf->bss->stopped = ABI_STOPPED;
	sampler_disable(&session->sampler);
}

void session_detach(struct session *session)
{
	int err = session->options.source == SESSION_HEAP ? uprobes_release(&session->uprobes) : 0;

	if (err == -EINPROGRESS)
		warn("the kernel is still placing or removing probes: a process that maps one of "
		     "the probed files keeps its memory locked (SANDBOX in cprof-heap(1)).");
	else if (err)
		warn("the process that held the probes was killed: what was allocated since is "
		     "not in the profile");
}

int session_fd(const struct session *session)
{
	return session->epoll_fd;
}

/* Forgets the wake-ups so far: what they announced is about to be read. */
static void clear_wakeups(struct session *session)
{
	struct epoll_event events[16];

	while (epoll_wait(session->epoll_fd, events, 16, 0) == 16)
		;
}

void session_gather(struct session *session)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (now_ns < session->gather_ns)
		return;
	session->gather_ns = now_ns + GATHER_EVERY_NS;
	if (session->options.source == SESSION_HEAP && session->bpf->bss->stopped != ABI_STOPPED)
		price_refine(&session->price);
	sideband_gather(&session->sideband);
}

/* Of a CPU that is online again: why it is not listened to. */
static void say_refused(const struct session *session, int cpu, int err)
{
	warn("CPU %d is online again, and %s: %s%s", cpu,
	     session->options.source == SESSION_CPU ? "cannot be sampled"
						    : "its process events cannot be read",
	     strerror(-err),
	     err == -EPERM    ? " (raise kernel.perf_event_mlock_kb, or grant CAP_IPC_LOCK)"
	     : err == -EMFILE ? " (raise the limit, ulimit -n)"
			      : "");
}

/* An event that stands still counts nothing, without a word from the kernel. Probes are of no CPU: heap misses nothing. */
static void on_cpu(void *ctx, int cpu, int err)
{
	struct session *session = ctx;
	bool is_cpu = session->options.source == SESSION_CPU;
	int at = perf_fds_find(&session->sideband.events, cpu);

	if (!err && is_cpu && !session->bpf->bss->stopped)
		err = sampler_reopen(&session->sampler, cpu);
	if (!err)
		err = session_watch(session, session->sideband.events.fds.at[at]);
	if (err)
		say_refused(session, cpu, err);
	else if (is_cpu)
		warn("CPU %d is online again: what ran there in between is not in the profile",
		     cpu);
	else
		detail("CPU %d is online again: nothing is missing but process events, and what "
		       "they said is read anew",
		       cpu);
}

static void settle(struct session *session)
{
	tables_settle(&session->tables);
	runtimes_settle(&session->runtimes);
}

int session_drain(struct session *session, const struct session_sink *sink, bool events_only)
{
	bool is_last = session->bpf->bss->stopped;
	int err;

	clear_wakeups(session);
	sideband_look(&session->sideband, on_cpu, session);
	if (!events_only)
		purge_notice(&session->purge);
	err = events_only ? 0 : drain_collect(&session->drain, is_last);

	/* The wait in drain_collect() was a grace period. */
	if (!err && !events_only)
		settle(session);
	sideband_drain(&session->sideband, sink->event, sink->ctx);
	if (err || events_only)
		return err;
	err = drain_deliver(&session->drain, sink);
	if (!err && session->options.keeps_lives)
		lives_deliver_peaks(bpf_map__fd(session->bpf->maps.peaks), sink);
	if (!err &&
	    purge_sweep(&session->purge, session->options.keeps_lives ? sink : NULL, is_last))
		detail("the blocks of processes that ended cannot be swept");
	return err;
}

void session_each_block(struct session *session, const struct session_sink *sink)
{
	if (session->options.keeps_lives)
		purge_each_live(&session->purge, sink);
}

void session_absorb(struct session *session)
{
	drain_absorb(&session->drain);
}

void session_tally(struct session *session, struct tally *tally)
{
	struct cprof_bpf *bpf = session->bpf;
	bool blocks = session->options.source == SESSION_HEAP && bpf->bss->stopped;

	*tally = (struct tally){0};
	if (tally_read(bpf_map__fd(bpf->maps.stats), blocks ? bpf_map__fd(bpf->maps.inflight) : -1,
		       tally))
		warn("the kernel's counters cannot be read: the accounting below is not complete");
	if (blocks)
		tally->nr_live += purge_count_live(&session->purge);
	tally->nr_left += session->purge.nr_left;
	tally->nr_purged += session->purge.nr_purged;
	/* Reading an event interrupts its CPU: not at every status line. */
	if (bpf->bss->stopped)
		tally->nr_expected = sampler_expected(&session->sampler);
	tally->nr_events_lost = session->sideband.nr_lost;
	tally->nr_left_out = session->nr_left_out;
	if (session->options.source != SESSION_HEAP)
		return;
	price_apply(&session->price, tally, &tally->overhead);
	tally->overhead.cpu_ns = bpf->bss->stopped
					 ? session->cpu_ns
					 : cputime_read(&session->cputime, tally->ended_ns);
}
