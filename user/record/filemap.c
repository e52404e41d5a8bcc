// SPDX-License-Identifier: BSD-2-Clause
/*
 * A reader that wants to ask the file itself computes a base to take from each address first, from the
 * mapping we write. pprof (internal/elfexec, GetBase) has
 *
 *	base = start - offset + p_offset - p_vaddr
 *
 * so the mapping is written as the segment would be mapped at base 0: start = p_vaddr and offset =
 * p_offset, both rounded down to the page they share a place in, limit = p_vaddr + p_memsz rounded
 * up. GetBase's shortcut for kernels (base = offset where p_vaddr == start - offset) can only strike
 * where p_offset is 0, and is right there too.
 *
 * What a mapping says of its names. Without has_functions pprof opens the file at that path itself, complains
 * on stderr when it is missing or another, and where it is there puts addr2line's "??" over our
 * "libfoo.so.6+0x1234". So the flag is set wherever each location has a function, whatever its grade; how good a
 * name is, its function says: system_name is empty if the name was made up. Alternative rejected: a second
 * mapping, without flag and build-id, for code without symbols. It is as silent, but splits a file in two for who
 * looks by mapping, and hides from debuginfod and symbol servers just the files that need them.
 *
 * A mapping without a location has the flag, too: where pprof merges profiles, the flags of the first one count.
 */
#include "record/filemap.h"

#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

#define PAGE_BYTES 4096ull

/* "/dev/[zero]", which pprof does not try to open. Owned by the caller. */
static char *bracketed(const char *path)
{
	const char *base = text_base_name(path);

	return xasprintf("%.*s[%s]", (int)(base - path), path, base);
}

static uint64_t page_floor(uint64_t addr)
{
	return addr & ~(PAGE_BYTES - 1);
}

/* The end of a range, rounded up; hostile sizes stick at the last page. */
static uint64_t page_limit(uint64_t start, uint64_t len_bytes)
{
	uint64_t limit;

	if (__builtin_add_overflow(start, len_bytes, &limit) || limit > UINT64_MAX - PAGE_BYTES)
		return page_floor(UINT64_MAX);
	return page_floor(limit + PAGE_BYTES - 1);
}

struct profile_mapping filemap_of_file(struct profile *profile, const struct filemap_file *file,
				       uint64_t file_off, const struct mapping *map)
{
	const struct reply_file *elf = file->elf;
	const struct elf_segment *segment = elf ? segments_at(elf->segments, file_off) : NULL;
	struct profile_mapping mapping = {
		.path = profile_string(profile, file->path),
		.build_id = elf ? profile_string(profile, elf->build_id) : 0,
		.has_functions = true,
	};

	if (segment) {
		mapping.start = page_floor(segment->elf_addr);
		mapping.limit = page_limit(segment->elf_addr, segment->mem_bytes);
		mapping.file_off = page_floor(segment->file_off);
	} else {
		mapping.start = page_floor(map ? map->file_off : file_off);
		mapping.limit = map ? page_limit(map->file_off, map->limit - map->start)
				    : page_limit(file_off, 1);
		mapping.file_off = mapping.start;
	}
	return mapping;
}

struct profile_mapping filemap_of_name(struct profile *profile, const char *name, uint64_t start,
				       uint64_t limit)
{
	bool is_known = *text_base_name(name) == '[' || !strcmp(name, "//anon");
	char *unnamed scoped(freep) = bracketed(name);

	if (!*name)
		name = "//anon";
	else if (!is_known)
		name = unnamed;
	return (struct profile_mapping){.path = profile_string(profile, name),
					.start = start,
					.limit = limit,
					.has_functions = true};
}

struct profile_mapping filemap_of_vdso(struct profile *profile, const struct reply_file *vdso,
				       uint64_t len_bytes)
{
	struct profile_mapping mapping =
		filemap_of_name(profile, "[vdso]", 0, page_limit(0, len_bytes));

	mapping.build_id = vdso ? profile_string(profile, vdso->build_id) : 0;
	return mapping;
}

void filemap_note_lines(struct profile *profile, const struct profile_location *location)
{
	struct profile_mapping *mapping = &profile->mappings.at[location->mapping - 1];

	mapping->has_inline_frames |= location->nr_lines > 1;
	for (uint32_t i = 0; i < location->nr_lines; i++) {
		const struct profile_line *line = &location->lines[i];

		mapping->has_line_numbers |= line->line != 0;
		mapping->has_filenames |= profile->functions.at[line->function - 1].path != 0;
	}
}
