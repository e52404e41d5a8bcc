// SPDX-License-Identifier: BSD-2-Clause
/* An alternate file by DWARF 5 has no build-id note: the checksum in its own .debug_sup is used instead. */
#include "object/altlink.h"

#include <errno.h>
#include <string.h>

#include "object/dwarfcursor.h"

static int read_path(struct dwarfcursor *cursor, struct altlink *link)
{
	const char *path = dwarfcursor_string(cursor);

	if (!path || strlen(path) >= sizeof(link->path))
		return -EBADMSG;
	strcpy(link->path, path);
	return 0;
}

static int read_id(const struct dwarfcursor *cursor, struct altlink *link)
{
	static const char digits[] = "0123456789abcdef";
	size_t nr = dwarfcursor_left(cursor);

	if (cursor->is_bad || !nr || nr > BUILD_ID_MAX_BYTES)
		return -EBADMSG;
	for (size_t i = 0; i < nr; i++) {
		link->id[2 * i] = digits[cursor->at[i] >> 4];
		link->id[2 * i + 1] = digits[cursor->at[i] & 15];
	}
	link->id[2 * nr] = '\0';
	return 0;
}

static bool open_section(const struct elf_file *file, const char *name, struct dwarfcursor *cursor)
{
	struct elf_section section;

	if (!elf_file_section(file, name, &section) || !section.bytes)
		return false;
	*cursor = (struct dwarfcursor){section.bytes,
				       (const uint8_t *)section.bytes + section.len_bytes, false};
	return true;
}

static int read_sup(struct dwarfcursor *cursor, bool is_alt, struct altlink *link)
{
	uint16_t version = dwarfcursor_u16(cursor);
	uint8_t says_alt = dwarfcursor_u8(cursor);
	uint64_t len_bytes;
	int err = read_path(cursor, link);

	if (err || version != 5 || says_alt != is_alt)
		return -EBADMSG;
	len_bytes = dwarfcursor_uleb(cursor);
	if (len_bytes > dwarfcursor_left(cursor))
		return -EBADMSG;
	cursor->end = cursor->at + len_bytes;
	return read_id(cursor, link);
}

int altlink_read(const struct elf_file *file, struct altlink *link)
{
	struct dwarfcursor cursor;
	struct altlink read = {0};
	int err = -ENOENT;

	if (open_section(file, ".gnu_debugaltlink", &cursor)) {
		err = read_path(&cursor, &read);
		if (!err)
			err = read_id(&cursor, &read);
	} else if (open_section(file, ".debug_sup", &cursor)) {
		err = read_sup(&cursor, false, &read);
	}
	if (!err && !*read.path)
		err = -EBADMSG;
	if (!err)
		*link = read;
	return err;
}

bool altlink_is(const struct elf_file *alt, const char *id)
{
	struct dwarfcursor cursor;
	struct altlink own;

	if (*elf_file_build_id(alt))
		return !strcmp(elf_file_build_id(alt), id);
	return open_section(alt, ".debug_sup", &cursor) && !read_sup(&cursor, true, &own) &&
	       !strcmp(own.id, id);
}
