// SPDX-License-Identifier: BSD-2-Clause
/*
 * The input is what a JavaScript function consists of: five lengths, five copies. The name and the file are text.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "runtime/v8code.h"

#define NR_PARTS 5

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

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
	struct v8code_copy *const parts[NR_PARTS] = {&copies.function, &copies.name, &copies.rest,
						     &copies.last, &copies.file};
	uint16_t lens[NR_PARTS];
	struct v8code code;

	if (size < sizeof(lens))
		return 0;
	memcpy(lens, data, sizeof(lens));
	data += sizeof(lens);
	size -= sizeof(lens);
	for (size_t i = 0; i < NR_PARTS; i++) {
		size_t len = lens[i] < size ? lens[i] : size;
		uint8_t *copy =
			malloc(len ? len : 1); /* of its own, so that no read goes beyond it */

		memcpy(copy, data, len);
		*parts[i] = (struct v8code_copy){copy, len};
		data += len;
		size -= len;
	}
	if (v8code_read(&copies, &code))
		check(&code);
	for (size_t i = 0; i < NR_PARTS; i++)
		free((void *)parts[i]->bytes);
	return 0;
}
