/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Follows hand-written code along every branch, and notes what is known about the stack before each instruction; what turns out
 * not to fit can be undone. Private to asmflow.c, which says where to begin and with which stack.
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

struct asmpath_piece {
	uint32_t offset, len_bytes;
};

struct asmpath_branch {
	uint32_t offset, state;
};

/* Offsets are those of code->bytes; states are numbers of them. */
struct asmpath {
	const struct asmflow_code *code;
	struct stackdecode decode;
	uint32_t *seen; /* for each byte: the state before it, ASMPATH_UNSEEN or ASMPATH_INSIDE */
	vec_of(struct stackstate) states;
	vec_of(struct stackstate) jumps; /* at jumps whose targets the code does not say */
	vec_of(uint32_t) calls;		 /* what is called, since asmpath_begin() */
	bool is_proven; /* of the last asmpath_follow(): some path has met a return, or what was proven before */
	bool reaches_beyond; /* some path leads to code that was not given; reset by the caller */
	/* Private. */
	vec_of(struct asmpath_branch) branches;	   /* still to be followed */
	vec_of(struct asmpath_piece) instructions; /* since asmpath_begin() */
	size_t nr_states_proven;		   /* those from this one on are not proven yet */
	uint64_t nr_steps;			   /* left */
};

/* How far things were, for asmpath_undo(). */
struct asmpath_mark {
	size_t nr_instructions, nr_states, nr_jumps;
};

/* code is borrowed. nr_steps: so many instructions are looked at, in all. */
void asmpath_open(struct asmpath *path, const struct asmflow_code *code, uint64_t nr_steps);
void asmpath_release(struct asmpath *path);

/* All states are taken for proven. */
void asmpath_begin(struct asmpath *path);
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
