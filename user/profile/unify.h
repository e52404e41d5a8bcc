/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Gives functions that are the same in two profiles (profile/identity.h) the same name in both, so that
 * tables and trees match them. The same is done for files: a mapping of the base gets the path of the head's mapping
 * of the same file, if there is exactly one.
 *
 * The name is the head's if the head has one name for the function, otherwise the base's; if a side has several clones
 * of the function, it is the name without the compiler's suffixes. Unnamed code whose addresses cannot be compared is
 * "[libx.so]".
 *
 * No I/O, no printing.
 */
#ifndef CPROF_PROFILE_UNIFY_H
#define CPROF_PROFILE_UNIFY_H

#include "profile/identity.h"
#include "profile/model.h"

/* Changes names of functions and paths of mappings, but no ids. Not for profiles that will be written. */
void profile_unify(struct profile *base, struct profile *head, const struct identity *identity);

#endif
