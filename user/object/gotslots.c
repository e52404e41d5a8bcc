// SPDX-License-Identifier: BSD-2-Clause
/*
 * Two kinds of relocations fill such slots (System V ABI, AMD64 supplement, 4.4; the names of arm64 are the same):
 *
 *	IRELATIVE			r_addend is the address of a resolver; what calls within the file uses these
 *	GLOB_DAT, JUMP_SLOT, 64		r_info has a symbol of .dynsym; if that is an IFUNC of this file, its value is the
 *					address of the resolver. Another file's definition may come first; then the
 *					slot's content is no address of this file.
 *
 * In both cases the resolver leads to the names: several IFUNCs may have one.
 *
 * Most files have no IFUNC in .dynsym, and their relocations, of which there may be megabytes, are not read. Those that
 * are read go with a second elf_file.
 */
#include "object/gotslots.h"

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "object/rawsyms.h"

struct reader {
	struct rawsyms
		raw; /* after sort_ifuncs(): IFUNCs alone, by resolver, then from the worst name */
	struct arch_relocs relocs;
	struct gotslots *slots;
};

/* IFUNCs ----------------------------------------------------------------------------------------- */

static int compare_ifuncs(const void *a, const void *b, void *ctx)
{
	const struct rawsym *x = a, *y = b;

	if (x->elf_addr != y->elf_addr)
		return x->elf_addr < y->elf_addr ? -1 : 1;
	return rawsyms_compare(ctx, x, y);
}

/* Leaves the IFUNCs alone. How many there are. */
static size_t sort_ifuncs(struct rawsyms *raw)
{
	size_t nr = 0;

	vec_for_each(&raw->all, symbol)
		if (symbol->is_ifunc && symbol->name_bytes < GOTSLOTS_NAME_BYTES)
			raw->all.at[nr++] = *symbol;
	raw->all.nr = nr;
	if (nr)
		qsort_r(raw->all.at, nr, sizeof(*raw->all.at), compare_ifuncs, raw);
	return nr;
}

/* The position of the best name of the IFUNCs with this resolver; the number of IFUNCs if there is none. */
static size_t find_ifunc(const struct rawsyms *raw, uint64_t resolver)
{
	size_t low = 0, high = raw->all.nr;

	while (low < high) { /* the first behind the resolver */
		size_t middle = low + (high - low) / 2;

		if (raw->all.at[middle].elf_addr <= resolver)
			low = middle + 1;
		else
			high = middle;
	}
	return low && raw->all.at[low - 1].elf_addr == resolver ? low - 1 : raw->all.nr;
}

/* Relocations ------------------------------------------------------------------------------------ */

static bool find_resolver(const struct reader *reader, const Elf64_Rela *entry,
			  const struct elf_section *symbols, uint64_t *resolver)
{
	uint32_t type = ELF64_R_TYPE(entry->r_info);
	uint64_t i = ELF64_R_SYM(entry->r_info);
	Elf64_Sym symbol;

	if (type == reader->relocs.irelative) {
		*resolver = (uint64_t)entry->r_addend;
		return true;
	}
	if ((type != reader->relocs.glob_dat && type != reader->relocs.jump_slot &&
	     !(type == reader->relocs.absolute && !entry->r_addend)) ||
	    !symbols->bytes || symbols->type != SHT_DYNSYM ||
	    i >= symbols->len_bytes / sizeof(symbol))
		return false;
	memcpy(&symbol, (const char *)symbols->bytes + i * sizeof(symbol), sizeof(symbol));
	*resolver = symbol.st_value;
	return ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC && symbol.st_shndx != SHN_UNDEF;
}

static void read_relocations(struct reader *reader, const struct elf_section *rela,
			     const struct elf_section *symbols)
{
	struct gotslots *slots = reader->slots;

	for (size_t at = 0;
	     rela->len_bytes - at >= sizeof(Elf64_Rela) && slots->all.nr < GOTSLOTS_MAX;
	     at += sizeof(Elf64_Rela)) {
		Elf64_Rela entry;
		struct gotslot slot;
		uint64_t resolver;

		memcpy(&entry, (const char *)rela->bytes + at, sizeof(entry));
		if (!find_resolver(reader, &entry, symbols, &resolver))
			continue;
		slot = (struct gotslot){.elf_addr = entry.r_offset,
					.ifunc = find_ifunc(&reader->raw, resolver)};
		if (slot.ifunc < reader->raw.all.nr &&
		    elf_file_read(reader->raw.own, slot.elf_addr, &slot.initial,
				  sizeof(slot.initial)))
			vec_push(&slots->all, slot);
	}
}

static void read_all_relocations(struct reader *reader)
{
	const struct elf_file *file = reader->raw.own;
	size_t nr = elf_file_nr_sections(file);

	for (size_t i = 0; i < nr; i++) {
		struct elf_section rela, symbols = {0};

		if (!elf_file_section_header(file, i, &rela) || rela.type != SHT_RELA ||
		    !(rela.flags & SHF_ALLOC) || rela.entry_bytes != sizeof(Elf64_Rela) ||
		    !elf_file_section_at(file, i, &rela) || !rela.bytes)
			continue;
		elf_file_section_at(file, rela.link, &symbols);
		read_relocations(reader, &rela, &symbols);
	}
}

/* Names ------------------------------------------------------------------------------------------ */

static int compare_slots(const void *a, const void *b, void *ctx)
{
	const struct gotslot *x = a, *y = b;
	const struct rawsyms *raw = ctx;
	int order = rawsyms_compare(raw, &raw->all.at[x->ifunc], &raw->all.at[y->ifunc]);

	return order ? order : (x->elf_addr > y->elf_addr) - (x->elf_addr < y->elf_addr);
}

static void name_slots(struct reader *reader)
{
	struct gotslots *slots = reader->slots;
	size_t bytes = 0;
	char *to;

	if (!slots->all.nr)
		return;
	qsort_r(slots->all.at, slots->all.nr, sizeof(*slots->all.at), compare_slots, &reader->raw);
	vec_for_each(&slots->all, slot)
		bytes += reader->raw.all.at[slot->ifunc].name_bytes + 1;
	slots->names = to = xmalloc(bytes);
	vec_for_each(&slots->all, slot) {
		const struct rawsym *symbol = &reader->raw.all.at[slot->ifunc];

		memcpy(to, rawsyms_name(&reader->raw, symbol), symbol->name_bytes);
		to[symbol->name_bytes] = '\0';
		slot->name = to;
		slot->name_bytes = symbol->name_bytes;
		to += symbol->name_bytes + 1;
	}
}

void gotslots_read(struct gotslots *slots, const struct elf_file *file)
{
	struct reader reader = {.slots = slots};
	const struct arch *arch = file ? elf_file_arch(file) : NULL;

	if (!arch || !elf_file_is_linked(file) || rawsyms_read_dynsym(&reader.raw, file))
		return;
	reader.relocs = arch->relocs;
	if (sort_ifuncs(&reader.raw)) {
		read_all_relocations(&reader);
		name_slots(&reader);
	}
	rawsyms_release(&reader.raw);
}

void gotslots_release(struct gotslots *slots)
{
	vec_release(&slots->all);
	free(slots->names);
}
