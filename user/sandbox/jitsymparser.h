/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Questions about JIT code: a worker reads the files that the process writes about it (runtime/jitsymquery.h).
 */
#ifndef CPROF_SANDBOX_JITSYMPARSER_H
#define CPROF_SANDBOX_JITSYMPARSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sandbox/parser.h"

/* The parser's key of a file of process tgid: MESSAGE_PERF_MAP or MESSAGE_JITDUMP. */
uint32_t jitsymparser_key(uint32_t tgid, enum message_kind kind);
/* Is it one? Then whose: */
bool jitsymparser_is_key(uint32_t key);
uint32_t jitsymparser_tgid(uint32_t key);

/* A piece of code: start < limit, and the name is not empty, in the block that it came in. */
struct reply_jitsym {
	uint64_t start, limit, since_ns;
	const char *name, *file; /* file "": not known, and line is 0 */
	uint32_t line;
};

/* nr pieces in one block, owned by the caller: free(). NULL if there are none. -EBADMSG. */
int reply_read_jitsyms(const void *payload, size_t len_bytes, uint32_t nr,
		       struct reply_jitsym **jitsyms);

/*
 * Which code was at the nr moments (1 to MESSAGE_MAX_MOMENTS): *nr_found pieces, of which one may be at several of them, in a
 * block that the caller owns. -EBADMSG: the file is not of this kind; or why there is no answer.
 */
int parser_jitsyms(struct parser *parser, enum message_kind kind, uint32_t tgid, int fd,
		   const struct message_moment *moments, size_t nr, struct reply_jitsym **found,
		   size_t *nr_found);

#endif
