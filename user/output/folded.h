/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a profile as folded stacks, the format of flamegraph.pl and similar tools, one sample type:
 *
 *	main;parse;read_line 12
 *
 * root first, frames parted by ';', then a blank and the value, a whole number. Each stack stands
 * once, in the order of names. Inlined functions are frames as any other. Within a name ';' and control
 * characters are written "\x3b": a name cannot make a frame or a line. Samples without a
 * stack are "[no stack]", so that nothing is missing from the sum.
 *
 * Readers take a number for a count of samples: Firefox's importer makes that many. Where it is something
 * else, a last line says so, which cprof reads and which is a stack with the value 0 to others:
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

/* type: position of the sample type. -E2BIG: too many stacks; -errno of the sink. */
int folded_encode(const struct profile *profile, uint32_t type, sink_fn sink, void *ctx);

#endif
