/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a profile as gzip'ed profile.proto, one message at a time: each is packed into a small buffer and
 * compressed at once (gzip.h), so that no second copy of the profile exists. The bytes go to a sink
 * (base/textout.h).
 */
#ifndef CPROF_OUTPUT_PPROF_H
#define CPROF_OUTPUT_PPROF_H

#include "base/textout.h"
#include "profile/model.h"

/* -errno of the sink, -EIO if compression fails, -EFBIG for one item of 2 GiB. */
int pprof_encode(const struct profile *profile, sink_fn sink, void *ctx);
/* The same without gzip. */
int pprof_encode_plain(const struct profile *profile, sink_fn sink, void *ctx);

#endif
