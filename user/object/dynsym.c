// SPDX-License-Identifier: BSD-2-Clause
/*
 * Scans .dynsym from its start. Its hash tables (.gnu.hash) would be faster, but they are optional, and
 * hostile ones need more checks than a scan.
 */
#include "object/dynsym.h"

#include <elf.h>
#include <string.h>

static bool has_name(const struct elf_section *strings, uint64_t at, const char *name)
{
	size_t len = strlen(name) + 1;

	return at < strings->len_bytes && len <= strings->len_bytes - at &&
	       !memcmp((const char *)strings->bytes + at, name, len);
}

/* What a symbol is to be. */
enum wanted {
	WANTED_VARIABLE = STT_OBJECT,
	WANTED_FUNCTION = STT_FUNC,
	WANTED_ANY = -1,
};

static bool is_wanted(const Elf64_Sym *symbol, enum wanted wanted)
{
	return wanted == WANTED_ANY ||
	       (ELF64_ST_TYPE(symbol->st_info) == (int)wanted && symbol->st_shndx != SHN_UNDEF);
}

static bool find(const struct elf_file *file, const char *name, enum wanted wanted,
		 uint64_t *elf_addr)
{
	struct elf_section symbols, strings;
	Elf64_Sym symbol;

	if (!elf_file_section(file, ".dynsym", &symbols) || !symbols.bytes ||
	    symbols.type != SHT_DYNSYM || !elf_file_section_at(file, symbols.link, &strings) ||
	    !strings.bytes)
		return false;
	for (size_t at = 0; symbols.len_bytes - at >= sizeof(symbol); at += sizeof(symbol)) {
		memcpy(&symbol, (const char *)symbols.bytes + at, sizeof(symbol));
		if (!is_wanted(&symbol, wanted) || !has_name(&strings, symbol.st_name, name))
			continue;
		*elf_addr = symbol.st_value;
		return true;
	}
	return false;
}

bool dynsym_variable(const struct elf_file *file, const char *name, uint64_t *elf_addr)
{
	return find(file, name, WANTED_VARIABLE, elf_addr);
}

bool dynsym_function(const struct elf_file *file, const char *name, uint64_t *elf_addr)
{
	return find(file, name, WANTED_FUNCTION, elf_addr);
}

bool dynsym_names(const struct elf_file *file, const char *name)
{
	uint64_t elf_addr;

	return find(file, name, WANTED_ANY, &elf_addr);
}
