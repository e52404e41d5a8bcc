/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a profile from an untrusted file: pprof (gzip'ed or plain), and the older and text formats of
 * enum input_format. The bytes decide which format it is, not the name.
 *
 * All sizes are limited (struct input_limits, input/expansion.h), and every index, id and length is checked. An error
 * says in one line what is wrong and at which byte; nothing of a broken file is returned.
 *
 * Source: pprof's profile package (proto and legacy parsers); each reader cites its own.
 */
#ifndef CPROF_INPUT_INPUT_H
#define CPROF_INPUT_INPUT_H

#include <stddef.h>
#include <stdint.h>

#include "profile/model.h"

enum input_format {
	INPUT_UNKNOWN,
	INPUT_PPROF,
	INPUT_LEGACY_CPU,  /* gperftools' CPUPROFILE: binary words */
	INPUT_LEGACY_HEAP, /* "heap profile: ... @ heap/R", heap_v2, heapprofile, growth */
	INPUT_LEGACY_JAVA, /* "--- heapz 1 ---", "--- contentionz 1 ---" with "format = java" */
	INPUT_LEGACY_CONTENTION, /* "--- contention", "--- mutex" */
	INPUT_LEGACY_THREADS,	 /* "--- threadz", "--- Thread" */
	INPUT_LEGACY_COUNT,	 /* Go's "goroutine profile: total 7" */
	INPUT_PERF_SCRIPT,	 /* the text of `perf script` */
	INPUT_FOLDED,		 /* "main;f;g 12", one stack per line */
};

struct input_limits {
	size_t max_file_bytes;	   /* before decompression */
	size_t max_inflated_bytes; /* after gzip */
	uint32_t
		max_ratio; /* inflated to compressed, beyond the first 16 MiB: against gzip bombs */
	size_t max_items; /* of samples, locations, functions, mappings, strings: of each; < 2^30 */
	size_t max_memory_bytes; /* of the profile in memory */
	bool names; /* what older formats say in comments names their frames; pprof reads none of it */
};
extern const struct input_limits input_default_limits; /* 1 GiB, 2 GiB, 250, 64 Mi, 4 GiB */

#define INPUT_NO_OFFSET UINT64_MAX

struct input_error {
	uint64_t offset; /* in the (inflated) bytes; INPUT_NO_OFFSET: not at one place */
	uint64_t line;	 /* of a text format, from 1; 0: not a text format */
	char message
		[256]; /* "location 7 refers to function 99, which does not exist"; escaped for terminals */
};

/*
 * Reads a profile from the len bytes at bytes. -EBADMSG: broken, -EFBIG: beyond a limit; *error says where,
 * and the other outputs are untouched. The caller frees *profile. *format may be NULL.
 */
int input_parse(const void *bytes, size_t len, const struct input_limits *limits,
		struct profile **profile, enum input_format *format, struct input_error *error);

/*
 * The same for a file; "-" is stdin. A FIFO or a pipe is read to its end. Also -errno of
 * open and read. error->message is complete (with the strerror), but without the path.
 */
int input_read(const char *path, const struct input_limits *limits, struct profile **profile,
	       enum input_format *format, struct input_error *error);

/*
 * The two steps of input_read(), for callers that need the bytes: the file's bytes, and the decompressed
 * ones if it is gzip'ed (otherwise *inflated is NULL, and *inflated_len is len). Errors as above. The
 * caller frees both.
 */
int input_load(const char *path, const struct input_limits *limits, uint8_t **bytes, size_t *len,
	       struct input_error *error);
int input_inflate(const void *bytes, size_t len, const struct input_limits *limits,
		  uint8_t **inflated, size_t *inflated_len, struct input_error *error);

/* The format that the inflated bytes look like; they may still be broken. */
enum input_format input_format_of(const void *bytes, size_t len);

/* "pprof", "perf script" ... for messages. */
const char *input_format_name(enum input_format format);

#endif
