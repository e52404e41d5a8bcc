/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a profile as speedscope's own JSON: shared frames, and a "sampled" profile for each sample
 * type, all in one file, the one to show first marked. (speedscope reads pprof too, but shows one
 * sample type of it and of inlined functions only the outermost; here each is a frame.)
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
 * speedscope refuses; -errno of the sink.
 */
int speedscope_encode(const struct profile *profile, uint32_t type, sink_fn sink, void *ctx);

#endif
