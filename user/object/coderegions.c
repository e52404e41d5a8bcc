// SPDX-License-Identifier: BSD-2-Clause
/* A sorted array, and a binary search in it. Sections of a linked file do not overlap. */
#include "object/coderegions.h"

#include <elf.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
	const struct coderegion *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

void coderegions_read(struct coderegions *regions, const struct elf_file *file)
{
	for (size_t i = 0; i < elf_file_nr_sections(file); i++) {
		const uint64_t code = SHF_ALLOC | SHF_EXECINSTR;
		struct elf_section section;
		uint64_t limit;

		if (!elf_file_section_header(file, i, &section) || (section.flags & code) != code ||
		    __builtin_add_overflow(section.elf_addr, section.len_bytes, &limit))
			continue;
		vec_push(&regions->at, (struct coderegion){section.elf_addr, limit});
	}
	if (regions->at.nr)
		qsort(regions->at.at, regions->at.nr, sizeof(*regions->at.at), compare);
}

void coderegions_release(struct coderegions *regions)
{
	vec_release(&regions->at);
}

uint64_t coderegions_limit(const struct coderegions *regions, uint64_t elf_addr)
{
	size_t nr = vec_partition(&regions->at, region, region->start <= elf_addr);

	if (!nr || elf_addr >= regions->at.at[nr - 1].limit)
		return 0;
	return regions->at.at[nr - 1].limit;
}
