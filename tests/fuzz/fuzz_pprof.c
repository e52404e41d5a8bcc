// SPDX-License-Identifier: BSD-2-Clause
/* Any bytes as a profile that is not gzip'ed. */
#include "fuzz/reencode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile *profile;

	if (size >= 2 && data[0] == 0x1f && data[1] == 0x8b)
		return 0; /* fuzz_gzip_pprof has these */
	profile = fuzz_parse(data, size);
	if (profile)
		fuzz_reencode(profile);
	profile_free(profile);
	return 0;
}
