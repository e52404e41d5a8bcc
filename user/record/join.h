/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Joins the two stacks of a thread: the native one, and that of the functions which its runtime interprets.
 *
 * One native frame, the runtime's loop, stands for a run of interpreted functions; the last of these, seen from the leaf, is
 * marked: native code entered the loop for it (SHADOW_ENTRY). So loops and marks are paired, from the root on, and the functions
 * of each run stand on the leaf's side of their loop. At the leaf the loop may be entered already while its function is
 * not on the stack yet, or not any more: one loop more than marks is fine, and with runtimes that push the function first,
 * one less. Any other count means that the two do not belong
 * together, and they are not mixed.
 *
 * Other runtimes' functions have native frames of their own, and each says which (SHADOW_PLACED): it stands on the root's side of it.
 *
 * Pure arithmetic on positions; names and addresses are the caller's.
 */
#ifndef CPROF_RECORD_JOIN_H
#define CPROF_RECORD_JOIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "stream.h"

enum join_kind {
	JOIN_NATIVE,	/* native frame i */
	JOIN_SHADOW,	/* frame i of the shadow stack */
	JOIN_ELIDED,	/* frames of the shadow stack are left out here */
	JOIN_UNMATCHED, /* the frames before and behind this could not be paired */
};

struct join_item {
	enum join_kind kind;
	uint32_t i;
};

struct join_items {
	struct join_item *at;
	size_t nr, cap; /* as vec_of() */
};

/* A native stack, leaf first, as far as pairing needs to know it. */
struct join_native {
	const bool *is_loop;
	uint32_t nr;
	uint32_t elided;    /* which of them stands for those left out; nr: none */
	bool may_lack_loop; /* at the leaf a function may have its frame before its loop is called */
	bool is_whole;	    /* it reaches the root; else pairs begin at the leaf */
};

/* Both stacks as one, leaf first, added to *items. false: they could not be paired. */
bool join_stacks(const struct join_native *native, const struct shadow_stack *shadow,
		 struct join_items *items);

#endif
