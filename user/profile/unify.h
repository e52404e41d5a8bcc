/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Gives functions that are the same in two profiles (profile/identity.h) the same name in both, so that
 * tables and trees pair them. Files are treated alike: a mapping of the base gets the path of the head's
 * mapping of the same file, if there is just one.
 *
 * The name is the head's own where head knows the function by one name only, else the base's own, and
 * where a side has several clones of it the name without what the compiler made up. Addresses that say
 * nothing are "[libx.so]".
 *
 * No I/O, no printing.
 */
#ifndef CPROF_PROFILE_UNIFY_H
#define CPROF_PROFILE_UNIFY_H

#include "profile/identity.h"
#include "profile/model.h"

/* Changes names of functions and paths of mappings; ids stay. Not for profiles that are to be written. */
void profile_unify(struct profile *base, struct profile *head, const struct identity *identity);

#endif
