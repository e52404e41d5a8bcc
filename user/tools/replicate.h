/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Profiles two commands alternately, with this same program: base, head, head, base, base, ... (ABBA), so
 * that drift (a machine that gets warm, a noisy neighbour) affects both sides alike.
 */
#ifndef CPROF_TOOLS_REPLICATE_H
#define CPROF_TOOLS_REPLICATE_H

#include <stdbool.h>
#include <stdint.h>

#include "exit.h"
#include "tools/gating.h"

struct replicate {
	const char *commands[2]; /* by enum run_side; for sh -c */
	uint32_t nr_reps;	 /* of each side, at least */
	uint32_t nr_warm_up;	 /* of each side, not counted */
	uint64_t max_time_ns;	 /* start no run after this time */
	bool heap;
	uint32_t frequency_hz; /* as for record -F */
	uint64_t rate_bytes;   /* as for heap --rate; 0: its default */
	const char *folder;    /* where profiles and logs go; it exists */
};

/*
 * Adds runs until each side has nr_reps runs and min_samples (of the gating's options), or the time is
 * over. Files are FOLDER/WORD.SIDE.N.pb.gz, and .log. EXIT_DONE, or printed: EXIT_USAGE if
 * a command failed, EXIT_NOTHING if it was too short for a single sample, EXIT_CANNOT if it could not
 * be profiled.
 */
enum exit_code replicate(const struct replicate *replicate, const char *word, struct gating *gating,
			 struct runs *runs);

#endif
