/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Refuses comparisons that cannot be trusted: one line for each reason, added to result->reasons.
 *
 * - a side has no run, a run has no sample, or a run has negative values (a difference);
 * - two runs are the same profile: a copy is not a replicate;
 * - sample types or periods differ: other events or sampling rates;
 * - a side has too few samples, or a run lost too many;
 * - a side has more unknown or truncated stacks: functions that were not seen appear to shrink;
 * - there are no replicates, unless --single was given;
 * - there is nothing to test.
 *
 * Each reason says what to do.
 */
#ifndef CPROF_GATE_REFUSE_H
#define CPROF_GATE_REFUSE_H

#include "gate/verdict.h"

/* To call before comparing; runs, options and counts of result are set. gate_release() frees the lines. */
void gate_refuse(struct gate_result *result);
/* To call after comparing: adds a reason if nothing could be tested. */
void gate_refuse_untested(struct gate_result *result);

#endif
