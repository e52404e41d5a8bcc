/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Removes the frames of allocators, and of C++'s and Rust's containers that call them, from the leaves of a heap
 * profile's stacks: the profile shows which function of the program allocates, and
 * std::vector<>::_M_realloc_insert is as unhelpful as malloc.
 *
 *	main; load; std::vector<>::push_back; std::vector<>::_M_realloc_insert; operator new; malloc
 *	^^^^^^^^^^ stays
 *
 * There are two rules. drop_frames, which readers of pprof files apply (prune.h), cuts a stack at the outermost
 * frame that matches, so allocator_frames has only functions that never call the program. Library functions may:
 * std::for_each() calls a lambda, std::vector<>::emplace_back() a constructor. So of these only the frames at the
 * leaf are removed, up to the first frame of other code. A library function whose template arguments name a lambda
 * is kept, and so are functions that only call their argument (std::__invoke): the program's code may be inlined
 * in them.
 */
#ifndef CPROF_PROFILE_ALLOCFRAMES_H
#define CPROF_PROFILE_ALLOCFRAMES_H

#include "profile/model.h"

/* A regular expression on whole names, as drop_frames is (prune.h); safe to compile (saferegex.h). */
extern const char allocator_frames[];

/* Whether it is a heap profile: its period type is "space", or it has a sample type of one. */
bool profile_is_heap(const struct profile *profile);

/*
 * Removes, in place, the frames of allocators and libraries at the leaf of each stack. A stack without other frames
 * is not changed. Samples that become equal are not merged (profile_compact() does).
 */
void profile_cut_allocators(struct profile *profile);

#endif
