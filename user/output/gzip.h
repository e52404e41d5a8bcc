/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compresses a stream with gzip: bytes in, a gzip file out through a sink. One member, no name and no
 * time in its head, so that equal bytes make equal files (on one kind of CPU: the matcher depends on it).
 *
 *	struct gzip *gzip = gzip_new(sink, ctx);
 *	gzip_write(gzip, bytes, len);		any number of times
 *	err = gzip_finish(gzip);
 *
 * Why ISA-L and not zlib: of writing a large profile, zlib at its usual level was two thirds of the
 * time. On 13.8 MB of samples, CPU seconds and size:
 *
 *	zlib 6 0.56 s, 7.71 MB	   zlib 1 0.26 s, 8.30 MB	ISA-L 3 0.055 s, 8.29 MB
 *
 * libdeflate is as small as zlib in half the time, but wants all the bytes at once, or it makes a file
 * of several members, which not every reader takes.
 */
#ifndef CPROF_OUTPUT_GZIP_H
#define CPROF_OUTPUT_GZIP_H

#include <stddef.h>

#include "base/textout.h"

struct gzip;

/* Never NULL. Ends with gzip_finish(); ctx is borrowed until then. */
struct gzip *gzip_new(sink_fn sink, void *ctx);
/*
 * Has the signature of a sink; ctx is the struct gzip. The first error of the sink, or -EIO; it may come
 * back from a later write, or only at the end. The sink is called by these two functions only, though
 * behind the first megabyte a thread helps to compress.
 */
int gzip_write(void *ctx, const void *bytes, size_t len_bytes);
/* Writes what is left, unless there was an error, which is returned; frees it. */
int gzip_finish(struct gzip *gzip);

#endif
