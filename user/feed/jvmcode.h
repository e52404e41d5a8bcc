/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the worker said of the code of one JVM since the last look, so that it is not asked twice: the rules of code that
 * the tables do not know, and which ips it was asked for names of.
 */
#ifndef CPROF_FEED_JVMCODE_H
#define CPROF_FEED_JVMCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "sandbox/jvmreply.h"

/* Zeroed: empty. */
struct jvmcode {
	vec_of(struct reply_code *) pieces; /* owned; by start */
	size_t bytes;			    /* of them */
	vec_of(uint64_t) named;		    /* ips */
	struct hash named_index;
};

/* Code may have changed: forgets all. */
void jvmcode_clear(struct jvmcode *code);
/* Takes over a piece. */
void jvmcode_add(struct jvmcode *code, struct reply_code *piece);
/* The worker knows of no code at ip: as jvmcode_add() of a rule that is UNWIND_UNKNOWN. */
void jvmcode_add_unknown(struct jvmcode *code, uint64_t ip);
/* Is there an answer for ip? Sets *rule to it. */
bool jvmcode_find(const struct jvmcode *code, uint64_t ip, struct unwind_rule *rule);

/* Names may have changed: they are asked for again. */
void jvmcode_forget_names(struct jvmcode *code);
/* Notes that names are asked for at ip. false: that was noted before. */
bool jvmcode_asks_name(struct jvmcode *code, uint64_t ip);

#endif
