// SPDX-License-Identifier: BSD-2-Clause
/*
 * Notes are {namesz, descsz, type}, name, desc, the latter two padded to 4 bytes. (8 in
 * .note.gnu.property, whose sizes are multiples of 8 anyway.)
 */
#include "object/buildid.h"

#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static bool fits(uint64_t off, uint64_t len_bytes, uint64_t in_bytes)
{
	return off <= in_bytes && len_bytes <= in_bytes - off;
}

bool buildid_of_notes(const char *notes, size_t len_bytes, char hex[BUILD_ID_HEX_BYTES])
{
	size_t off = 0;

	while (fits(off, sizeof(Elf64_Nhdr), len_bytes)) {
		Elf64_Nhdr note;
		uint64_t name, desc;

		memcpy(&note, notes + off, sizeof(note));
		name = off + sizeof(note);
		desc = name + (((uint64_t)note.n_namesz + 3) & ~3ull);
		if (!fits(desc, note.n_descsz, len_bytes))
			return false;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(ELF_NOTE_GNU) &&
		    !memcmp(notes + name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) && note.n_descsz &&
		    note.n_descsz <= BUILD_ID_MAX_BYTES) {
			for (size_t i = 0; i < note.n_descsz; i++)
				sprintf(hex + 2 * i, "%02x", (unsigned char)notes[desc + i]);
			return true;
		}
		off = desc + (((uint64_t)note.n_descsz + 3) & ~3ull);
	}
	return false;
}
