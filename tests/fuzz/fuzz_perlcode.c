// SPDX-License-Identifier: BSD-2-Clause
/*
 * The input is what a Perl function consists of: a version, five lengths, five copies. The name and the file are text.
 */
#include <stdint.h>
#include <string.h>

#include "base/text.h"
#include "fuzz/codecopies.h"
#include "fuzz/require.h"
#include "runtime/perlcode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct perlcode *code)
{
	require(*code->name && memchr(code->name, '\0', sizeof(code->name)));
	require(memchr(code->file, '\0', sizeof(code->file)));
	require(text_is_utf8(code->name, strlen(code->name)));
	require(text_is_utf8(code->file, strlen(code->file)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct perlcode_copies copies = {0};
	struct memory_copy *const parts[] = {&copies.start, &copies.name, &copies.package,
					     &copies.file, &copies.block};
	const size_t nr = sizeof(parts) / sizeof(parts[0]);
	struct perlcode code;

	if (!codecopies_split(data, size, &copies.version, parts, nr))
		return 0;
	if (perlcode_read(&copies, &code))
		check(&code);
	codecopies_free(parts, nr);
	return 0;
}
