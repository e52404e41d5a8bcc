/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inflates a gzip file from an untrusted source, within limits. All its members are one stream (RFC
 * 1952, 2.2), and nothing may follow the last one, as in pprof.
 */
#ifndef CPROF_INPUT_GUNZIP_H
#define CPROF_INPUT_GUNZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "input/input.h"

/* Whether the bytes begin like a gzip file. */
bool gunzip_detect(const void *bytes, size_t len);

/*
 * -EBADMSG: truncated, damaged (checksum and length are checked), or followed by other data; -EFBIG: beyond
 * limits->max_inflated_bytes or ->max_ratio. error->offset is a position in the compressed bytes. The
 * caller frees *inflated.
 */
int gunzip(const void *bytes, size_t len, const struct input_limits *limits, uint8_t **inflated,
	   size_t *inflated_len, struct input_error *error);

#endif
