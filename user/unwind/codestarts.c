// SPDX-License-Identifier: BSD-2-Clause
/* The highest bit, which no address of a file has, marks what is not known. */
#include "unwind/codestarts.h"

#define UNKNOWN (1ull << 63)

void codestarts_add(struct codestarts *starts, uint64_t elf_addr, bool is_known)
{
	uint64_t entry = elf_addr | (is_known ? 0 : UNKNOWN);
	uint64_t *last = starts->at.nr ? &starts->at.at[starts->at.nr - 1] : NULL;

	if (elf_addr & UNKNOWN || (last && *last & entry & UNKNOWN))
		return;
	if (last && (*last & ~UNKNOWN) == elf_addr)
		*last = entry;
	else
		vec_push(&starts->at, entry);
}

/* How many entries are for addresses up to elf_addr. */
static size_t nr_until(const struct codestarts *starts, uint64_t elf_addr)
{
	return vec_partition(&starts->at, entry, (*entry & ~UNKNOWN) <= elf_addr);
}

bool codestarts_find(const struct codestarts *starts, uint64_t elf_addr, uint64_t *start)
{
	size_t behind = nr_until(starts, elf_addr);

	if (!behind || starts->at.at[behind - 1] & UNKNOWN)
		return false;
	*start = starts->at.at[behind - 1];
	return true;
}

bool codestarts_divide(const struct codestarts *starts, uint64_t start, uint64_t elf_addr)
{
	return nr_until(starts, elf_addr) > nr_until(starts, start);
}

void codestarts_release(struct codestarts *starts)
{
	vec_release(&starts->at);
}
