// SPDX-License-Identifier: BSD-2-Clause
/*
 * The input is what a code object of CPython consists of: a version, five lengths, five copies. The name is text, and the
 * lines' ranges ascend.
 */
#include <stdint.h>
#include <string.h>

#include "fuzz/codecopies.h"
#include "fuzz/require.h"
#include "runtime/pycode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
	struct memory_copy *const parts[] = {&copies.object, &copies.name, &copies.qualified,
					     &copies.file, &copies.lines};
	const size_t nr = sizeof(parts) / sizeof(parts[0]);
	struct pycode code;

	if (!codecopies_split(data, size, &copies.version, parts, nr))
		return 0;
	if (pycode_read(&copies, &code))
		check(&code);
	pycode_release(&code);
	codecopies_free(parts, nr);
	return 0;
}
