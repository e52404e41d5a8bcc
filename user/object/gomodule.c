// SPDX-License-Identifier: BSD-2-Clause
/*
 * moduledata (runtime/symtab.go) has no name in a stripped file, and no section of its own before Go 1.26. It begins with
 * pointers into .gopclntab, in the same order since Go 1.16:
 *
 *	 0 pcHeader	 1 funcnametab	 4 cutab	 7 filetab	10 pctab	13 pclntable	16 ftab
 *	19 findfunctab	20 minpc	21 maxpc	22 text		23 etext
 *	38 gofunc (40 from Go 1.20 on, there is none before 1.18)
 *
 * (slices take three words). In a program that runs at any address they are relocations; Go's linker writes the
 * values into the file, too, others do not.
 */
#include "object/gomodule.h"

#include <elf.h>
#include <string.h>

enum word {
	WORD_NAMES = 1,
	WORD_FUNCTIONS = 16,
	WORD_MINPC = 20,
	WORD_MAXPC,
	WORD_TEXT,
	WORD_ETEXT,
	NR_WORDS,
	WORD_GOFUNC_1_18 = 38,
	WORD_GOFUNC_1_20 = 40,
};

struct words {
	uint64_t at[NR_WORDS];
};

static size_t data_off(const struct gomodule *module)
{
	return (module->has_coverage ? WORD_GOFUNC_1_20 : WORD_GOFUNC_1_18) * sizeof(uint64_t);
}

/* The table's pointer is the first word: the others must agree. */
static bool is_module(struct gomodule *module, const struct words *words)
{
	if (words->at[WORD_NAMES] != module->names ||
	    words->at[WORD_FUNCTIONS] != module->functions || !words->at[WORD_TEXT] ||
	    words->at[WORD_MINPC] < words->at[WORD_TEXT] ||
	    words->at[WORD_MAXPC] > words->at[WORD_ETEXT] ||
	    words->at[WORD_MINPC] >= words->at[WORD_MAXPC])
		return false;
	module->text = words->at[WORD_TEXT];
	return true;
}

static bool search_values(struct gomodule *module, const struct elf_section *data)
{
	struct words words;

	if (data->len_bytes < sizeof(words))
		return false;
	for (size_t at = 0; at <= data->len_bytes - sizeof(words); at += sizeof(uint64_t)) {
		memcpy(&words, (const char *)data->bytes + at, sizeof(words));
		if (words.at[0] != module->table || !is_module(module, &words))
			continue;
		at += data_off(module);
		module->data = 0;
		if (at <= data->len_bytes - sizeof(module->data))
			memcpy(&module->data, (const char *)data->bytes + at, sizeof(module->data));
		return true;
	}
	return false;
}

static bool relocation(const struct elf_section *section, size_t i, Elf64_Rela *rela)
{
	if (i >= section->len_bytes / sizeof(*rela))
		return false;
	memcpy(rela, (const char *)section->bytes + i * sizeof(*rela), sizeof(*rela));
	return true;
}

/* The words from elf_addr on that are relocated to an address of the program itself, and the one that the data are at. */
static void read_relocated(const struct elf_section *section, uint32_t relative, uint64_t elf_addr,
			   struct gomodule *module, struct words *words)
{
	Elf64_Rela rela;

	*words = (struct words){0};
	module->data = 0;
	for (size_t i = 0; relocation(section, i, &rela); i++) {
		uint64_t off = rela.r_offset - elf_addr;

		if (ELF64_R_TYPE(rela.r_info) != relative)
			continue;
		if (off == data_off(module))
			module->data = rela.r_addend;
		if (off < sizeof(*words) && !(off % sizeof(words->at[0])))
			words->at[off / sizeof(words->at[0])] = rela.r_addend;
	}
}

/* A file may name the table in each of its relocations: the first few are tried. */
#define MAX_TRIES 16

static bool search_relocations(struct gomodule *module, const struct elf_section *section,
			       uint32_t relative)
{
	struct words words;
	Elf64_Rela rela;
	int nr_tries = 0;

	for (size_t i = 0; nr_tries < MAX_TRIES && relocation(section, i, &rela); i++) {
		if (ELF64_R_TYPE(rela.r_info) != relative ||
		    (uint64_t)rela.r_addend != module->table)
			continue;
		nr_tries++;
		read_relocated(section, relative, rela.r_offset, module, &words);
		if (is_module(module, &words))
			return true;
	}
	return false;
}

bool gomodule_find(const struct elf_file *file, struct gomodule *module)
{
	static const char *const data[] = {".go.module", ".noptrdata", ".data", ".data.rel.ro"};
	static const char *const relocations[] = {".rela.dyn", ".rela"};
	const struct arch *arch = elf_file_arch(file);
	struct elf_section section;

	for (size_t i = 0; i < sizeof(data) / sizeof(data[0]); i++)
		if (elf_file_section(file, data[i], &section) && section.bytes &&
		    search_values(module, &section))
			return true;
	for (size_t i = 0; arch && i < sizeof(relocations) / sizeof(relocations[0]); i++)
		if (elf_file_section(file, relocations[i], &section) && section.bytes &&
		    section.type == SHT_RELA &&
		    search_relocations(module, &section, arch->relocs.relative))
			return true;
	return false;
}
