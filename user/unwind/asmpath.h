/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Follows code along every branch, and notes what is known about the stack before each instruction; what turns out
 * not to fit can be undone. Private to asmproof.c and asmflow.c, which say where to begin and with which stack.
 */
#ifndef CPROF_UNWIND_ASMPATH_H
#define CPROF_UNWIND_ASMPATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "unwind/stackdecode.h"
#include "unwind/stackstate.h"

#define ASMPATH_UNSEEN	  UINT32_MAX
#define ASMPATH_INSIDE	  (UINT32_MAX - 1) /* not the first byte of an instruction */
#define ASMPATH_MAX_JUMPS 4		   /* whose stack is noted, of one function */
#define ASMPATH_ALIGNS	  16		   /* where functions begin */

/* States of what is no function's stack. */
enum {
	ASMPATH_PADDING, /* a gap */
	ASMPATH_CODE,	 /* a gap that is code */
	ASMPATH_SIGNAL,	 /* what a signal handler returns to */
	ASMPATH_CLONE,	 /* in one of two threads, by rax */
	ASMPATH_ROOT,	 /* a thread's outermost frame */
	ASMPATH_NR_SPECIAL
};

struct asmpath_piece {
	uint32_t offset, len_bytes;
};

/* A likely start of a function: the target of a call, or an address that is taken. */
struct asmpath_lead {
	uint32_t offset;
	bool is_called;
};

struct asmpath_branch {
	uint32_t offset, state;
};

/* Offsets are those of code->bytes; states are numbers of them. */
struct asmpath {
	const struct asmflow_code *code;
	struct stackdecode decode;
	uint32_t *seen;	 /* for each byte: the state before it, ASMPATH_UNSEEN or ASMPATH_INSIDE */
	uint8_t *begins; /* for each byte: whether a function begins there for certain */
	uint8_t *no_returns; /* for each byte: a function begins there that never returns */
	uint8_t *bounds; /* for each byte: whether it begins there, or another one ends before it */
	vec_of(struct stackstate) states;
	vec_of(struct stackstate)
		jumps; /* where the code does not say where it goes on, if it does */
	vec_of(struct asmpath_lead) leads; /* since asmpath_begin() */
	vec_of(uint64_t) outside;	   /* what is called behind the code: addresses */
	/* results of the last asmpath_follow(): */
	bool is_proven; /* some path has met a return, or what was proven before */
	bool is_ended;	/* some path has met a call behind which another function begins */
	bool is_undone; /* some path has undone its frame, and then jumped to where a register or memory says */
	bool has_left; /* some path goes on outside the code, or where it is not known */
	bool has_jumped, has_called; /* some path has, with or without a frame */
	uint64_t nr_steps;	     /* left, for all */
	bool reaches_beyond; /* some path leads to code that was not given; reset by the caller */
	/* Private. */
	vec_of(struct asmpath_branch) branches;	   /* still to be followed */
	vec_of(struct asmpath_piece) instructions; /* since asmpath_begin() */
	size_t nr_states_proven;		   /* those from this one on are not proven yet */
	bool is_known;				   /* a function begins where it was begun */
	bool had_frame;				   /* since then */
};

/* How far things were, for asmpath_undo(). */
struct asmpath_mark {
	size_t nr_instructions, nr_states, nr_jumps;
};

/* code is borrowed. nr_steps: so many instructions are looked at, in all. */
void asmpath_open(struct asmpath *path, const struct asmflow_code *code, uint64_t nr_steps);
void asmpath_release(struct asmpath *path);

/* All states are taken for proven. is_known: where it begins, a function does for certain. */
void asmpath_begin(struct asmpath *path, bool is_known);
struct asmpath_mark asmpath_mark(const struct asmpath *path);
/* mark must be from after the last asmpath_begin(). */
void asmpath_undo(struct asmpath *path, const struct asmpath_mark *mark);

/*
 * Whether all that the code at offset, unseen yet, leads to fits this state: no path breaks the calling convention or returns
 * with another stack. false: it is undone.
 */
bool asmpath_follow(struct asmpath *path, uint32_t offset, const struct stackstate *state);

/* Returns its number. */
uint32_t asmpath_add_state(struct asmpath *path, const struct stackstate *state);
/* The unwind rule of a state. false: there is none. */
bool asmpath_rule(const struct asmpath *path, uint32_t state, struct unwind_rule *rule);
/* The length of the padding at offset: of a nop, int3 or zero. 0: there is none. */
uint32_t asmpath_padding(const struct asmpath *path, uint32_t offset);

#endif
