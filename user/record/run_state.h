/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of a collecting run, and its steps. Private to run*.c: run.c holds the order of the steps, run_prepare.c
 * those up to the first sample, run_collect.c sampling, run_write.c writing; run_state.c what several of them ask.
 *
 * A step returns an exit code: EXIT_DONE (0) to go on; otherwise it has printed what failed. What a step opens is
 * released by run.c at the end, so no step undoes its own work.
 */
#ifndef CPROF_RECORD_RUN_STATE_H
#define CPROF_RECORD_RUN_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/workbudget.h"
#include "collect/attacher.h"
#include "collect/session.h"
#include "exit.h"
#include "feed/tablesync.h"
#include "inject/inject.h"
#include "heap/prober.h"
#include "options.h"
#include "process/busiest.h"
#include "process/files.h"
#include "process/opener.h"
#include "process/task.h"
#include "record/addtarget.h"
#include "record/builder.h"
#include "record/captures.h"
#include "record/child.h"
#include "record/dispatch.h"
#include "record/ifuncnames.h"
#include "record/kernelcode.h"
#include "record/liveblocks.h"
#include "record/naming.h"
#include "record/nosamples.h"
#include "record/outpath.h"
#include "record/overhead.h"
#include "record/preload.h"
#include "record/report.h"
#include "record/schedule.h"
#include "record/targets.h"
#include "record/targetset.h"
#include "record/writer.h"
#include "debuginfod/fetcher.h"
#include "sandbox/parser.h"

#define PROC "/proc"

struct run {
	const struct options *options;
	keeper_serve_fn serve;
	struct parser *parser;
	struct opener *opener;	   /* NULL: --no-sandbox */
	struct attacher *attacher; /* heap; NULL: --no-sandbox */
	struct fetcher *fetcher;   /* NULL: nothing is downloaded */
	char lacks[128];	   /* machine_lacks_for_files(), before powers were given up */
	struct outpath outpath;
	struct files *files;
	struct tasks *tasks;
	struct builder *builder;
	struct framenames *framenames;
	struct ifuncnames *ifuncnames;
	struct session *session;
	struct prober prober;
	struct tablesync *tablesync;
	struct captures *captures; /* NULL: not asked for */
	struct dispatch dispatch;
	struct child child;
	uint32_t nr_expected;	  /* files that it will map, as far as they were looked at */
	struct preload preload;	  /* heap: the command samples by itself if it has a path */
	struct injector injector; /* --inject */
	bool is_released;	  /* it runs what it is to run */
	struct targets targets;
	struct targetset targetset;
	struct addtarget addtarget;
	struct nosamples nosamples;
	struct kernelcode kernelcode;
	struct naming naming;
	struct namecache *cache; /* NULL: there is none */
	struct writer writer;
	enum exit_code write_code; /* of the files so far */
	int interrupt_fd;
	struct busiest busiest; /* with -a */
	struct workbudget budget;
	struct workbudget probing; /* heap: of the prober, anew for each drain */
	bool is_all_read;	   /* heap -a: every process was read at least once */
	struct schedule schedule;
	uint64_t stopped_ns;	      /* 0: not yet */
	struct liveblocks liveblocks; /* heap */
	struct overhead_limit limit;  /* heap */
	uint64_t shown_ns;	      /* the status line */
	int64_t realtime_offset_ns;   /* as it was when it was last looked at (base/clock.h) */
	uint64_t suspended_ns;	      /* the same, clock_suspended_ns() */
	uint64_t rate_looked_ns;      /* when the kernel's limit on the rate was last looked at */
	bool is_throttled;	      /* it fell below that of this run, which was said */
	uint32_t nr_clock_jumps;
};

static inline bool run_is_heap(const struct run *run)
{
	return run->options->command == OPTIONS_HEAP;
}

/* Are children of the targets targets? Those of a command that samples by itself are: they inherit its library. */
static inline bool run_follows_forks(const struct run *run)
{
	return run->options->follow_forks || (run->preload.path && !run->options->inject);
}

/* True with -a and no filter: every process is a target. */
bool run_is_everybody(const struct run *run);
/* True if one of the files is standard output. */
bool run_writes_to_stdout(const struct options *options);
/* A callback that tells whether to give up: ctx is the run's struct workbudget. */
bool run_is_time_up(void *ctx);

/* Forks the processes that will open and parse the targets' files, while there is nothing that they could inherit. */
int run_start_helpers(struct run *run);
/* Finds the processes that the options name. */
int run_find_targets(struct run *run);
/* Loads the BPF programs; nothing is sampled yet. */
int run_open_session(struct run *run);
/* Tells what these could not give up; EXIT_CANNOT if that is not safe. */
int run_check_helpers(struct run *run);
/* Gives up the capabilities that main no longer needs (sandbox/narrow.h). */
int run_give_up_powers(struct run *run);
/* Checks that the output can be written, before anything costs time. */
int run_check_output(struct run *run);
/* heap: decides whether the command can sample by itself. */
int run_choose_mode(struct run *run);
/* heap --inject: forks what will load the library into the target. */
int run_start_injector(struct run *run);
/* heap --inject: it is loaded, and samples. */
int run_inject(struct run *run);
/* heap --inject: it is taken out of use. */
int run_end_injection(struct run *run);
/* Forks the command, if there is one; it does not run yet. */
int run_launch_child(struct run *run);
/* Creates what collects and names samples, and connects it. */
int run_open_parts(struct run *run);
/* Reads what the targets have mapped, and gives BPF the tables for it. */
int run_take_snapshot(struct run *run);
/* heap: notes the files that the command will map when it runs. */
int run_probe_command(struct run *run);
/* heap: probes what targets map already. EXIT_NOTHING if there is no allocator, EXIT_CANNOT if none can be probed. */
int run_attach_probes(struct run *run);

/* heap: goes on to probe what could not be examined in time. EXIT_NOTHING or EXIT_CANNOT, as above, once that is known. */
int run_probe_more(struct run *run);

/* heap: says which files are not probed. */
void run_say_unprobed(const struct run *run);

/* heap -p: says beforehand what profiling will cost, if that is much. */
int run_expect_cost(struct run *run);
/* Samples from here on, and lets the command run. */
int run_start(struct run *run);
/* Drains, writes what is due, and waits, until the run ends; then stops sampling and drains a last time. */
int run_collect(struct run *run);

/* What there is to report at now_ns (CLOCK_MONOTONIC). Fills *tally, which the report points to. */
struct report run_report(struct run *run, struct tally *tally, uint64_t now_ns);
/* Writes the files of moment; those that cannot be written do not keep the others from being written. */
int run_write_files(struct run *run, enum moment moment, const struct report *report,
		    uint64_t now_ns);
/* Writes the files of the end, and the closing lines. */
int run_write_profiles(struct run *run);

#endif
