// SPDX-License-Identifier: BSD-2-Clause
/* Mangled names: whatever they are, a name of at most 64 KiB comes of it, or none. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "object/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	char *name scoped(freep) = xcalloc(len + 3, 1), *display scoped(freep) = NULL;

	memcpy(name, len % 2 ? "_R" : "_Z", 2);
	memcpy(name + 2, bytes, len);
	display = demangle(name);
	if (display && strlen(display) > (64u << 10) + 4) /* "@plt" */
		abort();
	return 0;
}
