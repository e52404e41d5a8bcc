/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tests of a comparison that is worth one: selects what has weight, makes units of it (dense: one
 * value for each run), fits, compares, adjusts. Fills tests (but for their outcomes), cv and
 * detectable_* of a result whose runs, options and counts are set, and that was not refused.
 */
#ifndef CPROF_GATE_COMPARE_H
#define CPROF_GATE_COMPARE_H

#include "gate/verdict.h"

void gate_compare(struct gate_result *result);

#endif
