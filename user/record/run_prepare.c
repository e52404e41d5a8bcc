// SPDX-License-Identifier: BSD-2-Clause
/*
 * The steps of a run up to the first sample. BPF programs are loaded before the targets are looked at, so that side-band events queue up from then
 * on: what is mapped between the look and the first drain is seen twice rather than never. Reading all that the
 * targets map can take long; WORKBUDGET_START_NS limits it, and what is left is read when samples meet it.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/vec.h"
#include "base/text.h"
#include "machine/machine.h"
#include "record/interrupt.h"
#include "record/run_state.h"

int run_find_targets(struct run *run)
{
	const struct targetset_options options = {
		.proc_root = PROC,
		.opener = run->opener,
		.spec = &run->options->spec,
		.follow = run_follows_forks(run),
		.eager = run_is_heap(run),
		.tell = addtarget_tell,
		.undecided = addtarget_undecided,
		.gone = addtarget_gone,
		.ctx = &run->addtarget,
	};

	vec_for_each(&run->options->spec.pids, pid)
		if (targets_check(PROC, *pid) || targets_add(&run->targets, *pid))
			return EXIT_USAGE;
	if (run->options->all && busiest_look(&run->busiest, PROC))
		return EXIT_CANNOT;
	return targetset_open(&run->targetset, &options) ? EXIT_USAGE : EXIT_DONE;
}

/* 0 for a launched command: until its exec it is still an image of cprof. */
static uint32_t only_target(const struct run *run)
{
	const struct options *o = run->options;

	if (o->all || run_follows_forks(run) || o->child_is_target || run->targets.all.nr != 1 ||
	    targetset_judges(&run->targetset))
		return 0;
	return run->targets.all.at[0].tgid;
}

int run_open_session(struct run *run)
{
	const struct options *o = run->options;
	struct session_options options = {
		.source = run_is_heap(run) ? SESSION_HEAP : SESSION_CPU,
		.frequency_hz = o->frequency_hz,
		.rate_bytes = o->rate_bytes,
		.all = run_is_everybody(run),
		.judged = targetset_judges(&run->targetset),
		.follow_forks = run_follows_forks(run) && !targetspec_filters(&o->spec),
		.threads = o->threads,
		.kernel_stacks = o->kernel_stacks,
		.captures = o->captures,
		.inside = run->preload.path,
		.allocs_only = o->allocs_only,
		.keeps_lives = o->lifetimes || o->views & (OPTIONS_VIEW_PEAK | OPTIONS_VIEW_LEAKS),
		.no_runtimes = {[ABI_RUNTIME_PYTHON] = !o->python,
				[ABI_RUNTIME_PHP] = !o->php,
				[ABI_RUNTIME_V8] = !o->v8,
				[ABI_RUNTIME_RUBY] = !o->ruby,
				[ABI_RUNTIME_PERL] = !o->perl},
		.helper_tgids = {parser_parent(run->parser),
				 run->opener ? opener_parent(run->opener) : 0},
		.attacher = run->attacher,
		.only_tgid = run_is_heap(run) ? only_target(run) : 0,
		.limits = {.counts = o->limits.counts,
			   .events = o->limits.events,
			   .live = o->limits.live,
			   .inflight = o->limits.inflight,
			   .slots = o->limits.slots,
			   .attach_mode = o->limits.attach_mode},
	};

	if (run_is_heap(run) && !o->allocs_only && !o->limits.live)
		*(o->max_blocks ? &options.limits.live : &options.limits.live_grown) =
			liveblocks_choose(o);
	if (session_open(&options, &run->session))
		return EXIT_CANNOT;
	run->liveblocks.most = session_max_blocks(run->session);
	if (run_is_heap(run))
		detail("sampled blocks that can be followed: %s", text_count(run->liveblocks.most));
	return EXIT_DONE;
}

int run_check_output(struct run *run)
{
	return outpath_open(run->options, &run->outpath) ? EXIT_USAGE : EXIT_DONE;
}

/* The output of the command must not end up in a profile. */
static int stdout_of_command(const struct options *options)
{
	return run_writes_to_stdout(options) ? STDERR_FILENO : -1;
}

int run_launch_child(struct run *run)
{
	if (!run->options->child_argv)
		return EXIT_DONE;
	if (child_spawn(&run->child, run->options->child_argv,
			run->options->child_is_target && run->preload.path ? run->preload.env
									   : environ,
			stdout_of_command(run->options)))
		return EXIT_CANNOT;
	if (run->options->child_is_target)
		return targets_add(&run->targets, run->child.pid) ? EXIT_CANNOT : EXIT_DONE;
	return targets_end_with(&run->targets, run->child.pid) ? EXIT_CANNOT : EXIT_DONE;
}

static void on_map(void *ctx, const struct process *process, const struct mapping *map)
{
	struct run *run = ctx;

	tablesync_on_map(run->tablesync, process);
	if (!run_is_heap(run))
		return;
	if (run->stopped_ns) {
		prober_recognize(&run->prober, process, map);
		return;
	}
	prober_on_map(&run->prober, process, map);
	/*
	 * All that is read at once is noted first, before the start and later: then the most used files are probed first, and all that a
	 * process maps is known when its first sample comes. run_attach_probes() and run_probe_more() go on.
	 */
	if (run->schedule.started_ns && !tasks_is_reading(run->tasks))
		prober_work(&run->prober);
}

/* Each part borrows the others that it uses. */
static void connect_parts(struct run *run)
{
	run->dispatch = (struct dispatch){
		.session = run->session,
		.tasks = run->tasks,
		.tablesync = run->tablesync,
		.captures = run->captures,
		.builder = run->builder,
		.framenames = run->framenames,
		.ifuncnames = run->ifuncnames,
		.kernelcode = &run->kernelcode,
		.budget = &run->budget,
		.targetset = targetset_chooses(&run->targetset) ? &run->targetset : NULL,
		.judges = !run_is_heap(run) && targetset_judges(&run->targetset),
		.only_known = !run->options->all && !targetset_judges(&run->targetset)};
	run->addtarget = (struct addtarget){.session = run->session,
					    .tasks = run->tasks,
					    .tablesync = run->tablesync,
					    .prober = run_is_heap(run) ? &run->prober : NULL};
	run->naming = (struct naming){
		.tasks = run->tasks,
		.files = run->files,
		.parser = run->parser,
		.ifuncnames = run->ifuncnames,
		.kernelcode = &run->kernelcode,
		.dirs = {run->options->debug_dirs.at, run->options->debug_dirs.nr, run->fetcher},
		.lines = run->options->lines,
		.inlines = run->options->inlines,
		.timeout_ns = run->options->symbolize_timeout_ns,
		.cache = run->cache};
	run->prober = (struct prober){.session = run->session,
				      .files = run->files,
				      .parser = run->parser,
				      .proc_root = PROC,
				      .budget = &run->probing,
				      .all = run_is_everybody(run),
				      .follow_forks = run_follows_forks(run),
				      .is_inside = run->preload.path && !run->options->inject,
				      .is_injected = run->options->inject,
				      .allocs_only = run->options->allocs_only};
	prober_limit(&run->prober, run->options->limits.files ? run->options->limits.files
							      : session_max_files(run->session));
	if (!targetset_judges(&run->targetset))
		vec_for_each(&run->targets.all, target)
			prober_add_target(&run->prober, target->tgid);
}

/* Nothing depends on it. */
static void open_cache(struct run *run)
{
	int err = run->options->no_cache ? 0 : namecache_open(&run->cache);

	if (err)
		detail("there is no cache of names: %s", strerror(-err));
}

int run_open_parts(struct run *run)
{
	struct builder_options options = {
		.kind = run_is_heap(run) ? PROFILE_HEAP : PROFILE_CPU,
		.period = run_is_heap(run) ? run->options->rate_bytes
					   : NSEC_PER_SEC / run->options->frequency_hz,
		.threads = run->options->threads,
	};

	run->files = files_new(PROC);
	files_set_opener(run->files, run->opener);
	run->tasks = tasks_new(PROC, run->files);
	options.framenames = run->framenames = framenames_new(run->parser, FRAMENAMES_BYTES);
	run->builder = builder_new(&options, run->tasks);
	run->ifuncnames = ifuncnames_new(run->tasks, run->files, run->parser);
	run->tablesync =
		tablesync_new(run->session, run->tasks, run->files, run->parser, &run->budget);
	tasks_on_map(run->tasks, on_map, run);
	if (run->options->captures &&
	    captures_open(run->options->captures, run->tasks, run->files, &run->captures))
		return EXIT_USAGE;
	open_cache(run);
	connect_parts(run);
	return EXIT_DONE;
}

/* A launched command is still cprof's own image: what it will run is not known yet. */
static int snapshot_target(struct run *run, uint32_t tgid)
{
	bool is_child = tgid == (uint32_t)run->child.pid;
	int err = tasks_snapshot(run->tasks, tgid);

	if (err == -ESRCH)
		return fail(err, "process %u ended before it could be profiled.", tgid);
	if ((err == -EACCES || err == -EPERM) && *machine_lacks_for_files())
		return fail(
			err,
			"cannot read the mappings of process %u, which another user owns: %s; run "
			"cprof with sudo (PRIVILEGES in cprof-record(1)).",
			tgid, machine_lacks_for_files());
	if (err)
		return fail(err, "cannot read the mappings of process %u", tgid);
	tablesync_follow(run->tablesync, tgid, is_child ? TABLESYNC_AFTER_EXEC : TABLESYNC_NOW);
	return session_add_target(run->session, tgid, is_child);
}

/* Adds the descendants of the targets, and the processes that names and filters choose. */
static int choose_targets(struct run *run)
{
	char words[512];
	int err;

	if (!targetset_chooses(&run->targetset))
		return 0;
	err = targetset_scan(&run->targetset);
	run->addtarget.is_running = true;
	if (err)
		return fail(err, "cannot list the processes in " PROC);
	detail("processes to profile: %zu", run->targetset.nr_wanted);
	if (!run->targetset.nr_wanted)
		say("no process matches %s so far: waiting for one",
		    criteria_words(&run->targetset.criteria, words, sizeof(words)));
	return 0;
}

static int take_snapshot_of_all(struct run *run)
{
	int nr_left = tasks_snapshot_all(run->tasks, &run->busiest, run_is_time_up, &run->budget);

	run->is_all_read = !nr_left;
	if (nr_left > 0)
		detail("%d processes are read later, when they are sampled", nr_left);
	return nr_left < 0 ? EXIT_CANNOT : EXIT_DONE;
}

/* Reading files may last: what the kernel says meanwhile is not lost. */
static void gather(void *ctx)
{
	struct run *run = ctx;

	session_gather(run->session);
}

/* What is mapped now. From here on the side-band says what changes. */
int run_take_snapshot(struct run *run)
{
	run->budget.look = gather;
	run->budget.ctx = run;
	workbudget_limit(&run->budget, WORKBUDGET_START_NS, interrupt_seen);
	if (run_is_everybody(run))
		return take_snapshot_of_all(run);
	for (size_t i = 0; i < run->targets.all.nr && !targetset_judges(&run->targetset); i++) {
		int err = snapshot_target(run, run->targets.all.at[i].tgid);

		if (err)
			return err == -ESRCH ? EXIT_USAGE : EXIT_CANNOT;
	}
	if (choose_targets(run))
		return EXIT_CANNOT;
	tablesync_sync(run->tablesync);
	return EXIT_DONE;
}
