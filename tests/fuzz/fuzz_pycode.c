// SPDX-License-Identifier: BSD-2-Clause
/*
 * The input is what a code object of CPython consists of: a version, five lengths, five copies. The name is text, and the
 * lines' ranges ascend.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/pycode.h"

#define NR_PARTS 5

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void check(const struct pycode *code)
{
	require(*code->name && memchr(code->name, '\0', sizeof(code->name)));
	require(memchr(code->file, '\0', sizeof(code->file)));
	require(code->rows.nr <= PYCODE_MAX_ROWS);
	for (size_t i = 1; i < code->rows.nr; i++)
		require(code->rows.at[i - 1].limit <= code->rows.at[i].limit);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pycode_copies copies = {0};
	struct pycode_copy *const parts[NR_PARTS] = {
		&copies.object, &copies.name, &copies.qualified, &copies.file, &copies.lines};
	uint16_t lens[NR_PARTS];
	struct pycode code;

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
		*parts[i] = (struct pycode_copy){copy, len};
		data += len;
		size -= len;
	}
	if (pycode_read(&copies, &code))
		check(&code);
	pycode_release(&code);
	for (size_t i = 0; i < NR_PARTS; i++)
		free((void *)parts[i]->bytes);
	return 0;
}
