// SPDX-License-Identifier: BSD-2-Clause
/* The input is an ELF file, whose notes of probes are read: what is found must be in the file, and complete. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/require.h"
#include "probes/usdt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct elf_file *elf)
{
	struct allocator allocator = {0};
	uint64_t elf_addr;

	if (!usdt_find(elf, &allocator)) {
		require(!allocator.nr);
		return;
	}
	require(allocator.nr >= 3 && allocator.nr <= ALLOC_MAX_SITES);
	for (size_t i = 0; i < allocator.nr; i++) {
		const struct alloc_site *site = &allocator.sites[i];

		require(site->shape >= SHAPE_SAMPLED && site->shape < NR_SHAPES);
		require(!elf_file_addr(elf, site->file_off, &elf_addr));
		require(!elf_file_addr(elf, site->semaphore_off, &elf_addr));
		require(*allocator.names[i]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_file *elf;
	/* Of exactly this size, so that a byte too far is seen. */
	uint8_t *image = malloc(size ? size : 1);

	memcpy(image, data, size);
	if (!elf_file_open_memory(image, size, &elf)) {
		check(elf);
		elf_file_close(elf);
	}
	free(image);
	return 0;
}
