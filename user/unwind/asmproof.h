/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tries code as a function, and says whether it is proven to be one: then its instructions keep their states, and what it calls is
 * tried next. What fails leaves nothing behind. Private to asmflow.c, which says what is tried where.
 */
#ifndef CPROF_UNWIND_ASMPROOF_H
#define CPROF_UNWIND_ASMPROOF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "unwind/asmpath.h"

/* How it is known that a function begins somewhere. */
enum asmproof_beginning {
	ASMPROOF_GUESSED, /* by its alignment */
	ASMPROOF_TAKEN,	  /* its address is, by what is proven */
	ASMPROOF_CALLED,  /* by what is proven */
	ASMPROOF_NAMED,	  /* by a symbol */
};

struct asmproof {
	struct asmpath path;
	uint8_t *is_start; /* for each byte of the code: a function begins there */
	/* Private. */
	vec_of(struct asmpath_lead) entries; /* where what is proven leads, not looked at yet */
	uint8_t *is_tried; /* for each byte: the bits of struct asmpath_lead that were an entry */
	void *ctx;	   /* of leads_to() */
};

/* code is borrowed; ctx is that of its leads_to(). What it says is called is not looked at yet. */
void asmproof_open(struct asmproof *proof, const struct asmflow_code *code, void *ctx);
void asmproof_release(struct asmproof *proof);

/* Whether a function begins at offset, unseen yet. Even what needs no proof must not contradict itself. */
bool asmproof_entry(struct asmproof *proof, uint32_t offset, enum asmproof_beginning beginning);
/* Whether the code at offset, unseen yet, fits the stack at a jump of the last function's. is_known: as of asmpath_begin(). */
bool asmproof_target(struct asmproof *proof, uint32_t offset, bool is_known);
/* Follows all that begins for certain, and then all that is called from there. */
void asmproof_follow_known(struct asmproof *proof);
/*
 * Follows what proven code leads to: functions begin there, aligned or not. The jumps of the last function, which is none of
 * them, stay noted.
 */
void asmproof_follow_calls(struct asmproof *proof);

#endif
