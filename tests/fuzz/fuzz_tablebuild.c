// SPDX-License-Identifier: BSD-2-Clause
/* The input is an ELF file, of any machine: a table is built from what it says and from its code, and asked for each address. */
#include <stdint.h>
#include <stdlib.h>

#include "fuzz/require.h"
#include "unwind/tablebuild.h"

#define MOST_ASKED 65536

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(const struct unwind_table *table)
{
	for (uint64_t i = 0; table->nr_pages && i < MOST_ASKED; i++) {
		struct unwind_rule rule;

		if (unwind_table_find(table, table->start + i, &rule))
			require(rule.kind < UNWIND_NR_KINDS);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct unwind_table *table = NULL;
	struct elf_file *file;

	if (elf_file_open_memory(data, size, &file))
		return 0;
	if (!unwind_table_from_elf(file, &table))
		ask(table);
	unwind_table_free(table);
	elf_file_close(file);
	return 0;
}
