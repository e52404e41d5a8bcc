/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The names of code that processes made at run time, from the files in which they tell of it (process/madefiles.h), asked of
 * the parser in batches as those of other code are (symbolize/codenames.h).
 */
#ifndef CPROF_RECORD_MADENAMES_H
#define CPROF_RECORD_MADENAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "process/task.h"
#include "sandbox/parser.h"

struct madenames;

struct madenames *madenames_new(struct parser *parser); /* borrowed */
void madenames_free(struct madenames *names);		/* NULL is fine */
/* Once is_hurried() is true, no more are asked for. */
void madenames_hurry_when(struct madenames *names, bool (*is_hurried)(void));

/* The name of the code at ip of image, at time_ns, will be asked for. */
void madenames_expect(struct madenames *names, const struct image *image, uint64_t ip,
		      uint64_t time_ns);
/*
 * Asks for what is expected of image, and for ip, unless that was done since the files grew. What is learned is in
 * image->made.
 */
void madenames_ask(struct madenames *names, struct image *image, uint64_t ip, uint64_t time_ns);

#endif
