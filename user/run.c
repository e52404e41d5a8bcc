// SPDX-License-Identifier: BSD-2-Clause
/*
 * The steps of a run, in order; each prints what went wrong and returns an exit code, EXIT_DONE (0)
 * to go on. What a step opened, finish() releases, however far it came.
 */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
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
#include "process/procfs.h"
#include "process/task.h"
#include "prober.h"
#include "profile/builder.h"
#include "profile/symbolize.h"
#include "report.h"
#include "unwinder.h"

#define PROC "/proc"

/*
 * Between two drains: short while there is code that BPF does not know, then longer and longer. When
 * a sample comes to unknown code BPF asks for the next one, which comes soon: a program that runs for
 * a tenth of a second should not have to do without tables for a third of it.
 */
#define LEAST_INTERVAL_NS (NSEC_PER_SEC / 100)
#define FIRST_INTERVAL_NS (NSEC_PER_SEC / 32)
#define DRAIN_INTERVAL_NS NSEC_PER_SEC

struct target {
	uint32_t tgid;
	int pidfd; /* -1: it has ended */
};

struct run {
	const struct options *options;
	struct report_place place;
	struct files *files;
	struct tasks *tasks;
	struct objects *objects;
	struct builder *builder;
	struct session *session;
	struct prober prober;
	struct unwinder *unwinder;
	struct captures *captures; /* NULL: not asked for */
	struct child child;
	vec_of(struct target) targets;
	int interrupt_fd;
	uint64_t started_ns, stopped_ns, drained_ns;
	uint64_t shown_ns;    /* the status line */
	uint64_t interval_ns; /* until the next drain */
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
 * gives it back each time.
 */
static void give_memory_back(void)
{
	mallopt(M_MMAP_THRESHOLD, 256 * 1024);
}

static int check_output(struct run *run)
{
	return report_check(run->options, &run->place) ? EXIT_USAGE : EXIT_DONE;
}

static int watch_target(struct run *run, uint32_t tgid)
{
	int pidfd = syscall(SYS_pidfd_open, tgid, 0);

	if (pidfd < 0)
		return fail(-errno, "watch process %u", tgid);
	fcntl(pidfd, F_SETFD, FD_CLOEXEC);
	vec_push(&run->targets, (struct target){tgid, pidfd});
	return 0;
}

/* Is pid something that can be profiled? If not, says what it is. */
static int check_pid(uint32_t pid)
{
	struct proc_stat stat;
	char comm[4 * COMM_BYTES];
	uint32_t tgid;
	int err = procfs_tgid_of(PROC, pid, &tgid);

	if (!err)
		err = procfs_stat(PROC, pid, &stat);
	if (err == -ESRCH)
		return fail(err, "there is no process %u.", pid);
	if (err)
		return fail(err, "look at process %u", pid);
	text_escape(stat.comm, comm, sizeof(comm));
	if (tgid != pid)
		return fail(-EINVAL, "%u is a thread (%s) of process %u: give -p %u -t.", pid, comm,
			    tgid, tgid);
	if (stat.state == 'Z')
		return fail(-ESRCH,
			    "process %u (%s) has ended: only its parent has not noticed yet.", pid,
			    comm);
	if (stat.is_kernel_thread)
		return fail(-EINVAL,
			    "process %u (%s) is a kernel thread: see it with cprof record -a.", pid,
			    comm);
	if (pid == (uint32_t)getpid())
		return fail(-EINVAL, "process %u is this cprof itself.", pid);
	return 0;
}

static int find_targets(struct run *run)
{
	vec_for_each(&run->options->pids, pid)
		if (check_pid(*pid) || watch_target(run, *pid))
			return EXIT_USAGE;
	return EXIT_DONE;
}

static int open_session(struct run *run)
{
	const struct options *o = run->options;
	struct session_options options = {
		.source = is_heap(run) ? SESSION_HEAP : SESSION_CPU,
		.frequency_hz = o->frequency_hz,
		.rate_bytes = o->rate_bytes,
		.all = o->all,
		.follow_forks = !is_heap(run),
		.threads = o->threads,
		.kernel_stacks = o->kernel_stacks,
		.captures = o->captures,
		.allocs_only = o->allocs_only,
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
	return watch_target(run, run->child.pid) ? EXIT_CANNOT : EXIT_DONE;
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
				      .allocs_only = run->options->allocs_only};
	vec_for_each(&run->targets, target)
		vec_push(&run->prober.targets, target->tgid);
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
	unwinder_follow(run->unwinder, tgid, !is_child);
	return session_add_target(run->session, tgid, is_child);
}

/* What is mapped now. From here on the side-band says what changes. */
static int take_snapshot(struct run *run)
{
	if (run->options->all)
		return tasks_snapshot_all(run->tasks) ? EXIT_CANNOT : EXIT_DONE;
	vec_for_each(&run->targets, target) {
		int err = snapshot_target(run, target->tgid);

		if (err)
			return err == -ESRCH ? EXIT_USAGE : EXIT_CANNOT;
	}
	unwinder_sync(run->unwinder);
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

static int start(struct run *run)
{
	run->started_ns = run->drained_ns = clock_monotonic_ns();
	run->interval_ns = FIRST_INTERVAL_NS;
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
	int err = session_drain(run->session, &sink, true);
	bool is_new;

	/* What is mapped first: it is there at once, and samples go on while the rest is waited for. */
	is_new = unwinder_sync(run->unwinder);
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

/*
 * Sleeps until something happens, at most until wake_ns; notes targets that ended. early: what BPF
 * has to say counts too.
 */
static void sleep_until(struct run *run, uint64_t wake_ns, bool early)
{
	struct pollfd *fds scoped(freep) = xcalloc(run->targets.nr + 2, sizeof(*fds));
	uint64_t now_ns = clock_monotonic_ns(), left_ns = wake_ns > now_ns ? wake_ns - now_ns : 0;
	struct timespec timeout = {left_ns / NSEC_PER_SEC, left_ns % NSEC_PER_SEC};

	fds[0] = (struct pollfd){.fd = run->interrupt_fd, .events = POLLIN};
	fds[1] = (struct pollfd){.fd = early ? session_fd(run->session) : -1, .events = POLLIN};
	for (size_t i = 0; i < run->targets.nr; i++)
		fds[i + 2] = (struct pollfd){.fd = run->targets.at[i].pidfd, .events = POLLIN};
	if (ppoll(fds, run->targets.nr + 2, &timeout, NULL) <= 0)
		return;
	for (size_t i = 0; i < run->targets.nr; i++) {
		if (!fds[i + 2].revents)
			continue;
		close(run->targets.at[i].pidfd);
		run->targets.at[i].pidfd = -1;
	}
}

static bool any_target_left(const struct run *run)
{
	vec_for_each(&run->targets, target)
		if (target->pidfd >= 0)
			return true;
	return run->options->all;
}

/* Waits for the next drain, an interrupt, or the end of the targets. false: time to stop. */
static bool wait_for_more(struct run *run)
{
	uint64_t rest_ns = run->drained_ns + LEAST_INTERVAL_NS;
	uint64_t wake_ns = run->drained_ns + run->interval_ns;
	uint64_t end_ns = run->options->duration_ns ? run->started_ns + run->options->duration_ns
						    : UINT64_MAX;

	sleep_until(run, rest_ns < end_ns ? rest_ns : end_ns, false);
	if (!interrupt_seen() && any_target_left(run))
		sleep_until(run, wake_ns < end_ns ? wake_ns : end_ns, true);
	return !interrupt_seen() && clock_monotonic_ns() < end_ns && any_target_left(run);
}

static int collect(struct run *run)
{
	int code = EXIT_DONE;

	while (!code && wait_for_more(run)) {
		code = drain(run);
		show_status(run);
	}
	session_stop(run->session);
	run->stopped_ns = clock_monotonic_ns();
	return code ? code : drain(run);
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

static int write_profiles(struct run *run)
{
	struct kallsyms *kallsyms = read_kallsyms(run);
	struct symbolizer *symbolizer =
		symbolizer_new(run->tasks, run->files, run->objects, kallsyms);
	struct tally tally;
	struct report report = {
		.options = run->options,
		.place = &run->place,
		.duration_ns = run->stopped_ns - run->started_ns,
		.tally = &tally,
	};
	int code;

	session_tally(run->session, &tally);
	detail("stacks finished in user space: %s",
	       text_count(unwinder_nr_completed(run->unwinder)));
	if (run->targets.nr)
		report.main_process =
			tasks_image(run->tasks, run->targets.at[0].tgid, 0, run->started_ns)
				->process;
	code = report_write(&report, run->builder, symbolizer);
	symbolizer_free(symbolizer);
	kallsyms_free(kallsyms);
	return code;
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
	vec_for_each(&run->targets, target)
		closep(&target->pidfd);
	vec_release(&run->targets);
	report_place_release(&run->place);
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
		launch_child, open_rooms,   take_snapshot,    check_probes,
		start,	      collect,	    write_profiles,
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
