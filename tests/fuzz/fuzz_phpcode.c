// SPDX-License-Identifier: BSD-2-Clause
/*
 * The input is what a PHP function consists of: a version, four lengths, four copies. The name and the file are text.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "runtime/phpcode.h"

#define NR_PARTS 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

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
	struct phpcode_copy *const parts[NR_PARTS] = {&copies.function, &copies.name,
						      &copies.class_name, &copies.file};
	uint16_t lens[NR_PARTS];
	struct phpcode code;

	if (size < sizeof(copies.version) + sizeof(lens))
		return 0;
	memcpy(&copies.version, data, sizeof(copies.version));
	memcpy(lens, data + sizeof(copies.version), sizeof(lens));
	data += sizeof(copies.version) + sizeof(lens);
	size -= sizeof(copies.version) + sizeof(lens);
	for (size_t i = 0; i < NR_PARTS; i++) {
		size_t len = lens[i] < size ? lens[i] : size;
		uint8_t *copy =
			malloc(len ? len : 1); /* of its own, so that no read goes beyond it */

		memcpy(copy, data, len);
		*parts[i] = (struct phpcode_copy){copy, len};
		data += len;
		size -= len;
	}
	if (phpcode_read(&copies, &code))
		check(&code);
	for (size_t i = 0; i < NR_PARTS; i++)
		free((void *)parts[i]->bytes);
	return 0;
}
