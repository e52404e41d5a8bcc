// SPDX-License-Identifier: BSD-2-Clause
/*
 * The steps of a run, in order; each prints what went wrong and returns an exit code, EXIT_DONE (0)
 * to go on. What a step opened, finish() releases, however far it came.
 */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "base/vec.h"
#include "captures.h"
#include "child.h"
#include "collect/session.h"
#include "exit.h"
#include "interrupt.h"
#include "object/kallsyms.h"
#include "object/object.h"
#include "process/task.h"
#include "place.h"
#include "needed.h"
#include "prober.h"
#include "profile/builder.h"
#include "profile/symbolize.h"
#include "report.h"
#include "targets.h"
#include "unwinder.h"
#include "writer.h"

#define PROC "/proc"

/*
 * Between two drains: short while there is code that BPF does not know, then longer and longer. When
 * a sample comes to unknown code BPF asks for the next one, which comes soon: a program that runs for
 * a tenth of a second should not have to do without tables for a third of it.
 */
#define LEAST_INTERVAL_NS (NSEC_PER_SEC / 100)
#define FIRST_INTERVAL_NS (NSEC_PER_SEC / 32)
#define DRAIN_INTERVAL_NS NSEC_PER_SEC
#define MOST_LOOKS	  8 /* for new code, one after the other */

struct run {
	const struct options *options;
	struct place place;
	struct files *files;
	struct tasks *tasks;
	struct objects *objects;
	struct builder *builder;
	struct session *session;
	struct prober prober;
	struct unwinder *unwinder;
	struct captures *captures; /* NULL: not asked for */
	struct child child;
	struct targets targets;
	struct kallsyms *kallsyms;
	struct symbolizer *symbolizer; /* made when first needed */
	struct writer writer;
	enum exit_code write_code; /* of the files so far */
	int interrupt_fd;
	uint64_t started_ns, stopped_ns, drained_ns;
	uint64_t shown_ns;		/* the status line */
	uint64_t interval_ns;		/* until the next drain */
	uint64_t snapshot_ns, delta_ns; /* when the next is due; UINT64_MAX: never */
};

static bool is_heap(const struct run *run)
{
	return run->options->command == OPTIONS_HEAP;
}

/* Target executables are held open; the soft limit is often 1,024. */
static void raise_open_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/*
 * What is large here (sections, tables under construction) does not live long. By default glibc takes
 * the first large free() for a sign to keep such memory in the heap from then on; a fixed threshold
 * gives it back each time. Nor does the thread that makes tables (codetables.c) need a heap of its own.
 */
static void give_memory_back(void)
{
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, 256 * 1024);
}

static int check_output(struct run *run)
{
	return place_open(run->options, &run->place) ? EXIT_USAGE : EXIT_DONE;
}

static int find_targets(struct run *run)
{
	vec_for_each(&run->options->pids, pid)
		if (targets_check(PROC, *pid) || targets_add(&run->targets, *pid))
			return EXIT_USAGE;
	return EXIT_DONE;
}

/* Of a command it is not known yet when it begins to be itself. */
static uint32_t only_target(const struct run *run)
{
	const struct options *o = run->options;

	if (o->all || o->follow_forks || o->child_argv || run->targets.all.nr != 1)
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
		.all = o->all,
		.follow_forks = o->follow_forks,
		.threads = o->threads,
		.kernel_stacks = o->kernel_stacks,
		.captures = o->captures,
		.allocs_only = o->allocs_only,
		.only_tgid = is_heap(run) ? only_target(run) : 0,
		.limits = {o->limits.counts, o->limits.events, o->limits.live, o->limits.inflight,
			   o->limits.slots, o->limits.way},
	};

	return session_open(&options, &run->session) ? EXIT_CANNOT : EXIT_DONE;
}

static int launch_child(struct run *run)
{
	if (!run->options->child_argv)
		return EXIT_DONE;
	if (child_spawn(&run->child, run->options->child_argv))
		return EXIT_CANNOT;
	return targets_add(&run->targets, run->child.pid) ? EXIT_CANNOT : EXIT_DONE;
}

static void on_map(void *ctx, const struct process *process, const struct mapping *map)
{
	struct run *run = ctx;

	unwinder_on_map(run->unwinder, process);
	if (is_heap(run))
		prober_on_map(&run->prober, process, map);
}

static int open_rooms(struct run *run)
{
	struct builder_options options = {
		.kind = is_heap(run) ? PROFILE_HEAP : PROFILE_CPU,
		.period = is_heap(run) ? run->options->rate_bytes
				       : NSEC_PER_SEC / run->options->frequency_hz,
		.threads = run->options->threads,
		.realtime_ns = clock_realtime_ns(),
	};

	run->files = files_new(PROC);
	run->tasks = tasks_new(PROC, run->files);
	run->objects = objects_new();
	run->builder = builder_new(&options, run->tasks);
	run->unwinder = unwinder_new(run->session, run->tasks, run->files, run->objects);
	tasks_on_map(run->tasks, on_map, run);
	if (run->options->captures &&
	    captures_open(run->options->captures, run->tasks, run->files, &run->captures))
		return EXIT_USAGE;
	run->prober = (struct prober){.session = run->session,
				      .objects = run->objects,
				      .files = run->files,
				      .all = run->options->all,
				      .follow_forks = run->options->follow_forks,
				      .allocs_only = run->options->allocs_only};
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
	unwinder_follow(run->unwinder, tgid, is_child ? UNWINDER_AFTER_EXEC : UNWINDER_NOW);
	return session_add_target(run->session, tgid, is_child);
}

/* What is mapped now. From here on the side-band says what changes. */
static int take_snapshot(struct run *run)
{
	if (run->options->all)
		return tasks_snapshot_all(run->tasks) ? EXIT_CANNOT : EXIT_DONE;
	vec_for_each(&run->targets.all, target) {
		int err = snapshot_target(run, target->tgid);

		if (err)
			return err == -ESRCH ? EXIT_USAGE : EXIT_CANNOT;
	}
	unwinder_sync(run->unwinder);
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
		needed_by(run->options->child_argv[0], expect_file, run);
	return EXIT_DONE;
}

static int check_probes(struct run *run)
{
	if (!is_heap(run))
		return EXIT_DONE;
	if (run->prober.err)
		return EXIT_CANNOT;
	if (run->prober.nr_sites || run->child.pid)
		return EXIT_DONE;
	warn("no allocator found: none of the target's files defines malloc and free "
	     "(a stripped static binary?)");
	return EXIT_NOTHING;
}

/* When something that happens each interval_ns (0: never) is due next. */
static uint64_t due(uint64_t last_ns, uint64_t interval_ns)
{
	return interval_ns ? last_ns + interval_ns : UINT64_MAX;
}

/* When the time is up. */
static uint64_t end_of(const struct run *run)
{
	return due(run->started_ns, run->options->duration_ns);
}

static int start(struct run *run)
{
	run->started_ns = clock_monotonic_ns();
	run->drained_ns = run->started_ns - LEAST_INTERVAL_NS;
	run->interval_ns = FIRST_INTERVAL_NS;
	run->snapshot_ns = due(run->started_ns, run->options->interval_ns);
	run->delta_ns = due(run->started_ns, run->options->delta_ns);
	writer_init(&run->writer, run->options, &run->place, run->builder, run->started_ns);
	if (session_start(run->session))
		return EXIT_CANNOT;
	detail("sampling %s", is_heap(run) ? "malloc and free" : "stacks on the CPU");
	if (run->child.pid && child_release(&run->child, run->options->child_argv[0]))
		return EXIT_USAGE;
	return EXIT_DONE;
}

static void on_event(void *ctx, const struct task_event *event)
{
	struct run *run = ctx;

	tasks_apply(run->tasks, event);
	unwinder_event(run->unwinder, event);
}

static void on_record(void *ctx, const struct record *record)
{
	struct run *run = ctx;
	struct record whole = *record;

	if (record->copy)
		unwinder_complete(run->unwinder, &whole);
	if (record->capture)
		captures_write(run->captures, record, &whole);
	unwinder_name(run->unwinder, &whole);
	builder_record(run->builder, &whole);
}

static void on_count(void *ctx, const struct count *count)
{
	struct run *run = ctx;

	builder_count(run->builder, count);
}

static int drain(struct run *run)
{
	struct session_sink sink = {on_event, on_record, on_count, run};
	uint64_t now_ns = clock_monotonic_ns();
	bool is_new = false, more = true;
	int err = 0;

	/*
	 * What is mapped first: it is there at once, and samples go on while the rest is waited for.
	 * While tables are made more may have been mapped, by a dynamic linker at its work.
	 */
	for (int i = 0; !err && more && i < MOST_LOOKS; i++) {
		err = session_drain(run->session, &sink, true);
		more = unwinder_sync(run->unwinder);
		is_new = is_new || more;
	}
	if (!err)
		err = session_drain(run->session, &sink, false);
	/* What is new now will bring more that is new: look again soon. */
	is_new = unwinder_sync(run->unwinder) || is_new;
	if (is_new)
		run->interval_ns = FIRST_INTERVAL_NS;
	else if (run->interval_ns < DRAIN_INTERVAL_NS)
		run->interval_ns *= 2;
	if (run->options->all)
		tasks_prune(run->tasks, run->drained_ns);
	run->drained_ns = now_ns;
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
		   (now_ns - run->started_ns) / 1e9, text_count(builder_taken(run->builder)),
		   text_count(tally.nr_lost));
}

/* Kernel addresses become names only where there are kernel stacks to name. */
static struct kallsyms *read_kallsyms(const struct run *run)
{
	struct kallsyms *kallsyms = NULL;
	int fd scoped(closep) = -1;
	int err;

	if (!run->options->kernel_stacks)
		return NULL;
	fd = open(PROC "/kallsyms", O_RDONLY | O_CLOEXEC);
	err = fd < 0 ? -errno : kallsyms_read(fd, &kallsyms);
	if (err)
		warn("kernel functions have no names: /proc/kallsyms %s",
		     err == -EPERM ? "shows no addresses (sysctl kernel.kptr_restrict=1 does)"
				   : "cannot be read");
	return kallsyms;
}

static struct report report_of(struct run *run, struct tally *tally, uint64_t now_ns)
{
	struct report report = {
		.options = run->options,
		.duration_ns = now_ns - run->started_ns,
		.tally = tally,
		.builder = run->builder,
	};

	session_tally(run->session, tally);
	if (run->targets.all.nr)
		report.main_process =
			tasks_image(run->tasks, run->targets.all.at[0].tgid, 0, run->started_ns)
				->process;
	return report;
}

static int write_files(struct run *run, enum moment moment, const struct report *report,
		       uint64_t now_ns)
{
	char *comment scoped(freep) = report_comment(report, moment != MOMENT_END);
	struct writing writing = {
		.main_process = report->main_process, .comment = comment, .now_ns = now_ns};

	if (!run->symbolizer) {
		run->kallsyms = read_kallsyms(run);
		run->symbolizer =
			symbolizer_new(run->tasks, run->files, run->objects, run->kallsyms);
	}
	writing.symbolizer = run->symbolizer;
	return writer_write(&run->writer, moment, &writing);
}

static uint64_t earliest(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * Whatever is due in mid-run, just after a drain; what is due with the end is the end's, however late
 * we are. A file that cannot be written does not end it.
 */
static void write_what_is_due(struct run *run)
{
	bool asked = interrupt_take_request();
	uint64_t now_ns = clock_monotonic_ns(), until_ns = earliest(now_ns, end_of(run) - 1);
	struct tally tally;
	struct report report;
	int code = EXIT_DONE, delta_code = EXIT_DONE;

	if (!asked && until_ns < earliest(run->snapshot_ns, run->delta_ns))
		return;
	report = report_of(run, &tally, now_ns);
	if (asked || until_ns >= run->snapshot_ns)
		code = write_files(run, MOMENT_SNAPSHOT, &report, now_ns);
	if (asked || until_ns >= run->delta_ns)
		delta_code = write_files(run, MOMENT_DELTA, &report, now_ns);
	while (run->snapshot_ns <= now_ns)
		run->snapshot_ns += run->options->interval_ns;
	while (run->delta_ns <= now_ns)
		run->delta_ns += run->options->delta_ns;
	if (code || delta_code)
		run->write_code = code ? code : delta_code;
}

/*
 * Waits for the next drain, an interrupt, or the end of the targets; after the least time between two
 * drains what BPF has to say counts too. false: time to stop.
 */
static bool wait_for_more(struct run *run)
{
	uint64_t end_ns = end_of(run);
	uint64_t due_ns = earliest(end_ns, earliest(run->snapshot_ns, run->delta_ns));
	uint64_t rest_ns = earliest(run->drained_ns + LEAST_INTERVAL_NS, due_ns);
	uint64_t wake_ns = earliest(run->drained_ns + run->interval_ns, due_ns);

	targets_wait(&run->targets, run->interrupt_fd, -1, rest_ns);
	if (!interrupt_seen() && (run->options->all || targets_any_left(&run->targets)))
		targets_wait(&run->targets, run->interrupt_fd, session_fd(run->session), wake_ns);
	return !interrupt_seen() && clock_monotonic_ns() < end_ns &&
	       (run->options->all || targets_any_left(&run->targets));
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
	session_stop(run->session);
	run->stopped_ns = clock_monotonic_ns();
	return code ? code : drain(run);
}

static int write_profiles(struct run *run)
{
	struct tally tally;
	struct report report = report_of(run, &tally, run->stopped_ns);
	int code, said;

	detail("stacks finished in user space: %s",
	       text_count(unwinder_nr_completed(run->unwinder)));
	code = write_files(run, MOMENT_END, &report, run->stopped_ns);
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
	child_code = child_wait(&run->child);
	return child_code ? child_code : code;
}

static void finish(struct run *run)
{
	session_close(run->session);
	child_abandon(&run->child);
	captures_close(run->captures);
	unwinder_free(run->unwinder);
	builder_free(run->builder);
	objects_free(run->objects);
	tasks_free(run->tasks);
	files_free(run->files);
	prober_release(&run->prober);
	targets_release(&run->targets);
	symbolizer_free(run->symbolizer);
	kallsyms_free(run->kallsyms);
	writer_release(&run->writer);
	place_release(&run->place);
}

static int catch_interrupts(struct run *run)
{
	run->interrupt_fd = interrupt_open();
	if (run->interrupt_fd >= 0)
		return EXIT_DONE;
	warn("no event descriptor for Ctrl-C: %s", strerror(-run->interrupt_fd));
	return EXIT_CANNOT;
}

int run(const struct options *options)
{
	static int (*const steps[])(struct run *) = {
		find_targets, check_output, catch_interrupts, open_session,
		launch_child, open_rooms,   take_snapshot,    probe_command,
		check_probes, start,	    collect,	      write_profiles,
	};
	struct run run = {.options = options, .child = {.release_fd = -1, .error_fd = -1}};
	int code = EXIT_DONE;

	log_set_verbose(options->verbose);
	raise_open_files();
	give_memory_back();
	for (size_t i = 0; !code && i < sizeof(steps) / sizeof(steps[0]); i++)
		code = steps[i](&run);
	code = wait_for_child(&run, code);
	finish(&run);
	return code;
}
