// SPDX-License-Identifier: BSD-2-Clause
/*
 * The loop of a run: wait, drain, write what is due, until the time is up, the targets are gone or the user
 * interrupts. A drain can last for seconds when much new code is mapped, so the end of the run is also looked for
 * inside it (look_up_from_work(), called through the work budget): sampling stops on time, however late the drain ends.
 */
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/smallfile.h"
#include "base/text.h"
#include "base/thread.h"
#include "base/vec.h"
#include "record/interrupt.h"
#include "record/priority.h"
#include "record/run_state.h"

#define READ_EVERY_NS (NSEC_PER_SEC / 500)

static void stop_sampling(struct run *run)
{
	if (run->stopped_ns)
		return;
	session_stop(run->session);
	run->stopped_ns = clock_monotonic_ns();
}

/* Ends sampling. From now on a budget limits the work of finishing what was sampled. */
static void stop(struct run *run)
{
	if (run->budget.only_needed)
		return;
	stop_sampling(run);
	run->budget.only_needed = true;
	files_until(run->files, run_is_time_up, &run->budget);
	workbudget_limit(&run->budget, WORKBUDGET_END_NS, interrupt_insisted);
}

static bool is_to_end(const struct run *run)
{
	return interrupt_seen() || clock_monotonic_ns() >= run->schedule.end_ns;
}

/* A drain may last: the end does not wait for it. */
static void look_up_from_work(void *ctx)
{
	struct run *run = ctx;

	session_gather(run->session);
	if (is_to_end(run))
		stop(run);
}

/* 0: there is not exactly one, or it is a launched command. */
static uint32_t the_target(const struct run *run)
{
	return run->targets.all.nr == 1 && !run->options->child_is_target
		       ? run->targets.all.at[0].tgid
		       : 0;
}

static void set_limit(struct run *run)
{
	struct overhead_limit *limit = &run->limit;
	long nr_cpus = sysconf(_SC_NPROCESSORS_ONLN);

	*limit = (struct overhead_limit){.percent = run_is_heap(run) ? run->options->max_overhead
								     : 100,
					 .begin_ns = run->schedule.started_ns};
	if (limit->percent >= 100 || !run->options->all)
		return;
	limit->nr_cpus = nr_cpus > 0 ? (uint32_t)nr_cpus : 1;
	say("sampling stops if it takes more than %.0f %% of the time of all CPUs for some seconds "
	    "(--max-overhead 100: it does not)",
	    limit->percent);
}

int run_start(struct run *run)
{
	nosamples_begin(&run->nosamples, PROC, the_target(run), !run_follows_forks(run));
	workbudget_unlimit(&run->budget);
	interrupt_set_phase(INTERRUPT_COLLECTED);
	if (session_start(run->session))
		return EXIT_CANNOT;
	priority_settle();
	schedule_start(&run->schedule, run->options, clock_monotonic_ns());
	writer_init(&run->writer, run->options, &run->outpath, run->builder,
		    run->schedule.started_ns);
	if (run->options->views & OPTIONS_VIEW_LEAKS)
		builder_keep_timelines(run->builder, run->schedule.started_ns);
	run->realtime_offset_ns = clock_realtime_offset_ns();
	run->suspended_ns = clock_suspended_ns();
	set_limit(run);
	run->budget.look = look_up_from_work;
	run->budget.ctx = run;
	detail("sampling %s", run_is_heap(run) ? "malloc and free" : "stacks on the CPU");
	if (!run->child.pid)
		return EXIT_DONE;
	run->is_released = true;
	return child_release(&run->child, run->options->child_argv[0], interrupt_seen) ? EXIT_USAGE
										       : EXIT_DONE;
}

#define MAX_CLOCK_JUMPS 3 /* messages a run: a machine may step its clock every second */

/* The run goes by CLOCK_MONOTONIC: only what a profile says about when it was taken is that of another clock. */
static void look_at_clock(struct run *run)
{
	int64_t offset_ns = clock_realtime_offset_ns();
	int64_t set_by_ns = offset_ns - run->realtime_offset_ns;

	run->realtime_offset_ns = offset_ns;
	if (set_by_ns < (int64_t)NSEC_PER_SEC && set_by_ns > -(int64_t)NSEC_PER_SEC)
		return;
	if (run->nr_clock_jumps++ < MAX_CLOCK_JUMPS)
		say("the system's clock was set by %+.0f s during the run: profiles go on by the "
		    "time of the start, and durations and -d are not affected",
		    set_by_ns / 1e9);
}

/* CLOCK_MONOTONIC, by which a run goes, stands still meanwhile. */
static void look_at_suspension(struct run *run)
{
	uint64_t before_ns = run->suspended_ns;

	run->suspended_ns = clock_suspended_ns();
	if (run->suspended_ns >= before_ns + NSEC_PER_SEC / 2)
		warn("the machine was suspended for %.1f s: no profile has that time, nor does -d "
		     "count it",
		     (run->suspended_ns - before_ns) / 1e9);
}

/*
 * The kernel leaves out ticks of a rate above its limit, which it lowers itself where ticks take long. It may rise again before
 * the end.
 */
static void look_at_rate(struct run *run)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint32_t hz = run->options->frequency_hz;
	long limit;

	if (run_is_heap(run) || run->is_throttled ||
	    (!run->stopped_ns && now_ns < run->rate_looked_ns + NSEC_PER_SEC))
		return;
	run->rate_looked_ns = now_ns;
	limit = smallfile_number("/proc/sys/kernel/perf_event_max_sample_rate", hz);
	run->is_throttled = limit < hz;
	if (run->is_throttled)
		warn("the kernel's limit fell to %ld ticks a second during the run "
		     "(kernel.perf_event_max_sample_rate), below -F %u: ticks are missing, and "
		     "times are too low. Use -F %ld.",
		     limit, hz, limit);
}

static int drain(struct run *run)
{
	uint64_t began_ns = clock_monotonic_ns();
	int err, code = run_probe_more(run);
	bool is_new;

	err = dispatch_drain(&run->dispatch, &is_new);
	if (run->options->all || targetset_judges(&run->targetset))
		tasks_prune(run->tasks, run->schedule.drained_ns);
	targetset_review(&run->targetset, began_ns);
	schedule_drained(&run->schedule, began_ns, is_new);
	vec_for_each(&run->targets.all, target)
		writer_look(&run->writer, target->tgid);
	priority_look();
	look_at_clock(run);
	look_at_suspension(run);
	look_at_rate(run);
	return err ? EXIT_CANNOT : code;
}

static void look_at_live_blocks(struct run *run, const struct tally *tally)
{
	if (run_is_heap(run) && !run->options->allocs_only)
		liveblocks_look(&run->liveblocks, tally);
}

/* At most once a second. */
static void show_status(struct run *run)
{
	uint64_t now_ns = clock_monotonic_ns();
	struct tally tally;
	char cost[96];

	if (now_ns < run->shown_ns + NSEC_PER_SEC)
		return;
	run->shown_ns = now_ns;
	session_tally(run->session, &tally);
	look_at_live_blocks(run, &tally);
	overhead_status(&tally.overhead, run->options->all, cost, sizeof(cost));
	log_status("%.0f s  %s samples  %s lost%s  (Ctrl-C: stop and write)",
		   (now_ns - run->schedule.started_ns) / 1e9,
		   text_count(builder_taken(run->builder)), text_count(tally.nr_lost), cost);
}

static bool is_snapshot_wanted(const struct run *run)
{
	if (!interrupt_take_request())
		return false;
	if (!run_writes_to_stdout(run->options))
		return true;
	warn("no snapshot is written: -o - writes a single file, at the end");
	return false;
}

struct mid_run {
	struct run *run;
	struct due due;
	const struct report *report;
	uint64_t end_ns;
};

/* In a thread of its own, while the run's does nothing but read what the kernel sends (wait_for_writer()). */
static void *write_mid_run(void *ctx)
{
	const struct mid_run *mid = ctx;
	int code = EXIT_DONE, delta_code = EXIT_DONE;

	if (mid->due.snapshot)
		code = run_write_files(mid->run, MOMENT_SNAPSHOT, mid->report, mid->end_ns);
	if (mid->due.delta)
		delta_code = run_write_files(mid->run, MOMENT_DELTA, mid->report, mid->end_ns);
	if (code || delta_code)
		mid->run->write_code = code ? code : delta_code;
	return NULL;
}

/* The rings hold a fraction of a second; thousands of files take longer. The end does not wait for them either. */
static void wait_for_writer(struct run *run, pthread_t thread)
{
	do {
		session_absorb(run->session);
		session_gather(run->session);
		if (is_to_end(run))
			stop_sampling(run);
	} while (!thread_join_for(thread, READ_EVERY_NS));
}

/*
 * Whatever is due in mid-run, just after a drain. A file that cannot be written does not end it. What it covers ends
 * when the samples were collected: those that came while they were delivered are in the next file.
 */
static void write_what_is_due(struct run *run)
{
	struct mid_run mid = {.run = run, .end_ns = run->dispatch.collected_ns};
	struct report report;
	struct tally tally;
	pthread_t thread;

	mid.due = schedule_take(&run->schedule, clock_monotonic_ns(), is_snapshot_wanted(run));
	if (run->stopped_ns && run->stopped_ns < mid.end_ns)
		mid.end_ns = run->stopped_ns;
	if (!mid.due.snapshot && !mid.due.delta)
		return;
	report = run_report(run, &tally, mid.end_ns);
	look_at_live_blocks(run, &tally);
	mid.report = &report;
	if (run->stopped_ns || thread_start(&thread, write_mid_run, &mid))
		write_mid_run(&mid);
	else
		wait_for_writer(run, thread);
}

static bool is_anybody_left(const struct run *run)
{
	if (targets_are_over(&run->targets))
		return false;
	return run->options->all || targetset_is_open(&run->targetset) ||
	       targets_any_left(&run->targets);
}

/* --max-overhead. It is asked for several times at a drain, and between two if these are far apart. */
static bool is_over_limit(struct run *run)
{
	uint64_t now_ns = clock_monotonic_ns();
	struct tally tally;

	if (!overhead_limit_is_due(&run->limit, now_ns))
		return run->limit.reached > 0;
	session_tally(run->session, &tally);
	return overhead_limit_look(&run->limit, &tally.overhead, now_ns);
}

static bool wants_end(struct run *run)
{
	return interrupt_seen() || !is_anybody_left(run) || is_over_limit(run);
}

/* Until the next drain is due, or session_fd() is readable. */
static void wait_for_drain(struct run *run)
{
	uint64_t wake_ns = schedule_wake_ns(&run->schedule), look_ns, now_ns;

	do {
		now_ns = clock_monotonic_ns();
		look_ns = run->limit.percent < 100 && now_ns + OVERHEAD_LOOK_EVERY_NS < wake_ns
				  ? now_ns + OVERHEAD_LOOK_EVERY_NS
				  : wake_ns;
		targets_wait(&run->targets, run->interrupt_fd, session_fd(run->session), look_ns);
		now_ns = clock_monotonic_ns();
	} while (now_ns >= look_ns && now_ns < wake_ns && !wants_end(run));
}

/*
 * Waits for the next drain, an interrupt, or the end of the targets; after the least time between two
 * drains what BPF has to say counts too. false: time to stop.
 */
static bool wait_for_more(struct run *run)
{
	const struct schedule *schedule = &run->schedule;

	targets_wait(&run->targets, run->interrupt_fd, -1, schedule_rest_ns(schedule));
	if (!wants_end(run))
		wait_for_drain(run);
	return clock_monotonic_ns() < schedule->end_ns && !wants_end(run);
}

static void say_limit(const struct run *run)
{
	if (run->limit.reached > 0)
		warn("sampling stopped after %.1f s: it took %.0f %% of %s, and --max-overhead is "
		     "%.0f. What was sampled until then is written.",
		     (run->stopped_ns - run->schedule.started_ns) / 1e9, run->limit.reached,
		     run->options->all ? "the time of all CPUs" : "the target's CPU time",
		     run->limit.percent);
}

int run_collect(struct run *run)
{
	int code = EXIT_DONE;

	while (!code && wait_for_more(run)) {
		code = drain(run);
		if (!code)
			write_what_is_due(run);
		show_status(run);
	}
	stop(run);
	say_limit(run);
	code = code ? code : drain(run);
	if (!run->options->inject) /* the library goes first (run_inject.c), and costs nothing */
		session_detach(run->session);
	if (!code && run->options->views & OPTIONS_VIEW_LEAKS)
		dispatch_blocks(&run->dispatch);
	return code;
}
