/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes as a section of call frame information. Beside not crashing: the table is well formed,
 * and look-ups in it agree with the rows it was made from.
 *
 * The first byte chooses: bit 0 .debug_frame, bit 1 track rbx, bit 2 read the rest as .eh_frame_hdr
 * too; the upper half, if all ones, that code is everywhere, not only in [0x1000, 0x301000): that
 * is a hundred times slower to check, and should be rare. The rest is the section.
 */
#include <stdint.h>
#include <string.h>

#include "fuzz/require.h"
#include "unwind/unwindstep.h"
#include "unwind/tablebuild.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len_bytes);

struct rows {
	const struct unwind_table *table;
	struct unwind_row last;
	size_t nr;
};

static void check_found(const struct rows *rows, uint64_t elf_addr, const struct unwind_rule *rule)
{
	const struct unwind_table *table = rows->table;
	struct unwind_rule found;

	if (!unwind_table_find(table, elf_addr, &found))
		require(table->truncated || rule->kind == UNWIND_GAP);
	else if (found.kind != UNWIND_UNSUPPORTED || !table->nr_extended_dropped)
		require(memcmp(&found, rule, sizeof(found)) == 0);
}

/* The row before this one holds from its address to here, unless it is a gap of mere padding. */
static void check_row(void *ctx, const struct unwind_row *row)
{
	struct rows *rows = ctx;
	uint64_t first = rows->last.elf_addr, len = row->elf_addr - first;

	if (rows->nr++ > 0) {
		require(row->elf_addr > first);
		if (rows->last.rule.kind != UNWIND_GAP || len >= UNWIND_PADDING_BYTES) {
			check_found(rows, first, &rows->last.rule);
			check_found(rows, first + len / 2, &rows->last.rule);
			check_found(rows, row->elf_addr - 1, &rows->last.rule);
		}
	}
	rows->last = *row;
}

static void check_table(const struct unwind_table *table)
{
	require(table->start % X86_PAGE_BYTES == 0);
	require(table->nr_pages <= UNWIND_TABLE_MAX_PAGES);
	require(table->nr_extended >= UNWIND_NR_FIXED_EXTENDED &&
		table->nr_extended <= UNWIND_MAX_EXTENDED);
	require(table->pages[0] == 0 && table->pages[table->nr_pages] == table->nr_rows);
	for (uint32_t page = 0; page < table->nr_pages; page++) {
		uint32_t first = table->pages[page], limit = table->pages[page + 1];

		require(first < limit && limit - first <= UNWIND_PAGE_MAX_ROWS);
		require(unwind_row_pc(table->rows[first]) == 0);
		for (uint32_t i = first + 1; i < limit; i++)
			require(unwind_row_pc(table->rows[i]) > unwind_row_pc(table->rows[i - 1]));
		for (uint32_t i = first; i < limit; i++) {
			uint32_t rule = unwind_row_rule(table->rows[i]);

			require(!(rule & UNWIND_RULE_EXTENDED) ||
				(rule & UNWIND_EXTENDED_MASK) < table->nr_extended);
		}
	}
}

static bool read_memory(void *ctx, uint64_t addr, uint64_t *value)
{
	(void)ctx;
	*value = addr * 0x9e3779b97f4a7c15ull >> 20;
	return addr % 5 != 0;
}

static void walk(const struct unwind_table *table)
{
	uint64_t leaf[UNWIND_NR_REGS] = {0x1000, 0x2000, 0x3000, 0x4000};

	for (uint32_t i = 0; i < table->nr_extended; i++) {
		struct unwind_regs regs = {.ip = table->start + i,
					   .sp = 0x7ffe0000,
					   .fp = 0x7ffe0100,
					   .leaf = i % 2 ? leaf : NULL};

		unwind_step(&unwind_x86, &table->extended[i], &regs, read_memory, NULL);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len_bytes)
{
	struct ehframe_input input = {
		.arch = &unwind_x86, .code_start = 0x1000, .code_limit = 0x301000};
	struct unwind_table *table;
	struct rows rows = {0};
	uint64_t addr;

	if (len_bytes < 1)
		return 0;
	input.section = (struct cfi_section){
		.bytes = bytes + 1,
		.len_bytes = len_bytes - 1,
		.elf_addr = 0x200000,
		.text_addr = 0x1000,
		.data_addr = 0x300000,
		.debug_frame = bytes[0] & 1,
	};
	if (bytes[0] >= 0xf0) {
		input.code_start = 0;
		input.code_limit = UINT64_MAX;
	}
	input.track_extra = bytes[0] & 2;
	if (bytes[0] & 4)
		cfi_header_read(&input.section, &addr);
	require(unwind_table_new(&input, &table) == 0);
	check_table(table);
	rows.table = table;
	input.track_extra = table->tracks_extra;
	require(ehframe_rows(&input, check_row, &rows, NULL) == 0);
	require(rows.nr == 0 || rows.last.rule.kind == UNWIND_GAP);
	walk(table);
	unwind_table_free(table);
	return 0;
}
