/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Follows arm64 code along every branch, and notes what is known about the stack before each instruction; what turns out not to
 * fit is undone. Private to a64flow.c, which says where to begin and with which stack.
 *
 * A word is an instruction, whichever path leads to it: that is what makes this so much simpler than asmpath.c, its
 * counterpart for x86-64.
 */
#ifndef CPROF_UNWIND_A64PATH_H
#define CPROF_UNWIND_A64PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "unwind/a64stack.h"
#include "unwind/asmflow.h"

#define A64PATH_UNSEEN	  UINT32_MAX
#define A64PATH_MAX_JUMPS 4 /* whose stack is noted, of one function */

/* States of what is no function's stack. */
enum {
	A64PATH_PADDING, /* a gap */
	A64PATH_CODE,	 /* a gap that is code */
	A64PATH_SIGNAL,	 /* what a signal handler returns to */
	A64PATH_CLONE,	 /* in one of two threads, by x0 */
	A64PATH_ROOT,	 /* a thread's outermost frame */
	A64PATH_NR_SPECIAL
};

struct a64path_branch {
	uint32_t word, state;
};

/* Words are counted from code->bytes; states are numbers of them. */
struct a64path {
	const struct asmflow_code *code;
	uint32_t nr_words;
	uint32_t *seen;	 /* for each word: the state before it, or A64PATH_UNSEEN */
	uint8_t *begins; /* for each word: whether a function begins there for certain */
	uint8_t *bounds; /* for each word: whether it begins there, or another one ends before it */
	vec_of(struct a64stack) states;
	vec_of(struct a64stack) jumps; /* where the code does not say where it goes on */
	vec_of(uint32_t) calls;	       /* words that are called, since a64path_begin() */
	vec_of(uint64_t) outside;      /* what is called behind the code: addresses */
	/* results of the last a64path_follow(): */
	bool is_proven;	     /* some path has met a return, or what was proven before */
	bool has_jumped;     /* some path goes on where a register says */
	bool has_left;	     /* some path goes on outside the code */
	bool reaches_beyond; /* some path leads to code that was not given; reset by the caller */
	uint64_t nr_steps;   /* left, for all */
	/* Private. */
	vec_of(struct a64path_branch) branches; /* still to be followed */
	vec_of(uint32_t) followed;		/* words, since a64path_begin() */
	size_t nr_states_proven;		/* those from this one on are not proven yet */
	bool is_known;				/* a function begins where it was begun */
};

/* How far things were, for a64path_undo(). */
struct a64path_mark {
	size_t nr_followed, nr_states, nr_jumps;
};

/* code is borrowed, and begins at a multiple of 4. nr_steps: so many instructions are looked at, in all. */
void a64path_open(struct a64path *path, const struct asmflow_code *code, uint64_t nr_steps);
void a64path_release(struct a64path *path);

/* All states are taken for proven. is_known: where it begins, a function does for certain. */
void a64path_begin(struct a64path *path, bool is_known);
struct a64path_mark a64path_mark(const struct a64path *path);
/* mark must be from after the last a64path_begin(). */
void a64path_undo(struct a64path *path, const struct a64path_mark *mark);

/*
 * Whether all that the code at word, unseen yet, leads to fits this state: no path breaks the calling convention or returns with
 * another stack. false: it is undone.
 */
bool a64path_follow(struct a64path *path, uint32_t word, const struct a64stack *state);

/* The instruction at word. */
struct a64 a64path_at(const struct a64path *path, uint32_t word);
/* Whether it is a nop or zero, as stands between functions. */
bool a64path_is_padding(const struct a64path *path, uint32_t word);
/* Whether mov x8, #139; svc #0 begins at word: what a signal handler returns to. */
bool a64path_is_sigreturn(const struct a64path *path, uint32_t word);

#endif
