/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Removes the frames that a profile's drop_frames names, such as those of an allocator or a runtime.
 *
 * drop_frames is a regex that must match the whole name of a function without its argument list. From the outermost
 * frame that it matches, and keep_frames does not, the stack is cut toward the leaf. Matching frames at the root,
 * before the first other one, are kept, so that no stack loses all frames.
 *
 * In a heap profile the frames of C++'s and Rust's libraries at the leaf are then removed, too, which such a regex
 * cannot express (allocframes.h); pprof keeps them.
 *
 * Source: pprof's profile/prune.go.
 */
#ifndef CPROF_PROFILE_PRUNE_H
#define CPROF_PROFILE_PRUNE_H

#include <stdbool.h>

#include "profile/model.h"

/* The rule for names: drop matches the name, and keep (NULL: nothing) does not. */
struct prune_rule;
/* NULL: one of them is not a regex, or not a safe one (saferegex.h). */
struct prune_rule *prune_rule_new(const char *drop, const char *keep);
void prune_rule_free(struct prune_rule *rule); /* NULL is fine */
bool prune_rule_drops(const struct prune_rule *rule, const char *name);

/*
 * Removes the frames in place; does nothing to a profile without drop_frames that is not a heap profile. -EINVAL: one
 * of the two is not a regex, or not a safe one (saferegex.h); the profile is unchanged.
 */
int profile_prune(struct profile *profile);

/*
 * Makes a copy without the frames in *pruned (owned by the caller), for formats that cannot express drop_frames; NULL
 * if there is nothing to drop. -EINVAL as above.
 */
int profile_pruned_copy(const struct profile *profile, struct profile **pruned);

#endif
