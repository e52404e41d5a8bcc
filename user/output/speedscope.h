/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a profile as speedscope's own JSON: shared frames, and a "sampled" profile for each sample type, with
 * a mark on the one to show first.
 *
 * speedscope also reads pprof, but shows only one sample type, and only the outermost of inlined functions; here
 * each is a frame.
 *
 * Source: https://www.speedscope.app/file-format-schema.json.
 */
#ifndef CPROF_OUTPUT_SPEEDSCOPE_H
#define CPROF_OUTPUT_SPEEDSCOPE_H

#include <stdint.h>

#include "base/textout.h"
#include "profile/model.h"

/*
 * type: position of the sample type to show first. -EDOM: a value is negative (a difference), which
 * speedscope rejects; -errno of the sink.
 */
int speedscope_encode(const struct profile *profile, uint32_t type, sink_fn sink, void *ctx);

#endif
