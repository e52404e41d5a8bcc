/* SPDX-License-Identifier: BSD-2-Clause */
/* A target for a reader of functions: each part is a copy in memory of its own, so that no read goes beyond it unseen. */
#ifndef CPROF_TESTS_FUZZ_CODECOPIES_H
#define CPROF_TESTS_FUZZ_CODECOPIES_H

#include <stdlib.h>

#include "codeparts.h"

/* As codeparts_split(), but the parts are owned by the caller: codecopies_free(). */
static inline bool codecopies_split(const uint8_t *data, size_t size, uint16_t *version,
				    struct memory_copy *const parts[], size_t nr)
{
	if (!codeparts_split(data, size, version, parts, nr))
		return false;
	for (size_t i = 0; i < nr; i++) {
		size_t len = parts[i]->len_bytes;
		uint8_t *copy = malloc(len ? len : 1);

		memcpy(copy, parts[i]->bytes, len);
		parts[i]->bytes = copy;
	}
	return true;
}

static inline void codecopies_free(struct memory_copy *const parts[], size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		free((void *)parts[i]->bytes);
}

#endif
