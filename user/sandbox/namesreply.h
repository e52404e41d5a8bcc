/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks what a worker says of addresses: their names, their lines, and the functions inlined there.
 *
 * As sandbox/reply.h: numbers and lengths are exact, or the reply is refused as a whole.
 */
#ifndef CPROF_SANDBOX_NAMESREPLY_H
#define CPROF_SANDBOX_NAMESREPLY_H

#include <stddef.h>
#include <stdint.h>

#include "sandbox/message.h"

/* All texts are borrowed from the block that reply_read_names() makes. */
struct reply_frame {
	const char *raw, *display; /* of the outermost one: "", the name of the address */
	const char *file;	   /* "": unknown */
	uint32_t line, start_line; /* 0: unknown */
};

struct reply_name {
	enum message_name_kind kind;
	uint64_t start;			  /* MESSAGE_NAME_START */
	const char *raw;		  /* MESSAGE_NAME_SYMBOL: the symbol, not empty; else "" */
	const char *display;		  /* demangled; where that makes no difference it is raw */
	const struct reply_frame *frames; /* the innermost first; in the same block */
	uint32_t nr_frames;
};

/* nr names in one block, owned by the caller: free(). nr is at least 1. -EBADMSG, and outputs are untouched. */
int reply_read_names(const void *payload, size_t len_bytes, uint32_t nr, struct reply_name **names);

#endif
