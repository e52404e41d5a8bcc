// SPDX-License-Identifier: BSD-2-Clause
/*
 * The order of the steps of a run (run_state.h says what each does), and its end: a launched command is waited for,
 * and everything that the steps opened is released, however far they came. One release for all steps, instead of
 * one undo per step, because every release function accepts what was never opened.
 */
#include "record/run.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "record/interrupt.h"
#include "record/priority.h"
#include "record/resources.h"
#include "record/run_state.h"

static int catch_interrupts(struct run *run)
{
	run->interrupt_fd = interrupt_open();
	if (run->interrupt_fd >= 0)
		return EXIT_DONE;
	warn("cannot create a descriptor for Ctrl-C: %s", strerror(-run->interrupt_fd));
	return EXIT_CANNOT;
}

/* The command may run longer than sampling does: its exit code is passed on. */
static int wait_for_child(struct run *run, int code)
{
	int child_code;

	if (!run->child.pid)
		return code;
	if (!run->is_released) { /* it never ran */
		child_abandon(&run->child);
		child_wait(&run->child, NULL);
		return code;
	}
	if (child_runs(&run->child))
		say("waiting for '%s' to exit", run->options->child_argv[0]);
	child_code = child_wait(&run->child, interrupt_insisted);
	if (child_code != -EINTR)
		return child_code ? child_code : code;
	warn("interrupted again: not waiting for '%s', which gets SIGTERM",
	     run->options->child_argv[0]);
	return interrupt_exit_code();
}

/* The exit code, which is code unless something fails now. */
static int finish(struct run *run, int code)
{
	run_end_injection(run);
	tablesync_free(run->tablesync); /* gives tables back to the session */
	session_close(run->session);
	child_abandon(&run->child);
	if (captures_close(run->captures) && !code)
		code = EXIT_USAGE;
	builder_free(run->builder);
	framenames_free(run->framenames);
	ifuncnames_free(run->ifuncnames);
	priority_share(NULL, NULL);
	parser_close(run->parser);
	opener_close(run->opener);
	attacher_close(run->attacher);
	fetcher_close(run->fetcher);
	tasks_free(run->tasks);
	files_free(run->files);
	prober_release(&run->prober);
	dispatch_release(&run->dispatch);
	targetset_release(&run->targetset);
	nosamples_release(&run->nosamples);
	targets_release(&run->targets);
	naming_release(&run->naming);
	kernelcode_release(&run->kernelcode);
	namecache_close(run->cache);
	writer_release(&run->writer);
	outpath_release(&run->outpath);
	preload_release(&run->preload);
	busiest_release(&run->busiest);
	return code;
}

/* Interrupted before sampling began. */
static bool is_over_early(const struct run *run)
{
	if (run->schedule.started_ns || !interrupt_seen())
		return false;
	warn("interrupted before sampling began: nothing is written.");
	return true;
}

int run(const struct options *options, keeper_serve_fn serve)
{
	static int (*const steps[])(struct run *) = {
		catch_interrupts,   run_start_helpers,	run_choose_mode,   run_find_targets,
		run_open_session,   run_check_helpers,	run_check_output,  run_launch_child,
		run_start_injector, run_open_parts,	run_take_snapshot, run_probe_command,
		run_attach_probes,  run_give_up_powers, run_inject,	   run_expect_cost,
		run_start,	    run_collect,	run_end_injection, run_write_profiles,
	};
	struct run run = {
		.options = options, .serve = serve, .child = {.release_fd = -1, .error_fd = -1}};
	int code = EXIT_DONE;

	log_set_verbose(options->verbose);
	resources_claim();
	priority_begin();
	for (size_t i = 0; !code && i < sizeof(steps) / sizeof(steps[0]); i++)
		code = is_over_early(&run) ? EXIT_NOTHING : steps[i](&run);
	code = wait_for_child(&run, code);
	return finish(&run, code);
}
