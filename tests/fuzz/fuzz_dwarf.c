// SPDX-License-Identifier: BSD-2-Clause
/* The input is an ELF file: lines, functions and inlines of addresses in its segments, twice. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "object/altlink.h"
#include "object/dwarf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NR_ADDRS 256

static volatile size_t sink;

static void look(void *ctx, size_t i, const struct source_frame *frames, size_t nr)
{
	uint8_t *seen = ctx;

	if (i >= NR_ADDRS || !nr || nr > SOURCE_MAX_FRAMES || seen[i])
		abort();
	seen[i] = 1;
	for (size_t frame = 0; frame < nr; frame++) {
		if (!frames[frame].file || (!frames[frame].name && frame + 1 < nr))
			abort();
		sink += strlen(frames[frame].file) +
			(frames[frame].name ? strlen(frames[frame].name) : 0);
	}
}

static void look_at_split(void *ctx, size_t i, uint64_t dwo_id, const char *name, const char *dir)
{
	(void)ctx;
	if (i >= NR_ADDRS)
		abort();
	sink += dwo_id + strlen(name) + strlen(dir);
}

static void ask(const struct elf_file *file, struct dwarf_source *source)
{
	size_t nr_segments = elf_file_nr_segments(file);
	uint64_t addrs[NR_ADDRS];

	for (int inlines = 0; inlines < 2; inlines++) {
		uint8_t seen[NR_ADDRS] = {0};

		for (size_t i = 0; i < NR_ADDRS; i++)
			addrs[i] = nr_segments ? elf_file_segment(file, i % nr_segments)->elf_addr +
							 5 * i
					       : 0x401000 + 5 * i;
		addrs[7] = UINT64_MAX;
		addrs[9] = 0;
		dwarf_source_frames(source, addrs, NR_ADDRS, inlines, NULL, look, seen);
		dwarf_source_splits(source, addrs, NR_ADDRS, NULL, look_at_split, NULL);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct altlink link;
	struct dwarf_source *source;
	struct elf_file *file;

	if (elf_file_open_memory(data, size, &file))
		return 0;
	source = dwarf_source_new(file, NULL);
	if (source) {
		if (!altlink_read(file, &link)) {
			sink += strlen(link.path) + strlen(link.id);
			sink += altlink_is(file, link.id);
		}
		dwarf_source_set_alt(source, file, NULL);
		ask(file, source);
		if (!dwarf_source_set_split(source, file, NULL))
			ask(file, source);
	}
	dwarf_source_free(source);
	elf_file_close(file);
	return 0;
}
