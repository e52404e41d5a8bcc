/* SPDX-License-Identifier: BSD-2-Clause */
/* How a question is asked and what becomes of a subject that cost workers. Private to parser.c and jvmparser.c. */
#ifndef CPROF_SANDBOX_QUESTION_H
#define CPROF_SANDBOX_QUESTION_H

#include "sandbox/message.h"
#include "sandbox/parser.h"

/* A question, and what reads the payload of its reply: 0, or -EBADMSG. */
struct question {
	struct message request;
	const void *payload;
	int (*read)(const void *payload, const struct message *reply, void *to);
	void *to;
};

/* Asks; fd is borrowed, -1: there is none. -errno: there is no answer, and why. */
int parser_ask(struct parser *parser, struct question *question, int fd);
/* The subject with this key is not asked about any more; err says why. Once for each. */
void parser_leave_out(struct parser *parser, uint32_t key, int err);

#endif
