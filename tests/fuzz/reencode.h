/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What every fuzz target of a reader asks of what it got: the profile is sound, written as pprof and
 * read again it is the same; what was refused was refused with a message.
 */
#ifndef CPROF_TESTS_FUZZ_REENCODE_H
#define CPROF_TESTS_FUZZ_REENCODE_H

#include <stdio.h>
#include <stdlib.h>

#include "base/vec.h"
#include "input/input.h"
#include "output/pprof.h"
#include "profile_judge.h"

static const struct input_limits fuzz_limits = {
	.max_file_bytes = 16 << 20,
	.max_inflated_bytes = 64 << 20,
	.max_ratio = 250,
	.max_items = 1 << 20,
	.max_memory_bytes = 256 << 20,
	.names = true,
};

static inline void fuzz_die(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s\n", what, why);
	abort();
}

struct fuzz_bytes {
	vec_of(uint8_t) all;
};

static inline int fuzz_sink(void *ctx, const void *bytes, size_t len_bytes)
{
	struct fuzz_bytes *to = ctx;

	vec_reserve(&to->all, len_bytes);
	memcpy(to->all.at + to->all.nr, bytes, len_bytes);
	to->all.nr += len_bytes;
	return 0;
}

/* Written and read again. */
static inline void fuzz_reencode(const struct profile *profile)
{
	struct fuzz_bytes written = {0};
	struct input_error error;
	struct input_limits limits = fuzz_limits;
	struct profile *again;

	limits.max_ratio = 2000; /* what came in plain may well be a bomb when it is gzip'ed */
	limits.max_file_bytes = limits.max_inflated_bytes = limits.max_memory_bytes = 1 << 30;
	if (pprof_encode(profile, fuzz_sink, &written))
		fuzz_die("writing", "failed");
	if (input_parse(written.all.at, written.all.nr, &limits, &again, NULL, &error))
		fuzz_die("reading what was written", error.message);
	if (profile_differs(profile, again))
		fuzz_die("what was read again differs", profile_differs(profile, again));
	profile_free(again);
	vec_release(&written.all);
}

static char last_message[sizeof(((struct input_error *)NULL)->message)];

/* NULL if it was refused, with last_message; the caller frees it. */
static inline struct profile *fuzz_parse(const uint8_t *bytes, size_t len)
{
	struct profile *profile = NULL;
	struct input_error error = {.message = ""};

	if (input_parse(bytes, len, &fuzz_limits, &profile, NULL, &error)) {
		if (profile || !error.message[0])
			fuzz_die("refused", "without a word, or not quite");
		memcpy(last_message, error.message, sizeof(last_message));
		return NULL;
	}
	if (profile_judge(profile))
		fuzz_die("not sound", profile_judge(profile));
	return profile;
}

#endif
