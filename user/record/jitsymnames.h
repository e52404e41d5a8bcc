/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The names of JIT code, from the files in which processes write JIT symbols (process/jitsymfiles.h), asked of the parser in
 * batches as those of other code are (symbolize/codenames.h).
 */
#ifndef CPROF_RECORD_JITSYMNAMES_H
#define CPROF_RECORD_JITSYMNAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "process/task.h"
#include "sandbox/parser.h"

struct jitsymnames;

struct jitsymnames *jitsymnames_new(struct parser *parser); /* borrowed */
void jitsymnames_free(struct jitsymnames *names);	    /* NULL is fine */
/* Once is_hurried() is true, no more are asked for. */
void jitsymnames_hurry_when(struct jitsymnames *names, bool (*is_hurried)(void));

/* The name of the code at ip of image, at time_ns, will be asked for. */
void jitsymnames_expect(struct jitsymnames *names, const struct image *image, uint64_t ip,
			uint64_t time_ns);
/*
 * Asks for what is expected of image, and for ip, unless that was done since the files grew. What is learned is in
 * image->jitsyms.
 */
void jitsymnames_ask(struct jitsymnames *names, struct image *image, uint64_t ip, uint64_t time_ns);

#endif
