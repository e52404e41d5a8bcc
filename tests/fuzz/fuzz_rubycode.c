// SPDX-License-Identifier: BSD-2-Clause
/*
 * The input is what a Ruby function consists of: a version, five lengths, five copies. The name and the file are text; rows are in
 * the order of the code.
 */
#include <stdint.h>
#include <string.h>

#include "base/text.h"
#include "fuzz/codecopies.h"
#include "fuzz/require.h"
#include "runtime/rubycode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct rubycode *code)
{
	require(*code->name && memchr(code->name, '\0', sizeof(code->name)));
	require(memchr(code->file, '\0', sizeof(code->file)));
	require(text_is_utf8(code->name, strlen(code->name)));
	require(text_is_utf8(code->file, strlen(code->file)));
	require(code->rows.nr <= RUBYCODE_MAX_ROWS);
	for (size_t i = 1; i < code->rows.nr; i++)
		require(code->rows.at[i].limit > code->rows.at[i - 1].limit);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rubycode_copies copies = {0};
	struct memory_copy *const parts[] = {&copies.body, &copies.label, &copies.path,
					     &copies.lines, &copies.index};
	const size_t nr = sizeof(parts) / sizeof(parts[0]);
	struct rubycode code;

	if (!codecopies_split(data, size, &copies.version, parts, nr))
		return 0;
	if (rubycode_read(&copies, &code)) {
		check(&code);
		rubycode_release(&code);
	}
	codecopies_free(parts, nr);
	return 0;
}
