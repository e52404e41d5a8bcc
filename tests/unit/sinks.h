/* SPDX-License-Identifier: BSD-2-Clause */
/* Sinks for encoders, for cmocka tests only: a stream, and a disk that is full in the end. */
#ifndef CPROF_TESTS_SINKS_H
#define CPROF_TESTS_SINKS_H

#include <errno.h>
#include <stddef.h>
#include <stdio.h>

/* Into a FILE. */
static inline int sink_stream(void *ctx, const void *bytes, size_t len_bytes)
{
	return fwrite(bytes, 1, len_bytes, ctx) == len_bytes ? 0 : -EIO;
}

/* Takes as many bytes as the size_t at ctx says, which becomes what is left; then the disk is full. */
static inline int sink_disk(void *ctx, const void *bytes, size_t len_bytes)
{
	size_t *room = ctx;

	(void)bytes;
	if (len_bytes > *room)
		return -ENOSPC;
	*room -= len_bytes;
	return 0;
}

#endif
