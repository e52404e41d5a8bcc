/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks a worker's replies about the memory of JVMs, which chose what the worker read; see sandbox/reply.h. */
#ifndef CPROF_SANDBOX_JVMREPLY_H
#define CPROF_SANDBOX_JVMREPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sandbox/message.h"
#include "stream.h"
#include "unwind/unwindtable.h"

/* A part of the code cache: ips, multiples of the page size, start <= limit <= reserved. */
struct reply_heap {
	uint64_t start, limit, reserved;
	uint64_t generation;	    /* 0: there is no table yet */
	struct unwind_table *table; /* its elf_addrs are ips; NULL: main has it, or there is none */
};

struct reply_look {
	char missing[MESSAGE_MISSING_BYTES]; /* printable; not "": why this VM is not supported */
	size_t nr_blobs, nr_analyzed, code_bytes;
	bool is_partial, is_changed;
	struct jvm_counters counters;
	size_t nr_heaps; /* ascending, without overlaps */
	struct reply_heap heaps[MESSAGE_MAX_HEAPS];
};

/* nr as in the reply's header. -EBADMSG, and *look is untouched. For reply_look_release(). */
int reply_read_look(const void *payload, size_t len_bytes, uint32_t nr, struct reply_look *look);
/* Frees the tables. */
void reply_look_release(struct reply_look *look);

struct reply_row {
	uint32_t offset; /* from the code's start */
	struct unwind_rule rule;
};

/* A piece of code: start < limit, and rows, at least one, the first at 0, ascending, within it. */
struct reply_code {
	uint64_t start, limit; /* ips */
	uint32_t nr_rows;
	struct reply_row rows[];
};

/* The caller owns *code: free(). */
int reply_read_code(const void *payload, size_t len_bytes, uint32_t nr, struct reply_code **code);
/* The rule for an ip of code. */
void reply_code_find(const struct reply_code *code, uint64_t ip, struct unwind_rule *rule);

/* A function that code was compiled from; texts are in the block of the methods. */
struct reply_method_frame {
	const char *name;	   /* not empty */
	const char *file;	   /* "": not known */
	uint32_t line, start_line; /* 0: not known */
};

/* A piece of code that was compiled from the same functions. */
struct reply_method {
	uint64_t start, limit;			 /* ips of the code, start < limit */
	uint32_t nr_frames;			 /* 1 to MESSAGE_MAX_FRAMES */
	const struct reply_method_frame *frames; /* innermost first; in the same block */
};

/* nr methods in one block, owned by the caller: free(). NULL if there are none. */
int reply_read_methods(const void *payload, size_t len_bytes, uint32_t nr,
		       struct reply_method **methods);

#endif
