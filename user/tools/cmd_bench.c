// SPDX-License-Identifier: BSD-2-Clause
/* cprof bench: profiles two commands alternately until there is enough to compare, and compares them. */
#include "cmd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "output/folder.h"
#include "tools/reading.h"
#include "tools/replicate.h"

#define DEFAULT_REPS	5
#define DEFAULT_SAMPLES 3000
#define DEFAULT_HZ	997 /* ten times record's: runs are short; a prime: no lockstep */

/*
 * Interrupts, which a busy neighbour's network and timers cause: they are not the program's, they come
 * in bursts, and they hit the run that is on then.
 */
#define INTERRUPTS                                                                              \
	"^(asm_)?sysvec_|^(asm_)?common_interrupt|^(__)?irq_exit_rcu$|^handle_softirqs$|^__do_" \
	"softirq$"

struct bench {
	struct gating gating;
	struct replicate replicate;
	const char *keep;
	bool confirm, interrupts;
};

static int make_kept(const char *folder)
{
	struct output_owner owner = output_owner_from_env();
	int fd, err = output_folder_open(folder, OUTPUT_FOLDER_ANY, &owner, &fd);

	if (!err)
		close(fd);
	return err;
}

/* folder: a template of mkdtemp(), filled in. */
static int make_temporary(char *folder)
{
	struct output_owner owner = output_owner_from_env();
	char safe[512];

	if (mkdtemp(folder) && (!owner.given || !chown(folder, owner.uid, owner.gid)))
		return 0;
	return fail(-errno, "cannot create the folder %s", text_escape(folder, safe, sizeof(safe)));
}

/* The folder that was named, made if need be, or a temporary one, in *path, which the caller frees. */
static int open_folder(const char *keep, char **path)
{
	const char *temporary = getenv("TMPDIR");
	char *folder = keep ? xstrdup(keep)
			    : xasprintf("%s/cprof-bench-XXXXXX",
					temporary && *temporary ? temporary : "/tmp");
	int err = keep ? make_kept(folder) : make_temporary(folder);

	if (err)
		free(folder);
	else
		*path = folder;
	return err;
}

/* Once more, with runs of their own: what was a fluke does not come back. */
static enum exit_code confirm(struct bench *bench, const struct gate_result *first)
{
	struct gate_result second;
	struct runs runs = {0};
	enum exit_code code;

	say("regression found: measuring again to confirm it (--confirm)");
	bench->replicate.nr_warm_up = 0;
	code = replicate(&bench->replicate, LAUNCH_CONFIRM, &bench->gating, &runs);
	if (!code) {
		gate_check(&runs, &bench->gating.options, &second);
		gate_confirm(&second, first);
		code = gating_report(&bench->gating, &second);
		gate_release(&second);
	}
	runs_release(&runs);
	return code;
}

static enum exit_code measure(struct bench *bench)
{
	struct gate_result result;
	struct runs runs = {0};
	enum exit_code code = replicate(&bench->replicate, LAUNCH_RUN, &bench->gating, &runs);

	if (!code) {
		gate_check(&runs, &bench->gating.options, &result);
		if (bench->confirm && result.verdict == GATE_REGRESSION)
			code = confirm(bench, &result);
		else
			code = gating_report(&bench->gating, &result);
		gate_release(&result);
	}
	runs_release(&runs);
	return code;
}

static int complete(struct bench *bench, const struct arg_list *operands)
{
	const struct launch *launch = &bench->replicate.launch;

	if (operands->nr)
		return fail(-EINVAL,
			    "unexpected argument '%s': quote the command, as in --head 'CMD'.",
			    operands->at[0]);
	if (!launch->commands[RUN_BASE] || !launch->commands[RUN_HEAD])
		return fail(-EINVAL, "no commands to compare: use --base 'CMD' and --head 'CMD'.");
	if (!launch->heap && launch->rate_bytes)
		return fail(-EINVAL, "--rate needs --heap.");
	if (launch->heap && !bench->gating.selection.sample_type)
		bench->gating.selection.sample_type = "alloc_space";
	if (!bench->interrupts && !bench->gating.selection.ignore)
		bench->gating.selection.ignore = INTERRUPTS;
	return gating_complete(&bench->gating);
}

static enum exit_code run_bench(struct bench *bench, const struct reading *reading,
				const struct args *args)
{
	struct replicate *replicate = &bench->replicate;
	char *folder scoped(freep) = NULL;
	enum exit_code code;

	if (complete(bench, &args->operand) || open_folder(bench->keep, &folder))
		return EXIT_USAGE;
	replicate->launch.folder = folder;
	replicate->launch.is_temporary = !bench->keep;
	if (launcher_start(&replicate->launch, &replicate->launcher))
		return EXIT_CANNOT;
	code = reading_confine(reading, args, true);
	if (!code)
		code = measure(bench);
	launcher_stop(&replicate->launcher);
	return code;
}

int cmd_bench(int argc, char **argv)
{
	struct bench bench = {.replicate = {.nr_reps = DEFAULT_REPS,
					    .nr_warm_up = 1,
					    .max_time_ns = 600 * NSEC_PER_SEC,
					    .launch.frequency_hz = DEFAULT_HZ}};
	struct replicate *replicate = &bench.replicate;
	struct launch *launch = &replicate->launch;
	struct reading reading = {.no_sandbox = false};
	const struct arg_row rows[] = {
		{"base", 0, ARG_TEXT, "'CMD'", "run this command with sh -c, as the old version",
		 &launch->commands[RUN_BASE]},
		{"head", 0, ARG_TEXT, "'CMD'", "run this command with sh -c, as the new version",
		 &launch->commands[RUN_HEAD]},
		{"reps", 'r', ARG_COUNT_FROM(1, UINT32_MAX), "N",
		 "run each command at least N times (default 5)", &replicate->nr_reps},
		{"max-time", 0, ARG_DURATION, "TIME",
		 "start no run after TIME (default 10m; doubled by --confirm)",
		 &replicate->max_time_ns},
		{"warm-up", 0, ARG_COUNT, "N",
		 "run each command N times first, uncounted (default 1)", &replicate->nr_warm_up},
		{"frequency", 'F', ARG_FREQUENCY, "HZ",
		 "sample HZ times per second on each CPU (default 997)", &launch->frequency_hz},
		{"heap", 0, ARG_FLAG, NULL, "profile allocations, not CPU time", &launch->heap},
		{"rate", 0, ARG_SIZE, "BYTES", "with --heap, take one sample per BYTES allocated",
		 &launch->rate_bytes},
		{"keep", 0, ARG_FILE, "DIR", "keep profiles and logs in DIR", &bench.keep},
		{"confirm", 0, ARG_FLAG, NULL,
		 "report a regression only if a second measurement finds it, "
		 "too",
		 &bench.confirm},
		{"interrupts", 0, ARG_FLAG, NULL, "count the time spent in interrupts, too",
		 &bench.interrupts},
		GATING_ROWS(&bench.gating),
		READING_ROWS(&reading),
	};
	struct args args scoped(args_release) = {
		.command = "bench",
		.operands = "--base 'CMD' --head 'CMD'",
		.about = "Profile two commands in alternation, until there are enough runs and "
			 "samples, and "
			 "compare them as cprof check does.",
		.rows = rows,
		.nr_rows = ARRAY_SIZE(rows),
		.epilog = "Exit codes: 0 no regression, 1 regression, 2 usage error or a command "
			  "that failed, "
			  "3 inconclusive, 4 missing privileges or kernel support",
	};
	enum exit_code code;

	gating_init(&bench.gating);
	bench.gating.options.min_samples = DEFAULT_SAMPLES;
	if (args_begin(&args, argc, argv, &code))
		code = run_bench(&bench, &reading, &args);
	gating_release(&bench.gating);
	return code;
}
