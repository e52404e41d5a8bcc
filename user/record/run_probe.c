// SPDX-License-Identifier: BSD-2-Clause
/*
 * The steps of a heap run that place probes. To examine thousands of files takes longer than a start may: a budget ends
 * it, and each drain goes on for a while. So sampling begins in time, with the most used allocators, and Ctrl-C works. Who does
 * nothing before cprof says so, a launched command or an injection, waits for longer: nothing is missed meanwhile.
 */
#include <errno.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/vec.h"
#include "heap/unprobed.h"
#include "process/traits.h"
#include "record/elfdeps.h"
#include "record/interrupt.h"
#include "record/overhead.h"
#include "record/run_state.h"

#define DRAIN_NS 200000000ull /* of a second, which is how often drains come at least */

/* How long a launched command, or an injection, waits for its probes. */
#define PROBES_WAIT_NS (5 * NSEC_PER_SEC)
#define PAUSE_NS       5000000

static struct elfdeps_helpers helpers_of(const struct run *run)
{
	return (struct elfdeps_helpers){run->opener, run->parser};
}

int run_choose_mode(struct run *run)
{
	const struct elfdeps_helpers helpers = helpers_of(run);
	const struct options *o = run->options;

	if (o->inject && preload_find(&run->preload)) {
		warn("--inject: %s.", run->preload.reason);
		return EXIT_CANNOT;
	}
	if (!run_is_heap(run) || !o->child_is_target || o->mode == OPTIONS_MODE_PROBE)
		return EXIT_DONE;
	if (preload_choose(&run->preload, o->child_argv[0], o->rate_bytes, &helpers) == -ENOTSUP)
		say("%s: it is probed from outside", run->preload.reason);
	return EXIT_DONE;
}

/*
 * Where the command samples by itself, its executable is all that may need probes: it comes first. Unwind tables are built
 * for all of them, because such a command has its first samples soon.
 */
static void expect_file(void *ctx, const char *path)
{
	struct run *run = ctx;
	size_t bytes;
	uint32_t file = prober_file(&run->prober, run->child.pid, path, &bytes);

	if (file != FILE_NONE)
		tablesync_expect(run->tablesync, file);

	if (!run->preload.path || !run->nr_expected)
		prober_expect(&run->prober, run->child.pid, path);
	run->nr_expected++;
}

/* Its first allocation comes before its mappings are reported. */
int run_probe_command(struct run *run)
{
	const struct elfdeps_helpers helpers = helpers_of(run);

	if (run->preload.path && prober_serve(&run->prober, run->preload.path)) {
		warn("cannot read '%s'", run->preload.path);
		return EXIT_CANNOT;
	}
	if (!run->options->child_is_target)
		return EXIT_DONE;
	if (run_is_heap(run))
		elfdeps_of(run->options->child_argv[0], &helpers, expect_file, run);
	if (run->preload.path)
		expect_file(run, run->preload.path);
	return EXIT_DONE;
}

/* With filters there may be no target yet. */
static size_t nr_chosen(const struct run *run)
{
	return targetset_judges(&run->targetset) ? run->targetset.nr_wanted : 1;
}

/* Nothing can be probed: why. */
static int complain(const struct run *run)
{
	const struct prober *prober = &run->prober;
	char words[2048];

	if (*prober_unprobed(prober, words, sizeof(words))) {
		warn("no allocator can be probed: %s.", words);
		return EXIT_CANNOT;
	}
	if (prober->managed)
		warn("the target is %s; malloc allocates %s.", prober->managed->what,
		     managed_words(prober->managed, words, sizeof(words)));
	else if (prober->has_nameless)
		warn("no allocator found: malloc cannot be found in a static program without "
		     "symbols. "
		     "Keep its symbols (do not strip it), or link it dynamically.");
	else
		warn("no allocator found: none of the target's files defines malloc and free. It "
		     "allocates nothing, or has an allocator with other names.");
	return EXIT_NOTHING;
}

static bool has_more(const struct run *run)
{
	return prober_has_work(&run->prober) || (run_is_everybody(run) && !run->is_all_read);
}

/* For probes: as the run's, without its limit. */
static struct workbudget work_of(const struct run *run)
{
	return (struct workbudget){.look = run->budget.look,
				   .ctx = run->budget.ctx,
				   .others_cpu_ns = run->budget.others_cpu_ns,
				   .others = run->budget.others};
}

/* Until all that was noted is probed, also what the kernel has not placed yet (collect/attacher.h). */
static void await_probes(struct run *run)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	uint64_t end_ns = clock_monotonic_ns() + PROBES_WAIT_NS, now_ns;

	while (prober_has_work(&run->prober) && !interrupt_seen() &&
	       (now_ns = clock_monotonic_ns()) < end_ns) {
		workbudget_limit(&run->probing, end_ns - now_ns, interrupt_seen);
		prober_work(&run->prober);
		if (prober_has_work(&run->prober))
			nanosleep(&pause, NULL);
	}
}

int run_attach_probes(struct run *run)
{
	const struct prober *prober = &run->prober;

	if (!run_is_heap(run))
		return EXIT_DONE;
	session_measure(run->session);
	run->probing = work_of(run);
	workbudget_limit(&run->probing, WORKBUDGET_START_NS, interrupt_seen);
	prober_work(&run->prober);
	if (run->options->child_is_target || run->options->inject)
		await_probes(run);
	if (has_more(run))
		detail("%zu files are examined later",
		       prober->candidates.queue.nr + prober->held.is_any);
	else
		detail("every mapped file is examined");
	if (prober->nr_sites || has_more(run) || run->options->child_is_target || !nr_chosen(run))
		return EXIT_DONE;
	return complain(run);
}

static bool is_runnable(uint32_t tgid)
{
	struct traits_time time = {0};

	return !traits_time(PROC, tgid, &time) && time.is_runnable;
}

int run_expect_cost(struct run *run)
{
	const struct options *o = run->options;
	struct overhead expected;
	uint64_t look_ns;

	if (!run_is_heap(run) || o->all || o->child_is_target || o->inject || !run->prober.nr_sites)
		return EXIT_DONE;
	look_ns = session_look(run->session, interrupt_seen, is_runnable, &expected);
	if (!interrupt_seen())
		overhead_warn(&expected, look_ns, o->allocs_only);
	return EXIT_DONE;
}

/* Nobody comes any more whose files could be probed. */
static bool is_hopeless(const struct run *run)
{
	return !run->prober.nr_sites && !run_is_everybody(run) && !run->options->child_is_target &&
	       !targetset_judges(&run->targetset);
}

int run_probe_more(struct run *run)
{
	bool had_more = run_is_heap(run) && has_more(run);

	if (!run_is_heap(run) || run->stopped_ns)
		return EXIT_DONE;
	run->probing = work_of(run);
	workbudget_limit(&run->probing, DRAIN_NS, interrupt_seen);
	if (run_is_everybody(run) && !run->is_all_read)
		run->is_all_read = tasks_snapshot_rest(run->tasks, run_is_time_up, &run->probing) <=
				   0;
	prober_work(&run->prober);
	if (!had_more || has_more(run))
		return EXIT_DONE;
	detail("every mapped file is examined");
	return is_hopeless(run) ? complain(run) : EXIT_DONE;
}

void run_say_unprobed(const struct run *run)
{
	char words[2048];

	if (run_is_heap(run) && *prober_unprobed(&run->prober, words, sizeof(words)))
		warn("not probed: %s. What is allocated there is not in the profile.", words);
}
