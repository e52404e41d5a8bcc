/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a profile as human-readable text, as Go's runtime/pprof does with debug=1: the lines of
 * output/legacy.h, most bytes in use first (then most bytes allocated; in a CPU profile most samples),
 * each followed by its stack with names:
 *
 *	3: 3072 [4: 4096] @ 0x7f3a5c0a1234 0x55d0c0de1234
 *	#	0x7f3a5c0a1233	malloc	libc.so.6
 *	#	0x55d0c0de1233	load_table	app
 *
 * Values are the sampled, unscaled ones. pprof reads this format too; it skips the names as comments.
 */
#ifndef CPROF_OUTPUT_TEXT_H
#define CPROF_OUTPUT_TEXT_H

#include "base/textout.h"
#include "profile/model.h"

/* Writes profile->records and ->memory. -errno of the sink. */
int text_encode(const struct profile *profile, uint32_t type, sink_fn sink, void *ctx);

#endif
