/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A target for one reader of a format other than pprof. What its detector takes for its own goes the way of any
 * file: sound, and the same after a way through pprof. Anything else is left to the other targets, so
 * that the fuzzer's time is spent on this one format.
 */
#ifndef CPROF_TESTS_FUZZ_READER_H
#define CPROF_TESTS_FUZZ_READER_H

#include "fuzz/reencode.h"
#include "input/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void fuzz_reader(const uint8_t *data, size_t size,
			       bool (*detect)(const struct source *source))
{
	struct source source = {.bytes = data, .len = size, .limits = &fuzz_limits};
	struct profile *profile;

	if (!detect(&source))
		return;
	profile = fuzz_parse(data, size);
	if (profile)
		fuzz_reencode(profile);
	profile_free(profile);
}

#define FUZZ_READER(detect)                                          \
	int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) \
	{                                                            \
		fuzz_reader(data, size, detect);                     \
		return 0;                                            \
	}

#endif
