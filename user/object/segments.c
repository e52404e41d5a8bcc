// SPDX-License-Identifier: BSD-2-Clause
/*
 * A file may have several segments that hold one offset, since a linker lets two share a page of the file, and
 * each is mapped with the whole page. The executable one is preferred: only code is sampled.
 */
#include "object/segments.h"

#include <errno.h>
#include <unistd.h>

bool segment_is_sane(const struct elf_segment *segment)
{
	uint64_t end;

	return segment->file_bytes <= segment->mem_bytes &&
	       !__builtin_add_overflow(segment->elf_addr, segment->mem_bytes, &end) &&
	       !__builtin_add_overflow(segment->file_off, segment->file_bytes, &end);
}

/*
 * How well a segment answers for file_off: 0 not at all. Only executable mappings are sampled, so an
 * executable segment that has the offset in its first page goes before one, of data, that has it in
 * its middle: lld lets both share a page of the file.
 */
static int segment_score(const struct elf_segment *segment, uint64_t file_off, uint64_t page_bytes)
{
	uint64_t page = segment->file_off & ~(page_bytes - 1);
	bool exact = file_off >= segment->file_off &&
		     file_off - segment->file_off < segment->file_bytes;
	bool near = file_off >= page && file_off < segment->file_off && segment->file_bytes;

	if (!exact && !near)
		return 0;
	return 1 + exact + 2 * segment->executable;
}

const struct elf_segment *segments_at_in_pages(struct segments segments, uint64_t file_off,
					       uint64_t page_bytes)
{
	const struct elf_segment *best = NULL;
	int best_score = 0;

	for (size_t i = 0; i < segments.nr; i++) {
		int score = segment_score(&segments.at[i], file_off, page_bytes);

		if (score > best_score) {
			best = &segments.at[i];
			best_score = score;
		}
	}
	return best;
}

const struct elf_segment *segments_at(struct segments segments, uint64_t file_off)
{
	return segments_at_in_pages(segments, file_off, (uint64_t)sysconf(_SC_PAGESIZE));
}

int segments_addr(struct segments segments, uint64_t file_off, uint64_t *elf_addr)
{
	const struct elf_segment *segment = segments_at(segments, file_off);

	if (!segment)
		return -ENOENT;
	/* Before p_offset, in its page, is before p_vaddr: which may be nowhere. */
	if (file_off < segment->file_off && segment->file_off - file_off > segment->elf_addr)
		return -ENOENT;
	*elf_addr = segment->elf_addr + (file_off - segment->file_off);
	return 0;
}

int segments_offset(struct segments segments, uint64_t elf_addr, uint64_t *file_off)
{
	for (size_t i = 0; i < segments.nr; i++) {
		const struct elf_segment *segment = &segments.at[i];

		if (elf_addr < segment->elf_addr ||
		    elf_addr - segment->elf_addr >= segment->file_bytes)
			continue;
		*file_off = segment->file_off + (elf_addr - segment->elf_addr);
		return 0;
	}
	return -ENOENT;
}
