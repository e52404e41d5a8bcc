/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The frames of a heap profile that stand between an allocator and the program: malloc, operator new,
 * and then the containers of the standard libraries of C++ and Rust. Who allocates is the question,
 * and std::vector<>::_M_realloc_insert is no more of an answer than malloc.
 *
 *	main; load; std::vector<>::push_back; std::vector<>::_M_realloc_insert; operator new; malloc
 *	^^^^^^^^^^ stays
 *
 * Two rules. A profile's drop_frames, which every reader of pprof files knows (prune.h), cuts a stack
 * off at the outermost frame that matches: so allocator_frames has only functions that call nothing of
 * the program. What a library calls back may be the program's: std::for_each() calls a lambda,
 * std::vector<>::emplace_back() a constructor. So of those only the run at the leaf goes, up to the
 * first frame of somebody else. A library function whose template arguments name a lambda stays as
 * well, and so do functions that do nothing but call what they are given (std::__invoke): the
 * program's code may be inlined in them.
 */
#ifndef CPROF_PROFILE_ALLOCFRAMES_H
#define CPROF_PROFILE_ALLOCFRAMES_H

#include "profile/model.h"

/* A regular expression on whole names, as drop_frames is (prune.h); tame (saferegex.h). */
extern const char allocator_frames[];

/* Does it say who allocates? By its period, which is a space, or by a sample type of a heap profile. */
bool profile_is_heap(const struct profile *profile);

/*
 * Cuts off the run of frames of allocators and libraries that each stack ends in, in place. A stack of
 * nothing else stays as it is. Samples that are equal then are not merged (profile_compact() does it).
 */
void profile_cut_allocators(struct profile *profile);

#endif
