/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a profile as folded stacks, the format of flamegraph.pl and similar tools, one sample type:
 *
 *	main;parse;read_line 12
 *
 * The root is first; frames are separated by ';'; a blank and the value, a whole number, follow. Each stack is
 * one line, in the order of names. Inlined functions are frames like all others. In names, ';' and control
 * characters are written as "\x3b", so that a name cannot make a frame or a line. Samples without a stack are
 * "[no stack]", so that the sum is complete.
 *
 * Readers interpret a number as a count of samples (Firefox's importer creates as many). For other types, a
 * last line names the type; cprof reads it, and for other readers it is a stack with the value 0:
 *
 *	# cprof: inuse_space/bytes 0
 *
 * Source: the head of Brendan Gregg's flamegraph.pl.
 */
#ifndef CPROF_OUTPUT_FOLDED_H
#define CPROF_OUTPUT_FOLDED_H

#include <stdint.h>

#include "base/textout.h"
#include "profile/model.h"

#define FOLDED_TYPE_MARK "# cprof: "

/*
 * type: position of the sample type. -E2BIG: too many stacks, or more than
 * TEXT_OUT_MAX_BYTES of them, and nothing is written; -errno of the sink.
 */
int folded_encode(const struct profile *profile, uint32_t type, sink_fn sink, void *ctx);

#endif
