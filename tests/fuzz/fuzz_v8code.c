// SPDX-License-Identifier: BSD-2-Clause
/*
 * The input is what a JavaScript function consists of: five lengths, five copies. The name and the file are text.
 */
#include <stdint.h>
#include <string.h>

#include "base/text.h"
#include "fuzz/codecopies.h"
#include "fuzz/require.h"
#include "runtime/v8code.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct v8code *code)
{
	require(*code->name && memchr(code->name, '\0', sizeof(code->name)));
	require(memchr(code->file, '\0', sizeof(code->file)));
	require(text_is_utf8(code->name, strlen(code->name)));
	require(text_is_utf8(code->file, strlen(code->file)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct v8code_copies copies = {0};
	struct memory_copy *const parts[] = {&copies.function, &copies.name, &copies.rest,
					     &copies.last, &copies.file};
	const size_t nr = sizeof(parts) / sizeof(parts[0]);
	struct v8code code;

	if (!codecopies_split(data, size, NULL, parts, nr))
		return 0;
	if (v8code_read(&copies, &code))
		check(&code);
	codecopies_free(parts, nr);
	return 0;
}
