/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process that profiles commands for bench, by running this same program as record or heap.
 *
 * The process that reads the profiles is confined and can run nothing (tools/reading.h). So this one is forked before
 * that: it keeps the privileges that recording needs, parses nothing, and runs what the options say, when it is asked
 * to by number.
 */
#ifndef CPROF_TOOLS_LAUNCHER_H
#define CPROF_TOOLS_LAUNCHER_H

#include <stdbool.h>
#include <stdint.h>

#include "exit.h"
#include "gate/runs.h"

enum launch_kind {
	LAUNCH_WARM_UP,
	LAUNCH_RUN,
	LAUNCH_CONFIRM,
	NR_LAUNCH_KINDS
};

struct launch {
	const char *commands[2]; /* by enum run_side; for sh -c */
	bool heap;
	uint32_t frequency_hz; /* as for record -F */
	uint64_t rate_bytes;   /* as for heap --rate; 0: its default */
	const char *folder;    /* where profiles and logs go; it exists */
	bool is_temporary;     /* the folder is removed at the end, with all files in it */
};

struct launcher {
	int requests, replies; /* pipes */
};

/* Call it while the process has one thread; launch is borrowed until launcher_stop(). -errno, printed. */
int launcher_start(const struct launch *launch, struct launcher *launcher);
/*
 * Profiles a command once, to launch_path(). EXIT_DONE, or printed: EXIT_USAGE if the command failed, EXIT_NOTHING if it
 * was too short for a single sample, EXIT_CANNOT if it could not be profiled.
 */
enum exit_code launcher_run(const struct launcher *launcher, enum launch_kind kind,
			    enum run_side side, uint32_t number);
/* The path of a run's profile: FOLDER/KIND.SIDE.NUMBER.pb.gz. Owned by the caller. */
char *launch_path(const struct launch *launch, enum launch_kind kind, enum run_side side,
		  uint32_t number);
/*
 * Whether SIGINT is heard: then it does not end this process, and the profiler, which gets Ctrl-C too, ends by itself. Of a run that
 * failed then nothing is printed.
 */
void launcher_hear_interrupts(bool hears);
bool launcher_was_interrupted(void);
/* Waits for its end, when a temporary folder is gone. */
void launcher_stop(struct launcher *launcher);

#endif
