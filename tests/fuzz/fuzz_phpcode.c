// SPDX-License-Identifier: BSD-2-Clause
/*
 * The input is what a PHP function consists of: a version, four lengths, four copies. The name and the file are text.
 */
#include <stdint.h>
#include <string.h>

#include "base/text.h"
#include "fuzz/codecopies.h"
#include "fuzz/require.h"
#include "runtime/phpcode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct phpcode *code)
{
	require(*code->name && memchr(code->name, '\0', sizeof(code->name)));
	require(memchr(code->file, '\0', sizeof(code->file)));
	require(text_is_utf8(code->name, strlen(code->name)));
	require(text_is_utf8(code->file, strlen(code->file)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct phpcode_copies copies = {0};
	struct memory_copy *const parts[] = {&copies.function, &copies.name, &copies.class_name,
					     &copies.file};
	const size_t nr = sizeof(parts) / sizeof(parts[0]);
	struct phpcode code;

	if (!codecopies_split(data, size, &copies.version, parts, nr))
		return 0;
	if (phpcode_read(&copies, &code))
		check(&code);
	codecopies_free(parts, nr);
	return 0;
}
