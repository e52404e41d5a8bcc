// SPDX-License-Identifier: BSD-2-Clause
/*
 * A look-up is two steps: the page of the address gives a range of rows, and a binary search finds the last of them
 * that begins at or before it.
 */
#include "unwind/unwindtable.h"

#include <stdlib.h>

void unwind_table_free(struct unwind_table *table)
{
	if (!table)
		return;
	free(table->pages);
	free(table->rows);
	free(table->extended);
	codestarts_release(&table->starts);
	free(table);
}

bool unwind_table_find(const struct unwind_table *table, uint64_t elf_addr,
		       struct unwind_rule *rule)
{
	const struct unwind_machine *machine = table->arch->machine;
	uint64_t page = (elf_addr - table->start) >> machine->page_shift;
	uint32_t pc = elf_addr % unwind_arch_page_bytes(table->arch);
	uint32_t low, high, packed;

	if (elf_addr < table->start || page >= table->nr_pages)
		return false;
	low = table->pages[page];
	high = table->pages[page + 1];
	while (high - low > 1) { /* rows[low].pc <= pc < rows[high].pc */
		uint32_t middle = low + (high - low) / 2;

		if (unwind_row_pc(table->rows[middle]) <= pc >> machine->pc_shift)
			low = middle;
		else
			high = middle;
	}
	packed = unwind_row_rule(table->rows[low]);
	if (packed & UNWIND_RULE_EXTENDED)
		*rule = table->extended[packed & UNWIND_EXTENDED_MASK];
	else
		*rule = table->arch->unpack(
			packed, pc - (unwind_row_pc(table->rows[low]) << machine->pc_shift));
	return true;
}

struct table_image unwind_table_image(const struct unwind_table *table)
{
	return (struct table_image){
		.start = table->start,
		.nr_pages = table->nr_pages,
		.nr_rows = table->nr_rows,
		.nr_extended = table->nr_extended,
		.pages = table->pages,
		.rows = table->rows,
		.extended = table->extended,
	};
}

size_t unwind_table_bytes(const struct unwind_table *table)
{
	return ((size_t)table->nr_pages + 1 + table->nr_rows) * sizeof(uint32_t) +
	       table->nr_extended * sizeof(*table->extended);
}
