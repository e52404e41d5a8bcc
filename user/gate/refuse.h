/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Refuses comparisons that cannot be trusted: one line for each reason, added to result->reasons.
 *
 * - a side has no run, or a run has no sample, or negative values (a diff);
 * - two runs are the same profile: a copy is no replicate, and never differs from its original;
 * - sample types or period differ: other events, or other rates of sampling;
 * - too few samples of a side, too many lost ones in a run;
 * - more unknown or truncated stacks on one side: functions seem to shrink that were just not seen;
 * - no replicates, unless that was asked for;
 * - nothing that could be tested.
 *
 * Each reason names its remedy.
 */
#ifndef CPROF_GATE_REFUSE_H
#define CPROF_GATE_REFUSE_H

#include "gate/verdict.h"

/* Before comparing; of a result whose runs, options and counts are set. gate_release() frees the lines. */
void gate_refuse(struct gate_result *result);
/* After comparing: adds a reason if nothing could be tested. */
void gate_refuse_untested(struct gate_result *result);

#endif
