/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Turns the columns of a CFI row into an unwind rule of 16 bytes.
 */
#ifndef CPROF_UNWIND_CFARULE_H
#define CPROF_UNWIND_CFARULE_H

#include <stdbool.h>

#include "unwind/cfa.h"
#include "unwind_abi.h"

/*
 * The rule for a state; UNWIND_UNSUPPORTED if no rule can express it. signal: the CIE has 'S'. track_extra: set
 * extra_slot.
 */
struct unwind_rule cfarule_of(const struct unwind_arch *arch, const struct cfa_state *state,
			      bool signal, bool track_extra);

#endif
