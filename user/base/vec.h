/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Growable arrays of any type: a struct with `at`, `nr` and `cap`, empty when zeroed.
 *
 *	struct { struct mapping *at; size_t nr, cap; } maps = {0};
 *	vec_push(&maps, m);
 *	vec_release(&maps);
 *
 * Pushing may move the array: keep indices across a push, not pointers.
 */
#ifndef CPROF_BASE_VEC_H
#define CPROF_BASE_VEC_H

#include <stddef.h>
#include <stdlib.h>

#include "base/alloc.h"

#define vec_of(type)            \
	struct {                \
		type *at;       \
		size_t nr, cap; \
	}

/* Makes room for `more` further items. After it, at is not NULL. */
#define vec_reserve(v, more)                                                          \
	do {                                                                          \
		size_t vec_need_ = (v)->nr + (more);                                  \
		if (vec_need_ > (v)->cap || !(v)->at) {                               \
			size_t vec_cap_ = (v)->cap ? (v)->cap * 2 : 8;                \
			if (vec_cap_ < vec_need_)                                     \
				vec_cap_ = vec_need_;                                 \
			(v)->at = xreallocarray((v)->at, vec_cap_, sizeof(*(v)->at)); \
			(v)->cap = vec_cap_;                                          \
		}                                                                     \
	} while (0)

#define vec_push(v, ...)                            \
	do {                                        \
		vec_reserve(v, 1);                  \
		(v)->at[(v)->nr++] = (__VA_ARGS__); \
	} while (0)

/* Shrinks the array to its nr items. */
#define vec_fit(v)                                                           \
	do {                                                                 \
		(v)->at = xreallocarray((v)->at, (v)->nr, sizeof(*(v)->at)); \
		(v)->cap = (v)->nr;                                          \
	} while (0)

#define vec_for_each(v, item) \
	for (__typeof__((v)->at + 0) item = (v)->at; item && item < (v)->at + (v)->nr; item++)

/*
 * How many items at the front of v pass a test, if all that pass come before all that fail:
 *
 *	size_t nr = vec_partition(&maps, map, map->start <= ip);	the last is nr - 1
 *
 * A binary search; the test must depend on the item alone.
 */
#define vec_partition(v, item, test)                                             \
	({                                                                       \
		size_t vec_low_ = 0, vec_high_ = (v)->nr;                        \
		while (vec_low_ < vec_high_) {                                   \
			size_t vec_mid_ = vec_low_ + (vec_high_ - vec_low_) / 2; \
			__typeof__((v)->at + 0) item = (v)->at + vec_mid_;       \
			if (test)                                                \
				vec_low_ = vec_mid_ + 1;                         \
			else                                                     \
				vec_high_ = vec_mid_;                            \
		}                                                                \
		vec_low_;                                                        \
	})

#define vec_release(v)                  \
	do {                            \
		free((v)->at);          \
		(v)->at = NULL;         \
		(v)->nr = (v)->cap = 0; \
	} while (0)

#endif
