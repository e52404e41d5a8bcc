/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Profiles of one thing by two tools differ in their sample types: one has a type more, or another
 * order, or counts in milliseconds. Merging wants them the same. Explicit, for it throws types away.
 *
 * Source: pprof's CompatibilizeSampleTypes (profile/merge.go) and ScaleProfiles
 * (internal/measurement), which its command line applies to whatever it reads.
 */
#ifndef CPROF_PROFILE_ALIGN_H
#define CPROF_PROFILE_ALIGN_H

#include "profile/model.h"

/*
 * Leaves both the types whose names both have, in a's order, and converts values to the finer of the
 * two units; periods too. Samples left with 0s are dropped. Profiles with the same types stay as
 * they are. -EINVAL: no type in common, or units (or period types) that are not to be converted into
 * each other; nothing was changed then.
 */
int profile_align(struct profile *a, struct profile *b);

#endif
