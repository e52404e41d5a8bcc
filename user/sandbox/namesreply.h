/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks what a worker says of addresses: their names, their lines, the functions inlined there, and the split units that it
 * lacks.
 *
 * As sandbox/reply.h: numbers and lengths are exact, or the reply is refused as a whole.
 */
#ifndef CPROF_SANDBOX_NAMESREPLY_H
#define CPROF_SANDBOX_NAMESREPLY_H

#include <stdbool.h>
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
	bool is_cut; /* there was no time for all: it may have lines, or further functions that are inlined */
	bool is_unread; /* the same, because not all of the file's debug information could be read */
};

/*
 * nr names in one block, owned by the caller: free(). nr is at least 1. *nr_split: how many of the addresses that were asked for
 * are in split units that the worker has not. -EBADMSG, and outputs are untouched.
 */
int reply_read_names(const void *payload, size_t len_bytes, uint32_t nr, struct reply_name **names,
		     size_t *nr_split);

/* A split unit that the worker has not. Both texts are borrowed from the block, and "" if unknown. */
struct reply_split {
	uint64_t dwo_id;
	const char *name,
		*dir; /* of its .dwo file, and the folder that this counts from if it is relative */
};

struct reply_splits {
	uint32_t nr_units;
	struct reply_split *units;
	uint32_t *unit_of; /* of each address: its unit, nr_units: none */
};

/* Reads the split units of nr addresses into one block, which the caller frees with free(). -EBADMSG: outputs are untouched. */
int reply_read_splits(const void *payload, size_t len_bytes, uint32_t nr,
		      struct reply_splits **splits);

#endif
