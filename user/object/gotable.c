// SPDX-License-Identifier: BSD-2-Clause
/*
 * The header is that of Go's runtime/symtab.go (pcHeader). An external linker may put the table into a larger section,
 * so the header is searched for there.
 */
#include "object/gotable.h"

#include <string.h>

#include "object/gopclntab.h"

uint64_t gotable_number(const uint8_t *at, size_t width_bytes)
{
	uint64_t value = 0;

	memcpy(&value, at, width_bytes);
	return value;
}

size_t gotable_address_bytes(const struct gotable *table)
{
	return table->magic == GO_MAGIC_1_16 ? GO_POINTER_BYTES : sizeof(uint32_t);
}

/* The word after the magic number, two zeros, the size of an instruction and that of a pointer. */
static uint64_t header_word(const uint8_t *bytes, size_t i)
{
	return gotable_number(bytes + 8 + i * GO_POINTER_BYTES, GO_POINTER_BYTES);
}

static bool is_header(const struct gotable *table)
{
	const uint8_t rest[] = {0, 0, table->instruction_bytes, GO_POINTER_BYTES};
	const uint8_t *bytes = table->bytes;
	uint32_t magic;

	if (table->len_bytes < 8 + 8 * GO_POINTER_BYTES)
		return false;
	magic = gotable_number(bytes, 4);
	return (magic == GO_MAGIC_1_16 || magic == GO_MAGIC_1_18 || magic == GO_MAGIC_1_20) &&
	       !memcmp(bytes + 4, rest, sizeof(rest));
}

/*
 * The words are: functions, files, (from 1.18: start of the code,) then the offsets of function names, compilation
 * units, file names, pc tables, functions.
 */
static bool read_header(struct gotable *table)
{
	size_t skipped;

	if (!is_header(table))
		return false;
	table->magic = gotable_number(table->bytes, 4);
	skipped = table->magic == GO_MAGIC_1_16 ? 0 : 1;
	table->nr = header_word(table->bytes, 0);
	table->text = skipped ? header_word(table->bytes, 2) : 0;
	table->names_off = header_word(table->bytes, 2 + skipped);
	table->units_off = header_word(table->bytes, 3 + skipped);
	table->files_off = header_word(table->bytes, 4 + skipped);
	table->pcs_off = header_word(table->bytes, 5 + skipped);
	table->functions_off = header_word(table->bytes, 6 + skipped);
	return table->nr && table->nr <= GOPCLNTAB_MAX_FUNCTIONS &&
	       table->names_off <= table->units_off && table->units_off <= table->functions_off &&
	       table->functions_off <= table->len_bytes;
}

/* A linker that was given all of Go's read-only data as one section: headers are aligned there. */
static bool search_header(struct gotable *table)
{
	const uint8_t *bytes = table->bytes;
	size_t len_bytes = table->len_bytes;
	uint64_t elf_addr = table->elf_addr;

	for (size_t at = -elf_addr % GO_POINTER_BYTES; at < len_bytes; at += GO_POINTER_BYTES) {
		table->bytes = bytes + at;
		table->len_bytes = len_bytes - at;
		table->elf_addr = elf_addr + at;
		if (read_header(table))
			return true;
	}
	return false;
}

bool gotable_find(const struct elf_file *file, struct gotable *table)
{
	static const char *const names[] = {".gopclntab", ".data.rel.ro.gopclntab", ".data.rel.ro"};
	const struct arch *arch = elf_file_arch(file);
	struct elf_section section;

	for (size_t i = 0; arch && i < sizeof(names) / sizeof(names[0]); i++) {
		if (!elf_file_section_named(file, names[i], &section) ||
		    section.len_bytes > GOPCLNTAB_MAX_BYTES ||
		    !elf_file_section(file, names[i], &section) || !section.bytes)
			continue;
		*table = (struct gotable){.bytes = section.bytes,
					  .len_bytes = section.len_bytes,
					  .elf_addr = section.elf_addr,
					  .instruction_bytes = arch->instruction_bytes};
		if (search_header(table))
			return true;
	}
	return false;
}
