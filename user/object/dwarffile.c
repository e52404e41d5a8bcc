// SPDX-License-Identifier: BSD-2-Clause
/*
 * The sections of DWARF may be compressed (SHF_COMPRESSED; .zdebug_ before that), which libelf undoes in memory. What
 * they will take is in their headers and is checked before: a few bytes can claim gigabytes.
 *
 * The units of .debug_info follow each other, each with its length in front, so a list of where they begin costs one
 * read for each.
 */
#include "object/dwarffile.h"

#include <errno.h>
#include <gelf.h>

#include "base/alloc.h"

#define STRING_MAX_BYTES (64u << 10)
#define DEFLATE_MOST	 1032 /* times smaller than what it holds is no zlib stream */
#define LOOK_EVERY	 (1u << 16)

static const char *const names[DWARF_NR_SECTIONS] = {
	[DWARF_INFO] = "info",
	[DWARF_ABBREV] = "abbrev",
	[DWARF_LINE] = "line",
	[DWARF_STR] = "str",
	[DWARF_LINE_STR] = "line_str",
	[DWARF_ADDR] = "addr",
	[DWARF_RNGLISTS] = "rnglists",
	[DWARF_RANGES] = "ranges",
	[DWARF_STR_OFFSETS] = "str_offsets",
};

bool dwarfwork_spend(struct dwarfwork *work, uint64_t nr)
{
	if (work->is_over || nr > work->left) {
		work->is_over = true;
		return false;
	}
	work->left -= nr;
	if (nr < work->until_look) {
		work->until_look -= nr;
		return true;
	}
	work->until_look = LOOK_EVERY;
	work->is_over = work->budget && workbudget_is_over(work->budget);
	return !work->is_over;
}

/* What a compressed section says that it holds. 0: it cannot be. */
static uint64_t inflated_bytes(Elf_Scn *scn, const struct elf_section *section, bool is_zdebug)
{
	uint64_t len_bytes = 0;
	GElf_Chdr header;

	if (is_zdebug) {
		/* "ZLIB", and the length, the highest byte first. */
		if (section->len_bytes < 12 || memcmp(section->bytes, "ZLIB", 4) != 0)
			return 0;
		memcpy(&len_bytes, (const char *)section->bytes + 4, 8);
		len_bytes = __builtin_bswap64(len_bytes);
	} else if (gelf_getchdr(scn, &header)) {
		if (header.ch_type != ELFCOMPRESS_ZLIB)
			return header.ch_size;
		len_bytes = header.ch_size;
	}
	return len_bytes / DEFLATE_MOST <= section->len_bytes ? len_bytes : 0;
}

static void load(struct dwarffile *file, enum dwarfsection which, size_t index, bool is_zdebug,
		 uint64_t *total_bytes)
{
	struct elf_section section = {0};
	uint64_t len_bytes;
	Elf_Data *data;
	Elf_Scn *scn;

	if (!elf_file_section_header(file->elf, index, &section) ||
	    !elf_file_section_at(file->elf, index, &section) || !section.bytes)
		return;
	len_bytes = section.len_bytes;
	scn = elf_getscn(elf_file_libelf(file->elf), index);
	if (is_zdebug || (section.flags & SHF_COMPRESSED)) {
		len_bytes = inflated_bytes(scn, &section, is_zdebug);
		if (!len_bytes || len_bytes > SECTION_MAX_BYTES)
			return;
	}
	*total_bytes += len_bytes;
	if (*total_bytes > DWARF_MAX_BYTES)
		return;
	if (is_zdebug || (section.flags & SHF_COMPRESSED)) {
		if ((is_zdebug ? elf_compress_gnu(scn, 0, 0) : elf_compress(scn, 0, 0)) < 0)
			return;
		data = elf_getdata(scn, NULL);
		if (!data || !data->d_buf)
			return;
		section.bytes = data->d_buf;
		len_bytes = data->d_size;
	}
	file->sections[which].bytes = section.bytes;
	file->sections[which].len_bytes = len_bytes;
}

static uint64_t load_all(struct dwarffile *file)
{
	uint64_t total_bytes = 0;

	for (size_t which = 0; which < DWARF_NR_SECTIONS; which++) {
		for (int is_zdebug = 0; is_zdebug < 2 && !file->sections[which].bytes;
		     is_zdebug++) {
			char *name scoped(freep) =
				xasprintf(".%sdebug_%s", is_zdebug ? "z" : "", names[which]);

			load(file, which, elf_file_find_section(file->elf, name), is_zdebug,
			     &total_bytes);
		}
	}
	return total_bytes;
}

static void list_units(struct dwarffile *file)
{
	uint64_t off = 0;

	while (off < file->sections[DWARF_INFO].len_bytes && file->units.nr < DWARF_MAX_UNITS) {
		struct dwarfcursor cursor = dwarffile_cursor(file, DWARF_INFO, off);
		uint8_t offset_bytes;
		uint64_t len_bytes = dwarfcursor_length(&cursor, &offset_bytes);

		if (cursor.is_bad || len_bytes > dwarfcursor_left(&cursor))
			return;
		vec_push(&file->units, off);
		off += len_bytes + (offset_bytes == 8 ? 12 : 4);
	}
}

struct dwarffile *dwarffile_new(const struct elf_file *elf, struct dwarfwork *work)
{
	struct dwarffile *file;
	struct elf_file *again;

	if (elf_file_reopen(elf, &again))
		return NULL;
	file = xcalloc(1, sizeof(*file));
	file->elf = again;
	file->work = work;
	if (load_all(file) <= DWARF_MAX_BYTES)
		list_units(file);
	if (file->units.nr && file->sections[DWARF_ABBREV].bytes)
		return file;
	dwarffile_free(file);
	return NULL;
}

void dwarffile_free(struct dwarffile *file)
{
	if (!file)
		return;
	vec_release(&file->units);
	elf_file_close(file->elf);
	free(file);
}

struct dwarfcursor dwarffile_cursor(const struct dwarffile *file, enum dwarfsection section,
				    uint64_t off)
{
	static const uint8_t nothing[1];
	const uint8_t *bytes = file->sections[section].bytes;
	size_t len_bytes = file->sections[section].len_bytes;

	if (!bytes || off > len_bytes)
		return (struct dwarfcursor){nothing, nothing, true};
	return (struct dwarfcursor){bytes + off, bytes + len_bytes, false};
}

const char *dwarffile_string(const struct dwarffile *file, enum dwarfsection section, uint64_t off)
{
	struct dwarfcursor cursor = dwarffile_cursor(file, section, off);

	if (dwarfcursor_left(&cursor) > STRING_MAX_BYTES)
		cursor.end = cursor.at + STRING_MAX_BYTES;
	return dwarfcursor_string(&cursor);
}
