/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a profile as gzip'ed profile.proto, one message at a time: each is packed into one small
 * buffer and goes straight into deflate (gzip.h), so that no second copy of the profile ever exists.
 * Bytes come out through a sink (base/textout.h), which decides where they go.
 */
#ifndef CPROF_OUTPUT_PPROF_H
#define CPROF_OUTPUT_PPROF_H

#include "base/textout.h"
#include "profile/model.h"

/* -errno of the sink, -EIO if deflate fails, -EFBIG for one item of 2 GiB. */
int pprof_encode(const struct profile *profile, sink_fn sink, void *ctx);
/* The same without gzip. */
int pprof_encode_plain(const struct profile *profile, sink_fn sink, void *ctx);

#endif
