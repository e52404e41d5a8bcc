/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cuts the frames of allocators, and of C++'s and Rust's containers above them, off the stacks of a
 * heap profile. The question is which function of the program allocates, and
 * std::vector<>::_M_realloc_insert answers it no better than malloc.
 *
 *	main; load; std::vector<>::push_back; std::vector<>::_M_realloc_insert; operator new; malloc
 *	^^^^^^^^^^ stays
 *
 * Two rules. A profile's drop_frames, which every reader of pprof files knows (prune.h), cuts a stack
 * off at the outermost frame that matches: so allocator_frames has only functions that never call into
 * the program. Library functions may: std::for_each() calls a lambda, std::vector<>::emplace_back() a
 * constructor. Of those only the frames at the leaf go, up to the first frame of other code. A library
 * function whose template arguments name a lambda stays as well, and so do functions that only call
 * what they are given (std::__invoke): the program's code may be inlined in them.
 */
#ifndef CPROF_PROFILE_ALLOCFRAMES_H
#define CPROF_PROFILE_ALLOCFRAMES_H

#include "profile/model.h"

/* A regular expression on whole names, as drop_frames is (prune.h); safe to compile (saferegex.h). */
extern const char allocator_frames[];

/* Is it a heap profile? It is if its period type is "space", or if it has a sample type of one. */
bool profile_is_heap(const struct profile *profile);

/*
 * Cuts off, in place, the frames of allocators and libraries at the leaf of each stack. A stack that
 * has no other frames stays as it is. Samples that become equal are not merged (profile_compact() does).
 */
void profile_cut_allocators(struct profile *profile);

#endif
