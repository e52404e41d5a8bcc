/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Profiles two commands alternately, with this same program: base, head, head, base, base, ... (ABBA), so
 * that drift (a machine that gets warm, a noisy neighbour) affects both sides alike.
 */
#ifndef CPROF_TOOLS_REPLICATE_H
#define CPROF_TOOLS_REPLICATE_H

#include <stdint.h>

#include "exit.h"
#include "tools/gating.h"
#include "tools/launcher.h"

struct replicate {
	struct launch launch;
	struct launcher launcher; /* started */
	uint32_t nr_reps;	  /* of each side, at least */
	uint32_t nr_warm_up;	  /* of each side, not counted */
	uint64_t max_time_ns;	  /* start no run after this time */
};

/*
 * Adds runs until each side has nr_reps runs and min_samples (of the gating's options), or the time is
 * over. EXIT_DONE, or that of launcher_run(), or EXIT_USAGE: a profile cannot be read, printed.
 */
enum exit_code replicate(const struct replicate *replicate, enum launch_kind kind,
			 struct gating *gating, struct runs *runs);

#endif
