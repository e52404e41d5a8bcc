// SPDX-License-Identifier: BSD-2-Clause
/*
 * The sections of DWARF may be compressed (SHF_COMPRESSED; .zdebug_ before that). What they will take is in their headers
 * and is checked before: a few bytes can claim gigabytes. Large ones that are not compressed stay where they are, where that
 * can be (base/fileview.h): of 1 GB of DWARF a question touches a few MB.
 *
 * The units of .debug_info follow each other, each with its length in front, so a list of where they begin costs one
 * read for each.
 */
#include "object/dwarffile.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fileview.h"
#include "object/inflate.h"

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

#define STRING_MAX_BYTES (64u << 10)
#define DEFLATE_MOST	 1032 /* times smaller than what it holds is no zlib stream */
#define LOOK_EVERY	 (1u << 16)
#define VIEW_MIN_BYTES	 (64u << 10) /* smaller ones are read */

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
	[DWARF_CU_INDEX] = "cu_index",
};

/* The sections of split units, which have their addresses and lines in the linked file. */
static const char *const split_names[DWARF_NR_SECTIONS] = {
	[DWARF_INFO] = "info.dwo",
	[DWARF_ABBREV] = "abbrev.dwo",
	[DWARF_STR] = "str.dwo",
	[DWARF_RNGLISTS] = "rnglists.dwo",
	[DWARF_STR_OFFSETS] = "str_offsets.dwo",
	[DWARF_CU_INDEX] = "cu_index",
};

void dwarfwork_note_unread(struct dwarfwork *work)
{
	work->is_unread |= !work->is_over;
}

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

/* What the sections of a file take, when those are loaded that were looked at so far. */
struct sums {
	uint64_t memory_bytes, view_bytes;
};

/* A compressed section. */
struct packed {
	enum inflate_method method;
	const uint8_t *bytes;
	size_t len_bytes;
	uint64_t out_bytes; /* what it says that it holds */
};

/* "ZLIB", and the length, the highest byte first. */
static bool read_zdebug(const struct elf_section *section, struct packed *packed)
{
	const uint8_t *bytes = section->bytes;

	if (section->len_bytes < 12 || memcmp(bytes, "ZLIB", 4) != 0)
		return false;
	memcpy(&packed->out_bytes, bytes + 4, 8);
	packed->out_bytes = __builtin_bswap64(packed->out_bytes);
	packed->method = INFLATE_ZLIB;
	packed->bytes = bytes + 12;
	packed->len_bytes = section->len_bytes - 12;
	return true;
}

static bool read_compressed(const struct elf_section *section, struct packed *packed)
{
	Elf64_Chdr header;

	if (section->len_bytes < sizeof(header))
		return false;
	memcpy(&header, section->bytes, sizeof(header));
	if (header.ch_type != ELFCOMPRESS_ZLIB && header.ch_type != ELFCOMPRESS_ZSTD)
		return false;
	packed->method = header.ch_type == ELFCOMPRESS_ZLIB ? INFLATE_ZLIB : INFLATE_ZSTD;
	packed->bytes = (const uint8_t *)section->bytes + sizeof(header);
	packed->len_bytes = section->len_bytes - sizeof(header);
	packed->out_bytes = header.ch_size;
	return true;
}

/* Could it hold so much? */
static bool is_plausible(const struct packed *packed)
{
	return packed->out_bytes && packed->out_bytes <= SECTION_MAX_BYTES &&
	       (packed->method != INFLATE_ZLIB ||
		packed->out_bytes / DEFLATE_MOST <= packed->len_bytes);
}

static void unpack(struct dwarffile *file, enum dwarfsection which, const struct packed *packed)
{
	void *bytes scoped(freep) = malloc(packed->out_bytes);

	if (!bytes || inflate_all(packed->method, packed->bytes, packed->len_bytes, bytes,
				  packed->out_bytes, file->work->budget))
		return;
	file->sections[which].bytes = file->sections[which].unpacked = bytes;
	file->sections[which].len_bytes = packed->out_bytes;
	bytes = NULL;
}

/* The compressed bytes are in an elf_file of their own, which goes when they are decompressed. */
static void load_packed(struct dwarffile *file, enum dwarfsection which, size_t index,
			bool is_zdebug, struct sums *sums)
{
	struct elf_section section = {0};
	struct packed packed;
	struct elf_file *again;

	if (elf_file_reopen(file->elf, &again))
		return;
	if (elf_file_section_at(again, index, &section) && section.bytes &&
	    (is_zdebug ? read_zdebug(&section, &packed) : read_compressed(&section, &packed)) &&
	    is_plausible(&packed)) {
		sums->memory_bytes += packed.out_bytes;
		if (sums->memory_bytes <= DWARF_MAX_BYTES)
			unpack(file, which, &packed);
	}
	elf_file_close(again);
}

/* false: it has to be read. */
static bool load_view(struct dwarffile *file, enum dwarfsection which,
		      const struct elf_section *section, struct sums *sums)
{
	if (section->len_bytes < VIEW_MIN_BYTES ||
	    section->len_bytes > DWARF_MAX_VIEW_BYTES - sums->view_bytes)
		return false;
	file->sections[which].bytes = elf_file_view(file->elf, section);
	if (!file->sections[which].bytes)
		return false;
	file->sections[which].len_bytes = section->len_bytes;
	file->sections[which].is_view = true;
	sums->view_bytes += section->len_bytes;
	return true;
}

static void load(struct dwarffile *file, enum dwarfsection which, size_t index, bool is_zdebug,
		 struct sums *sums)
{
	struct elf_section section = {0};

	if (!elf_file_section_header(file->elf, index, &section))
		return;
	if (is_zdebug || (section.flags & SHF_COMPRESSED)) {
		load_packed(file, which, index, is_zdebug, sums);
		return;
	}
	if (load_view(file, which, &section, sums))
		return;
	sums->memory_bytes += section.len_bytes;
	if (sums->memory_bytes > DWARF_MAX_BYTES ||
	    !elf_file_section_at(file->elf, index, &section))
		return;
	file->sections[which].bytes = section.bytes;
	file->sections[which].len_bytes = section.len_bytes;
}

/* false: they are too large, or time was up, so that any may be missing. */
static bool load_all(struct dwarffile *file)
{
	struct sums sums = {0};

	for (size_t which = 0; which < DWARF_NR_SECTIONS; which++) {
		const char *own = file->is_split ? split_names[which] : names[which];

		for (int is_zdebug = 0; is_zdebug < 2 && own && !file->sections[which].bytes;
		     is_zdebug++) {
			char *name scoped(freep) =
				xasprintf(".%sdebug_%s", is_zdebug ? "z" : "", own);

			load(file, which, elf_file_find_section(file->elf, name), is_zdebug, &sums);
		}
	}
	return sums.memory_bytes <= DWARF_MAX_BYTES &&
	       !(file->work->budget && workbudget_is_over(file->work->budget));
}

static void list_units(struct dwarffile *file)
{
	uint64_t off = 0;

	while (off < file->sections[DWARF_INFO].len_bytes && file->units.nr < DWARF_MAX_UNITS) {
		struct dwarfcursor cursor = dwarffile_cursor(file, DWARF_INFO, off);
		uint8_t offset_bytes;
		uint64_t len_bytes = dwarfcursor_length(&cursor, &offset_bytes);

		if (cursor.is_bad || len_bytes > dwarfcursor_left(&cursor)) {
			dwarfwork_note_unread(file->work);
			return;
		}
		vec_push(&file->units, off);
		off += len_bytes + (offset_bytes == 8 ? 12 : 4);
	}
}

struct dwarffile *dwarffile_new(const struct elf_file *elf, bool is_split, struct dwarfwork *work)
{
	struct dwarffile *file;
	struct elf_file *again;

	if (elf_file_reopen(elf, &again))
		return NULL;
	file = xcalloc(1, sizeof(*file));
	file->elf = again;
	file->work = work;
	file->is_split = is_split;
	if (load_all(file))
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
	for (size_t i = 0; i < DWARF_NR_SECTIONS; i++) {
		free(file->sections[i].unpacked);
		if (file->sections[i].is_view)
			fileview_close(file->sections[i].bytes, file->sections[i].len_bytes);
	}
	elf_file_close(file->elf);
	free(file);
}

uint64_t dwarffile_bytes(const struct dwarffile *file)
{
	uint64_t len_bytes = 0;

	for (size_t i = 0; file && i < DWARF_NR_SECTIONS; i++)
		len_bytes += file->sections[i].len_bytes;
	return len_bytes;
}

uint64_t dwarffile_memory(const struct dwarffile *file)
{
	uint64_t len_bytes = dwarffile_bytes(file);

	for (size_t i = 0; file && i < DWARF_NR_SECTIONS; i++)
		if (file->sections[i].is_view)
			len_bytes -= file->sections[i].len_bytes;
	return len_bytes;
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
