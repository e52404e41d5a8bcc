/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the rest of cprof asks about functions that a runtime interprets: a worker reads the copies that BPF made of what
 * they consist of (runtime/pycode.h).
 */
#ifndef CPROF_SANDBOX_FUNCPARSER_H
#define CPROF_SANDBOX_FUNCPARSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sandbox/parser.h"

/* The parser's key of what process tgid has in its memory. */
uint32_t funcparser_key(uint32_t tgid);
/* Is it one? Then whose: */
bool funcparser_is_key(uint32_t key);
uint32_t funcparser_tgid(uint32_t key);

/* A part of a function as it was copied; empty: it has none. */
struct funcparser_text {
	const void *bytes;
	size_t len_bytes;
};

/* What a function is called, and which lines its bytecode has. */
struct reply_function {
	const char *name, *file; /* in the same block; the name is not empty */
	uint32_t start_line;	 /* 0: not known */
	uint32_t nr_lines;
	struct message_line
		lines[]; /* bytecode before limit, behind that of the one before; limits ascend */
};

/* The payload of a reply, in a block that the caller owns: free(). -EBADMSG. */
int reply_read_function(const void *payload, size_t len_bytes, uint32_t nr,
			struct reply_function **function);

/*
 * Names a function of process tgid, whose runtime has this kind and version (ABI_RUNTIME()), from its texts: those that are
 * longer than a question may be are cut. *code: free(). -ENOENT: they do not name it; or why there is no answer.
 */
int parser_function(struct parser *parser, uint32_t tgid, uint32_t runtime,
		    const struct funcparser_text texts[MESSAGE_NR_TEXTS],
		    struct reply_function **function);

#endif
