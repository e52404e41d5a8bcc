/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a profile as folded stacks, the format of flamegraph.pl and its kin, one sample type:
 *
 *	main;parse;read_line 12
 *
 * root first, frames parted by ';', then a blank and the value, a whole number. Each stack stands
 * once, in the order of names. Inlined functions are frames as any other. Within a name ';' and control
 * characters are written "\x3b": a name cannot make a frame or a line. Samples without a
 * stack are "[no stack]", so that nothing is missing from the sum.
 *
 * A number is a count of samples to whoever reads such a file: Firefox's importer makes so many. Where it is
 * something else, a last line says so, which is a stack of nothing to others and which cprof reads:
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

/* type: position of the sample type. -errno of the sink. */
int folded_encode(const struct profile *profile, uint32_t type, sink_fn sink, void *ctx);

#endif
