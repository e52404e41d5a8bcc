// SPDX-License-Identifier: BSD-2-Clause
/*
 * The sections are read through an elf_file of the rawsyms' own, so that what they took is given back. Addresses in the
 * file inside .gnu_debugdata are the same as outside.
 */
#include "object/rawsyms.h"

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "object/minidebug.h"
#include "object/plt.h"

/* The name at name_off, up to its NUL, the "@VERSION" that ld writes into .symtab, or the limit. */
static size_t name_len(const struct elf_section *strings, uint32_t name_off)
{
	const char *name, *at;
	size_t len, max;

	if (!strings->bytes || name_off >= strings->len_bytes)
		return 0;
	name = (const char *)strings->bytes + name_off;
	max = strings->len_bytes - name_off;
	len = strnlen(name, max < RAWSYM_NAME_BYTES ? max : RAWSYM_NAME_BYTES);
	at = len ? memchr(name + 1, '@', len - 1) : NULL;
	return at ? (size_t)(at - name) : len;
}

/* Labels that assemblers and ARM's mapping symbols leave behind. ("$s..." is Swift.) */
static bool is_label(const char *name, size_t len)
{
	if (len >= 2 && name[0] == '.' && name[1] == 'L')
		return true;
	return len >= 2 && name[0] == '$' && strchr("xdat", name[1]) &&
	       (len == 2 || name[2] == '.');
}

/* What linkers say of sections: the name of no function. */
static bool is_boundary(const char *name, size_t len)
{
	static const char *const edges[] = {"end",	  "_end",	 "edata",
					    "_edata",	  "etext",	 "_etext",
					    "__etext",	  "__bss_start", "__executable_start",
					    "data_start", "__data_start"};

	if ((len > 8 && !memcmp(name, "__start_", 8)) || (len > 7 && !memcmp(name, "__stop_", 7)))
		return true;
	for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++)
		if (strlen(edges[i]) == len && !memcmp(edges[i], name, len))
			return true;
	return false;
}

/* Names count even where they are not taken: looking for their end is work as well. */
static bool is_full(const struct rawsyms *raw)
{
	return raw->all.nr >= RAWSYMS_MAX || raw->names_bytes >= RAWSYMS_MAX_BYTES;
}

static void add(struct rawsyms *raw, struct rawsym symbol)
{
	const struct elf_section *strings = &raw->strings[symbol.table];
	uint64_t limit = coderegions_limit(&raw->regions, symbol.elf_addr);
	const char *name;
	size_t len;

	if (!limit || is_full(raw))
		return;
	len = name_len(strings, symbol.name);
	raw->names_bytes += len;
	if (!len)
		return;
	name = (const char *)strings->bytes + symbol.name;
	if (is_label(name, len) ||
	    (symbol.is_notype && !symbol.len_bytes && is_boundary(name, len)))
		return;
	if (symbol.len_bytes > limit - symbol.elf_addr)
		symbol.len_bytes = limit - symbol.elf_addr;
	symbol.name_bytes = len;
	vec_push(&raw->all, symbol);
}

/* .gnu.version has a number for each symbol of .dynsym; its highest bit: it is not the version by default. */
static bool is_old_version(const struct elf_section *versions, size_t i)
{
	uint16_t version;

	if (!versions->bytes || (i + 1) * sizeof(version) > versions->len_bytes)
		return false;
	memcpy(&version, (const char *)versions->bytes + i * sizeof(version), sizeof(version));
	return version & 0x8000;
}

/* ld writes it into the names of .symtab: "@VERSION"; "@@VERSION" is the default. */
static bool is_old_in_name(const struct elf_section *strings, uint32_t name_off)
{
	size_t len = name_len(strings, name_off);
	const char *end = len ? (const char *)strings->bytes + name_off + len : NULL;

	return end && name_off + len + 1 < strings->len_bytes && end[0] == '@' && end[1] != '@';
}

static enum rawsym_binding binding_of(const Elf64_Sym *symbol)
{
	switch (ELF64_ST_BIND(symbol->st_info)) {
	case STB_LOCAL:
		return RAWSYM_LOCAL;
	case STB_WEAK:
		return RAWSYM_WEAK;
	default:
		return RAWSYM_GLOBAL;
	}
}

/*
 * What NASM calls global has neither a type nor a size: if it is in code, it is a function. A local symbol like that may be
 * anything: ld -r, for one, leaves those of LTO's objects behind.
 */
static bool is_function(const Elf64_Sym *symbol)
{
	switch (ELF64_ST_TYPE(symbol->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		return true;
	case STT_NOTYPE:
		return symbol->st_size || binding_of(symbol) != RAWSYM_LOCAL;
	default:
		return false;
	}
}

static void collect_symbol(struct rawsyms *raw, const Elf64_Sym *symbol, enum rawsym_table table,
			   bool is_old)
{
	unsigned int type = ELF64_ST_TYPE(symbol->st_info);

	if (symbol->st_shndx == SHN_UNDEF || !is_function(symbol))
		return;
	add(raw, (struct rawsym){.elf_addr = symbol->st_value,
				 .len_bytes = symbol->st_size,
				 .name = symbol->st_name,
				 .table = table,
				 .binding = binding_of(symbol),
				 .is_ifunc = type == STT_GNU_IFUNC,
				 .is_notype = type == STT_NOTYPE,
				 .is_old = is_old ||
					   is_old_in_name(&raw->strings[table], symbol->st_name)});
}

/* The first section of this type; its string table stays in raw->strings[table]. */
static void collect_table(struct rawsyms *raw, const struct elf_file *file, uint32_t type,
			  enum rawsym_table table)
{
	struct elf_section section = {0}, versions = {0};
	size_t i = 0, nr = elf_file_nr_sections(file);

	while (i < nr && (!elf_file_section_header(file, i, &section) || section.type != type))
		i++;
	if (i == nr || section.entry_bytes != sizeof(Elf64_Sym) ||
	    !elf_file_section_at(file, i, &section) || !section.bytes ||
	    !elf_file_section_at(file, section.link, &raw->strings[table]))
		return;
	elf_file_section(file, ".gnu.version", &versions);
	for (i = 0; (i + 1) * sizeof(Elf64_Sym) <= section.len_bytes; i++) {
		Elf64_Sym symbol;

		memcpy(&symbol, (const char *)section.bytes + i * sizeof(symbol), sizeof(symbol));
		collect_symbol(raw, &symbol, table,
			       table == RAWSYMS_DYNSYM && is_old_version(&versions, i));
	}
}

static void collect_minidebug(struct rawsyms *raw)
{
	size_t len_bytes;

	if (minidebug_read(raw->own, &raw->image, &len_bytes))
		return;
	if (!elf_file_open_memory(raw->image, len_bytes, &raw->inner))
		collect_table(raw, raw->inner, SHT_SYMTAB, RAWSYMS_MINIDEBUG);
}

static void collect_plt(struct rawsyms *raw)
{
	struct plt plt = {0};

	plt_read(&plt, raw->own);
	vec_for_each(&plt.slots, slot)
		add(raw, (struct rawsym){.elf_addr = slot->elf_addr,
					 .len_bytes = slot->len_bytes,
					 .name = slot->name,
					 .table = RAWSYMS_DYNSYM,
					 .binding = RAWSYM_LOCAL,
					 .is_plt = true});
	plt_release(&plt);
}

int rawsyms_read(struct rawsyms *raw, const struct elf_file *file)
{
	int err = elf_file_reopen(file, &raw->own);

	if (err)
		return err;
	coderegions_read(&raw->regions, raw->own);
	collect_table(raw, raw->own, SHT_SYMTAB, RAWSYMS_SYMTAB);
	collect_table(raw, raw->own, SHT_DYNSYM, RAWSYMS_DYNSYM);
	collect_minidebug(raw);
	collect_plt(raw);
	return 0;
}

int rawsyms_read_dynsym(struct rawsyms *raw, const struct elf_file *file)
{
	int err = elf_file_reopen(file, &raw->own);

	if (err)
		return err;
	coderegions_read(&raw->regions, raw->own);
	collect_table(raw, raw->own, SHT_DYNSYM, RAWSYMS_DYNSYM);
	return 0;
}

const char *rawsyms_name(const struct rawsyms *raw, const struct rawsym *symbol)
{
	return (const char *)raw->strings[symbol->table].bytes + symbol->name;
}

static size_t leading_underscores(const char *name, size_t len)
{
	size_t i = 0;

	while (i < len && name[i] == '_')
		i++;
	return i;
}

int rawsyms_compare(const struct rawsyms *raw, const struct rawsym *x, const struct rawsym *y)
{
	const char *x_name = rawsyms_name(raw, x), *y_name = rawsyms_name(raw, y);
	size_t x_under, y_under;

	if (!x->len_bytes != !y->len_bytes)
		return x->len_bytes ? 1 : -1;
	if (x->is_notype != y->is_notype)
		return x->is_notype ? -1 : 1;
	if (x->is_old != y->is_old)
		return x->is_old ? -1 : 1;
	if (x->binding != y->binding)
		return x->binding > y->binding ? 1 : -1;
	x_under = leading_underscores(x_name, x->name_bytes);
	y_under = leading_underscores(y_name, y->name_bytes);
	if (x_under != y_under)
		return x_under < y_under ? 1 : -1;
	if (x->name_bytes != y->name_bytes)
		return x->name_bytes > y->name_bytes ? 1 : -1;
	return memcmp(y_name, x_name, x->name_bytes);
}

void rawsyms_release(struct rawsyms *raw)
{
	vec_release(&raw->all);
	coderegions_release(&raw->regions);
	elf_file_close(raw->inner);
	elf_file_close(raw->own);
	free(raw->image);
}
