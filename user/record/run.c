// SPDX-License-Identifier: BSD-2-Clause
/*
 * The steps of a run, in order; each prints what went wrong and returns an exit code, EXIT_DONE (0)
 * to go on. What a step opened, finish() releases, however far it came.
 */
#include "record/run.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "base/vec.h"
#include "record/captures.h"
#include "record/child.h"
#include "record/targetset.h"
#include "collect/session.h"
#include "record/addtarget.h"
#include "record/nosamples.h"
#include "exit.h"
#include "record/dispatch.h"
#include "record/interrupt.h"
#include "object/object.h"
#include "record/naming.h"
#include "output/file.h"
#include "record/elfdeps.h"
#include "base/workbudget.h"
#include "record/outpath.h"
#include "heap/prober.h"
#include "process/busiest.h"
#include "process/task.h"
#include "record/builder.h"
#include "record/report.h"
#include "record/resources.h"
#include "record/schedule.h"
#include "record/targets.h"
#include "feed/tablesync.h"
#include "record/writer.h"

#define PROC "/proc"

struct run {
	const struct options *options;
	struct outpath outpath;
	struct files *files;
	struct tasks *tasks;
	struct objects *objects;
	struct builder *builder;
	struct session *session;
	struct prober prober;
	struct tablesync *tablesync;
	struct captures *captures; /* NULL: not asked for */
	struct dispatch dispatch;
	struct child child;
	bool is_released; /* it runs what it is to run */
	struct targets targets;
	struct targetset targetset;
	struct addtarget addtarget;
	struct nosamples nosamples;
	struct naming naming;
	struct writer writer;
	enum exit_code write_code; /* of the files so far */
	int interrupt_fd;
	struct busiest busiest; /* with -a */
	struct workbudget budget;
	struct schedule schedule;
	uint64_t stopped_ns; /* 0: not yet */
	uint64_t shown_ns;   /* the status line */
};

static bool is_heap(const struct run *run)
{
	return run->options->command == OPTIONS_HEAP;
}

static int check_output(struct run *run)
{
	return outpath_open(run->options, &run->outpath) ? EXIT_USAGE : EXIT_DONE;
}

static int find_targets(struct run *run)
{
	const struct targetset_options options = {
		.proc_root = PROC,
		.spec = &run->options->spec,
		.follow = run->options->follow_forks,
		.eager = is_heap(run),
		.tell = addtarget_tell,
		.ctx = &run->addtarget,
	};

	vec_for_each(&run->options->spec.pids, pid)
		if (targets_check(PROC, *pid) || targets_add(&run->targets, *pid))
			return EXIT_USAGE;
	if (run->options->all && busiest_look(&run->busiest, PROC))
		return EXIT_CANNOT;
	return targetset_open(&run->targetset, &options) ? EXIT_USAGE : EXIT_DONE;
}

/* Every process, and not only some of them. */
static bool is_everybody(const struct run *run)
{
	return run->options->all && !targetset_judges(&run->targetset);
}

/* Of a command it is not known yet when it begins to be itself. */
static uint32_t only_target(const struct run *run)
{
	const struct options *o = run->options;

	if (o->all || o->follow_forks || o->child_argv || run->targets.all.nr != 1 ||
	    targetset_judges(&run->targetset))
		return 0;
	return run->targets.all.at[0].tgid;
}

static int open_session(struct run *run)
{
	const struct options *o = run->options;
	struct session_options options = {
		.source = is_heap(run) ? SESSION_HEAP : SESSION_CPU,
		.frequency_hz = o->frequency_hz,
		.rate_bytes = o->rate_bytes,
		.all = is_everybody(run),
		.judged = targetset_judges(&run->targetset),
		.follow_forks = o->follow_forks && !targetspec_filters(&o->spec),
		.threads = o->threads,
		.kernel_stacks = o->kernel_stacks,
		.captures = o->captures,
		.allocs_only = o->allocs_only,
		.only_tgid = is_heap(run) ? only_target(run) : 0,
		.limits = {o->limits.counts, o->limits.events, o->limits.live, o->limits.inflight,
			   o->limits.slots, o->limits.attach_mode},
	};

	return session_open(&options, &run->session) ? EXIT_CANNOT : EXIT_DONE;
}

static bool writes_to_stdout(const struct options *options)
{
	vec_for_each(&options->targets, target)
		if (target->file && output_is_stdout(target->file))
			return true;
	return false;
}

/* What a command says must not end up in a profile. */
static int stdout_of_command(const struct options *options)
{
	return writes_to_stdout(options) ? STDERR_FILENO : -1;
}

static int launch_child(struct run *run)
{
	if (!run->options->child_argv)
		return EXIT_DONE;
	if (child_spawn(&run->child, run->options->child_argv, stdout_of_command(run->options)))
		return EXIT_CANNOT;
	return targets_add(&run->targets, run->child.pid) ? EXIT_CANNOT : EXIT_DONE;
}

static void on_map(void *ctx, const struct process *process, const struct mapping *map)
{
	struct run *run = ctx;

	tablesync_on_map(run->tablesync, process);
	/* Before the start it is over when interrupted: nobody waits until all files are read. */
	if (is_heap(run) && (run->schedule.started_ns || !interrupt_seen()))
		prober_on_map(&run->prober, process, map);
}

static int open_rooms(struct run *run)
{
	struct builder_options options = {
		.kind = is_heap(run) ? PROFILE_HEAP : PROFILE_CPU,
		.period = is_heap(run) ? run->options->rate_bytes
				       : NSEC_PER_SEC / run->options->frequency_hz,
		.threads = run->options->threads,
	};

	run->files = files_new(PROC);
	run->tasks = tasks_new(PROC, run->files);
	run->objects = objects_new();
	run->builder = builder_new(&options, run->tasks);
	run->tablesync =
		tablesync_new(run->session, run->tasks, run->files, run->objects, &run->budget);
	tasks_on_map(run->tasks, on_map, run);
	if (run->options->captures &&
	    captures_open(run->options->captures, run->tasks, run->files, &run->captures))
		return EXIT_USAGE;
	run->dispatch = (struct dispatch){
		.session = run->session,
		.tasks = run->tasks,
		.tablesync = run->tablesync,
		.captures = run->captures,
		.builder = run->builder,
		.budget = &run->budget,
		.targetset = targetset_chooses(&run->targetset) ? &run->targetset : NULL,
		.judges = !is_heap(run) && targetset_judges(&run->targetset)};
	run->addtarget = (struct addtarget){.session = run->session,
					    .tasks = run->tasks,
					    .tablesync = run->tablesync,
					    .prober = is_heap(run) ? &run->prober : NULL};
	run->naming = (struct naming){.tasks = run->tasks,
				      .files = run->files,
				      .objects = run->objects,
				      .kernel_stacks = run->options->kernel_stacks};
	run->prober = (struct prober){.session = run->session,
				      .objects = run->objects,
				      .files = run->files,
				      .all = is_everybody(run),
				      .follow_forks = run->options->follow_forks,
				      .allocs_only = run->options->allocs_only};
	if (!targetset_judges(&run->targetset))
		vec_for_each(&run->targets.all, target)
			prober_add_target(&run->prober, target->tgid);
	return EXIT_DONE;
}

/* A launched command is still cprof's own image: what it will run is not known yet. */
static int snapshot_target(struct run *run, uint32_t tgid)
{
	bool is_child = tgid == (uint32_t)run->child.pid;
	int err = tasks_snapshot(run->tasks, tgid);

	if (err == -ESRCH)
		return fail(err, "process %u ended before it could be profiled.", tgid);
	if (err)
		return fail(err, "read the mappings of process %u", tgid);
	tablesync_follow(run->tablesync, tgid, is_child ? TABLESYNC_AFTER_EXEC : TABLESYNC_NOW);
	return session_add_target(run->session, tgid, is_child);
}

/* Who descends from the targets, or is chosen by a name or by filters. */
static int addtarget_family(struct run *run)
{
	char words[512];
	int err;

	if (!targetset_chooses(&run->targetset))
		return 0;
	err = targetset_scan(&run->targetset);
	run->addtarget.is_running = true;
	if (err)
		return fail(err, "list the processes in " PROC);
	detail("processes to profile: %zu", run->targetset.nr_wanted);
	if (!run->targetset.nr_wanted)
		say("no process matches %s so far: waiting for one",
		    criteria_words(&run->targetset.criteria, words, sizeof(words)));
	return 0;
}

static bool is_enough(void *ctx)
{
	return workbudget_is_over(ctx);
}

static int take_snapshot_of_all(struct run *run)
{
	int nr_left = tasks_snapshot_all(run->tasks, &run->busiest, is_enough, &run->budget);

	if (nr_left > 0)
		detail("%d processes will be looked at when they are met", nr_left);
	return nr_left < 0 ? EXIT_CANNOT : EXIT_DONE;
}

/* What is mapped now. From here on the side-band says what changes. */
static int take_snapshot(struct run *run)
{
	workbudget_limit(&run->budget, WORKBUDGET_START_NS, interrupt_seen);
	if (is_everybody(run))
		return take_snapshot_of_all(run);
	for (size_t i = 0; i < run->targets.all.nr && !targetset_judges(&run->targetset); i++) {
		int err = snapshot_target(run, run->targets.all.at[i].tgid);

		if (err)
			return err == -ESRCH ? EXIT_USAGE : EXIT_CANNOT;
	}
	if (addtarget_family(run))
		return EXIT_CANNOT;
	tablesync_sync(run->tablesync);
	return EXIT_DONE;
}

static void expect_file(void *ctx, const char *path)
{
	struct run *run = ctx;

	prober_expect(&run->prober, run->child.pid, path);
}

/* Its first allocation comes before anybody could hear of what it maps. */
static int probe_command(struct run *run)
{
	if (is_heap(run) && run->child.pid)
		elfdeps_of(run->options->child_argv[0], expect_file, run);
	return EXIT_DONE;
}

/* With filters there may be nobody yet. */
static size_t nr_chosen(const struct run *run)
{
	return targetset_judges(&run->targetset) ? run->targetset.nr_wanted : 1;
}

static int check_probes(struct run *run)
{
	if (!is_heap(run))
		return EXIT_DONE;
	if (run->prober.err)
		return EXIT_CANNOT;
	if (run->prober.nr_sites || run->child.pid || !nr_chosen(run))
		return EXIT_DONE;
	if (run->prober.managed)
		warn("this is %s: its allocations do not pass malloc. Instead, %s.",
		     run->prober.managed->what, run->prober.managed->advice);
	else
		warn("no allocator found: none of the target's files defines malloc and free "
		     "(a stripped static binary, or an allocator of its own?)");
	return EXIT_NOTHING;
}

/* Sampling ends. What it takes to finish what was sampled is limited from now on. */
static void stop(struct run *run)
{
	if (run->stopped_ns)
		return;
	session_stop(run->session);
	run->stopped_ns = clock_monotonic_ns();
	run->budget.only_needed = true;
	files_until(run->files, is_enough, &run->budget);
	workbudget_limit(&run->budget, WORKBUDGET_END_NS, interrupt_insisted);
}

/* A drain may last: the end does not wait for it. */
static void stop_when_due(void *ctx)
{
	struct run *run = ctx;

	if (interrupt_seen() || clock_monotonic_ns() >= run->schedule.end_ns)
		stop(run);
}

/* 0: there are several, or none that one could ask about. */
static uint32_t the_target(const struct run *run)
{
	return run->targets.all.nr == 1 && !run->child.pid ? run->targets.all.at[0].tgid : 0;
}

static int start(struct run *run)
{
	nosamples_begin(&run->nosamples, PROC, the_target(run), !run->options->follow_forks);
	workbudget_unlimit(&run->budget);
	interrupt_set_phase(INTERRUPT_COLLECTED);
	if (session_start(run->session))
		return EXIT_CANNOT;
	schedule_start(&run->schedule, run->options, clock_monotonic_ns());
	writer_init(&run->writer, run->options, &run->outpath, run->builder,
		    run->schedule.started_ns);
	run->budget.look = stop_when_due;
	run->budget.ctx = run;
	detail("sampling %s", is_heap(run) ? "malloc and free" : "stacks on the CPU");
	if (!run->child.pid)
		return EXIT_DONE;
	run->is_released = true;
	return child_release(&run->child, run->options->child_argv[0]) ? EXIT_USAGE : EXIT_DONE;
}

static int drain(struct run *run)
{
	uint64_t began_ns = clock_monotonic_ns();
	bool is_new;
	int err = dispatch_drain(&run->dispatch, &is_new);

	if (run->options->all || targetset_judges(&run->targetset))
		tasks_prune(run->tasks, run->schedule.drained_ns);
	targetset_review(&run->targetset, began_ns);
	schedule_drained(&run->schedule, began_ns, is_new);
	vec_for_each(&run->targets.all, target)
		writer_look(&run->writer, target->tgid);
	return err ? EXIT_CANNOT : EXIT_DONE;
}

/* At most once a second, however often is drained. */
static void show_status(struct run *run)
{
	uint64_t now_ns = clock_monotonic_ns();
	struct tally tally;

	if (now_ns < run->shown_ns + NSEC_PER_SEC)
		return;
	run->shown_ns = now_ns;
	session_tally(run->session, &tally);
	log_status("%.0f s  %s samples  %s lost  (Ctrl-C: stop and write)",
		   (now_ns - run->schedule.started_ns) / 1e9,
		   text_count(builder_taken(run->builder)), text_count(tally.nr_lost));
}

static struct report report_of(struct run *run, struct tally *tally, uint64_t now_ns)
{
	struct report report = {
		.options = run->options,
		.duration_ns = now_ns - run->schedule.started_ns,
		.tally = tally,
		.builder = run->builder,
		.nosamples = &run->nosamples,
	};

	if (is_heap(run) && !is_everybody(run))
		report.managed = run->prober.managed;
	session_tally(run->session, tally);
	tally->nr_filtered += run->dispatch.nr_unwanted; /* as if BPF had known */
	if (run->targets.all.nr)
		report.main_process = tasks_image(run->tasks, run->targets.all.at[0].tgid, 0,
						  run->schedule.started_ns)
					      ->process;
	return report;
}

static int write_files(struct run *run, enum moment moment, const struct report *report,
		       uint64_t now_ns)
{
	struct writing writing = {
		.symbolizer = naming_symbolizer(&run->naming), .report = report, .now_ns = now_ns};

	return writer_write(&run->writer, moment, &writing);
}

static bool is_snapshot_wanted(const struct run *run)
{
	if (!interrupt_take_request())
		return false;
	if (!writes_to_stdout(run->options))
		return true;
	warn("no snapshot: -o - is one file, which is written at the end");
	return false;
}

/* Whatever is due in mid-run, just after a drain. A file that cannot be written does not end it. */
static void write_what_is_due(struct run *run)
{
	uint64_t now_ns = clock_monotonic_ns();
	struct due due = schedule_take(&run->schedule, now_ns, is_snapshot_wanted(run));
	int code = EXIT_DONE, delta_code = EXIT_DONE;
	struct tally tally;
	struct report report;

	if (!due.snapshot && !due.delta)
		return;
	report = report_of(run, &tally, now_ns);
	if (due.snapshot)
		code = write_files(run, MOMENT_SNAPSHOT, &report, now_ns);
	if (due.delta)
		delta_code = write_files(run, MOMENT_DELTA, &report, now_ns);
	if (code || delta_code)
		run->write_code = code ? code : delta_code;
}

static bool is_anybody_left(const struct run *run)
{
	return run->options->all || targetset_is_open(&run->targetset) ||
	       targets_any_left(&run->targets);
}

/*
 * Waits for the next drain, an interrupt, or the end of the targets; after the least time between two
 * drains what BPF has to say counts too. false: time to stop.
 */
static bool wait_for_more(struct run *run)
{
	const struct schedule *schedule = &run->schedule;

	targets_wait(&run->targets, run->interrupt_fd, -1, schedule_rest_ns(schedule));
	if (!interrupt_seen() && is_anybody_left(run))
		targets_wait(&run->targets, run->interrupt_fd, session_fd(run->session),
			     schedule_wake_ns(schedule));
	return !interrupt_seen() && clock_monotonic_ns() < schedule->end_ns && is_anybody_left(run);
}

static int collect(struct run *run)
{
	int code = EXIT_DONE;

	while (!code && wait_for_more(run)) {
		code = drain(run);
		if (!code)
			write_what_is_due(run);
		show_status(run);
	}
	stop(run);
	return code ? code : drain(run);
}

static void say_unknown(const struct run *run)
{
	uint64_t nr = tablesync_nr_unknown(run->tablesync);

	if (nr)
		warn("the time was up before all of the code was read: %s stacks are cut short "
		     "([truncated: code not known yet])",
		     text_count(nr));
}

static int write_profiles(struct run *run)
{
	struct tally tally;
	struct report report = report_of(run, &tally, run->stopped_ns);
	int code, said;

	detail("stacks finished in user space: %s",
	       text_count(tablesync_nr_completed(run->tablesync)));
	say_unknown(run);
	code = write_files(run, MOMENT_END, &report, run->stopped_ns);
	interrupt_set_phase(INTERRUPT_WRITTEN);
	naming_say(&run->naming);
	said = report_say(&report, &run->writer);
	if (said)
		return said;
	return code ? code : (int)run->write_code;
}

/* The command goes on if the time was up before it: its exit code is the user's. */
static int wait_for_child(struct run *run, int code)
{
	int child_code;

	if (!run->child.pid)
		return code;
	if (!run->is_released) { /* it ends without having begun */
		child_abandon(&run->child);
		child_wait(&run->child, NULL);
		return code;
	}
	child_code = child_wait(&run->child, interrupt_insisted);
	if (child_code != -EINTR)
		return child_code ? child_code : code;
	warn("interrupted again: not waiting for '%s', which gets SIGTERM",
	     run->options->child_argv[0]);
	return interrupt_exit_code();
}

static void finish(struct run *run)
{
	tablesync_free(run->tablesync); /* gives tables back to the session */
	session_close(run->session);
	child_abandon(&run->child);
	captures_close(run->captures);
	builder_free(run->builder);
	objects_free(run->objects);
	tasks_free(run->tasks);
	files_free(run->files);
	prober_release(&run->prober);
	intake_release(&run->dispatch);
	targetset_release(&run->targetset);
	nosamples_release(&run->nosamples);
	targets_release(&run->targets);
	naming_release(&run->naming);
	writer_release(&run->writer);
	outpath_release(&run->outpath);
	busiest_release(&run->busiest);
}

static int catch_interrupts(struct run *run)
{
	run->interrupt_fd = interrupt_open();
	if (run->interrupt_fd >= 0)
		return EXIT_DONE;
	warn("no event descriptor for Ctrl-C: %s", strerror(-run->interrupt_fd));
	return EXIT_CANNOT;
}

/* Interrupted before sampling began. */
static bool is_over_early(const struct run *run)
{
	if (run->schedule.started_ns || !interrupt_seen())
		return false;
	warn("interrupted before sampling began: nothing is written.");
	return true;
}

int run(const struct options *options)
{
	static int (*const steps[])(struct run *) = {
		catch_interrupts, find_targets, open_session,  check_output,
		launch_child,	  open_rooms,	take_snapshot, probe_command,
		check_probes,	  start,	collect,       write_profiles,
	};
	struct run run = {.options = options, .child = {.release_fd = -1, .error_fd = -1}};
	int code = EXIT_DONE;

	log_set_verbose(options->verbose);
	resources_claim();
	for (size_t i = 0; !code && i < sizeof(steps) / sizeof(steps[0]); i++)
		code = is_over_early(&run) ? EXIT_NOTHING : steps[i](&run);
	code = wait_for_child(&run, code);
	finish(&run);
	return code;
}
