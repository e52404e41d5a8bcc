/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Leaves out the frames that a profile's drop_frames names, such as those of an allocator or a runtime.
 * drop_frames is a regex that must match the whole of a function's name without its argument list;
 * from the outermost frame that it matches, and keep_frames does not, the stack is cut off towards
 * the leaf. Frames before the first one from the root that stays are left alone, so that no stack
 * loses everything.
 *
 * In a heap profile the frames of C++'s and Rust's libraries at the leaf are then cut, too, which such
 * a regex cannot express (allocframes.h); pprof keeps them.
 *
 * Source: pprof's profile/prune.go.
 */
#ifndef CPROF_PROFILE_PRUNE_H
#define CPROF_PROFILE_PRUNE_H

#include <stdbool.h>

#include "profile/model.h"

/* The rule by itself, for names: is it one that drop names, and keep (NULL: nothing) does not? */
struct prune_rule;
/* NULL: one of both is not a regex that can be taken (saferegex.h). */
struct prune_rule *prune_rule_new(const char *drop, const char *keep);
void prune_rule_free(struct prune_rule *rule); /* NULL is fine */
bool prune_rule_drops(const struct prune_rule *rule, const char *name);

/*
 * Does this in place; a profile of something else without drop_frames stays as it is. -EINVAL: one of
 * both is not a regex that can be taken (saferegex.h); the profile is as it was.
 */
int profile_prune(struct profile *profile);

/*
 * A copy for formats that cannot say which frames to drop, in *pruned, owned by the caller; NULL where
 * there is nothing to drop. -EINVAL as above.
 */
int profile_pruned_copy(const struct profile *profile, struct profile **pruned);

#endif
