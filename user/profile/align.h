/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Gives two profiles the same sample types, so that they can be merged: the types that both have, in
 * one order and in the same units. Profiles by two tools differ in these, or in one type more. It is
 * a step of its own, and not part of merging, since it throws types away.
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
