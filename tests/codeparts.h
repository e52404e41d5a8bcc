/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inputs of the readers of functions (runtime/pycode.h, runtime/phpcode.h, runtime/v8code.h, runtime/rubycode.h), as tests/fuzz/corpus/ has them:
 * a version (of some), the lengths of the parts, then the parts one behind another.
 */
#ifndef CPROF_TESTS_CODEPARTS_H
#define CPROF_TESTS_CODEPARTS_H

#include <stdbool.h>
#include <string.h>

#include "runtime/memorycopy.h"

#define CODEPARTS_MAX 8

/*
 * Sets *version (NULL: there is none) and each of the nr parts, which are borrowed from data. One that is cut is as long as
 * there is of it. false: the input ends before the parts.
 */
static inline bool codeparts_split(const uint8_t *data, size_t size, uint16_t *version,
				   struct memory_copy *const parts[], size_t nr)
{
	size_t version_bytes = version ? sizeof(*version) : 0;
	uint16_t lens[CODEPARTS_MAX];
	size_t head_bytes = version_bytes + nr * sizeof(lens[0]);

	if (size < head_bytes)
		return false;
	if (version)
		memcpy(version, data, version_bytes);
	memcpy(lens, data + version_bytes, nr * sizeof(lens[0]));
	data += head_bytes;
	size -= head_bytes;
	for (size_t i = 0; i < nr; i++) {
		size_t len = lens[i] < size ? lens[i] : size;

		*parts[i] = (struct memory_copy){data, len};
		data += len;
		size -= len;
	}
	return true;
}

#endif
