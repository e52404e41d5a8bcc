/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compresses a stream with gzip: bytes in, a gzip file out through a sink. One member, without name
 * and time in its header, so that equal bytes give equal files (on one kind of CPU, which the matcher
 * depends on).
 *
 *	struct gzip *gzip = gzip_new(sink, ctx);
 *	gzip_write(gzip, bytes, len);		any number of times
 *	err = gzip_finish(gzip);
 *
 * Why ISA-L and not zlib: zlib at its usual level took two thirds of the time of writing a large profile. On 13.8 MB of samples, CPU seconds and size:
 *
 *	zlib 6 0.56 s, 7.71 MB	   zlib 1 0.26 s, 8.30 MB	ISA-L 3 0.055 s, 8.29 MB
 *
 * libdeflate compresses as well as zlib in half the time, but needs all the bytes at once, or makes a file of
 * several members, which some readers reject.
 */
#ifndef CPROF_OUTPUT_GZIP_H
#define CPROF_OUTPUT_GZIP_H

#include <stddef.h>

#include "base/textout.h"

struct gzip;

/* Never NULL. Ends with gzip_finish(); ctx is borrowed until then. */
struct gzip *gzip_new(sink_fn sink, void *ctx);
/*
 * Has the signature of a sink; ctx is the struct gzip. The first error of the sink, or -EIO; it may be
 * returned by a later write, or only at the end. Beyond the first megabyte a thread helps to compress, but the
 * sink is called by the calling thread only.
 */
int gzip_write(void *ctx, const void *bytes, size_t len_bytes);
/* Writes the rest and frees gzip: 0, or the first error. */
int gzip_finish(struct gzip *gzip);

#endif
