// SPDX-License-Identifier: BSD-2-Clause
/* What legacy_contention_read() takes for its own: sound, and the same after a way through pprof. */
#include "fuzz/reencode.h"
#include "input/legacy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct source source = {.bytes = data, .len = size, .limits = &fuzz_limits};
	struct profile *profile;

	if (!legacy_contention_detect(&source))
		return 0;
	profile = fuzz_parse(data, size);
	if (profile)
		fuzz_reencode(profile);
	profile_free(profile);
	return 0;
}
