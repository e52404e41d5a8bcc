// SPDX-License-Identifier: BSD-2-Clause
/* Compares without sums, which could wrap: offsets may come from the target, too. */
#include "runtime/memorycopy.h"

#include <string.h>

bool memory_copy_get(const struct memory_copy *copy, size_t at, void *to, size_t len_bytes)
{
	if (len_bytes > copy->len_bytes || at > copy->len_bytes - len_bytes)
		return false;
	memcpy(to, copy->bytes + at, len_bytes);
	return true;
}
