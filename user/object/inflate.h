/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decompresses sections: zlib (ELFCOMPRESS_ZLIB, and .zdebug_ before that) and zstd (ELFCOMPRESS_ZSTD).
 */
#ifndef CPROF_OBJECT_INFLATE_H
#define CPROF_OBJECT_INFLATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/workbudget.h"

enum inflate_method {
	INFLATE_ZLIB,
	INFLATE_ZSTD
};

/* Was cprof built with the library for it? */
bool inflate_knows(enum inflate_method method);

/*
 * Decompresses all of in into out, which it has to fill. budget, which may be NULL, is looked at for each MB. -EBADMSG: in
 * is damaged, or holds more or less than out_bytes; -EOPNOTSUPP: the method is not known; -ETIME: the budget is over. out
 * is undefined then.
 */
int inflate_all(enum inflate_method method, const void *in, size_t in_bytes, void *out,
		size_t out_bytes, struct workbudget *budget);

#endif
