/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Gives two profiles the same sample types, so that they can be merged: the types that both have, in
 * one order and in the same units. Profiles of two tools differ in these, or one has a further type.
 * It is separate from merging, since it drops types.
 *
 * Source: pprof's CompatibilizeSampleTypes (profile/merge.go) and ScaleProfiles
 * (internal/measurement), which its command line applies to all files.
 */
#ifndef CPROF_PROFILE_ALIGN_H
#define CPROF_PROFILE_ALIGN_H

#include "profile/model.h"

/*
 * Keeps the types whose names are in both, in a's order, and converts values and periods to the finer of the two
 * units. Samples left with 0s are dropped. Profiles with the same types are not changed. -EINVAL: they have no type
 * in common, or units (or period types) that cannot be converted; nothing is changed.
 */
int profile_align(struct profile *a, struct profile *b);

#endif
