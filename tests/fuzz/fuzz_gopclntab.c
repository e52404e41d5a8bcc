// SPDX-License-Identifier: BSD-2-Clause
/* The input is an ELF file, read as a Go program: its functions and lines. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "object/golines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile size_t sink;

static void ask(const struct gopclntab *table, uint64_t elf_addr)
{
	uint64_t start = 0;
	const char *name = gopclntab_find(table, elf_addr, &start);

	if (name && start > elf_addr)
		abort();
	sink += name ? strlen(name) : 0;
}

static void count(void *ctx, size_t i, const struct source_frame *frames, size_t nr)
{
	const size_t *nr_asked = ctx;

	if (i >= *nr_asked || !nr || nr > SOURCE_MAX_FRAMES)
		abort();
	for (size_t k = 0; k < nr; k++)
		sink += strlen(frames[k].name) + strlen(frames[k].file) + frames[k].line +
			frames[k].start_line;
}

static void ask_lines(const struct gopclntab *table, const struct elf_file *file, uint64_t elf_addr)
{
	uint64_t elf_addrs[64];
	size_t nr = sizeof(elf_addrs) / sizeof(elf_addrs[0]);

	for (size_t i = 0; i < nr; i++)
		elf_addrs[i] = elf_addr + i * 31;
	golines_find(table, file, elf_addrs, nr, count, &nr);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_file *file;
	struct gopclntab *table;

	if (elf_file_open_memory(data, size, &file))
		return 0;
	sink += gopclntab_is_there(file);
	table = gopclntab_new(file);
	for (size_t i = 0; i < elf_file_nr_segments(file) && i < 4; i++)
		ask_lines(table, file, elf_file_segment(file, i)->elf_addr);
	for (size_t i = 0; i < elf_file_nr_segments(file); i++)
		for (uint64_t off = 0; off < 4096; off += 31)
			ask(table, elf_file_segment(file, i)->elf_addr + off);
	ask(table, 0);
	ask(table, UINT64_MAX);
	if (table && !gopclntab_nr(table))
		abort();
	gopclntab_free(table);
	elf_file_close(file);
	return 0;
}
