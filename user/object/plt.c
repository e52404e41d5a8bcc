// SPDX-License-Identifier: BSD-2-Clause
/*
 * A stub jumps through a slot of the GOT (object/arch.c has the shapes):
 *
 *	.plt or .plt.sec			.got.plt	.rela.plt
 *	ff 25 disp32   jmp *disp(%rip)  ----->	[ slot ] <----- r_offset, r_info: .dynsym index
 *
 * A function whose address an x86-64 file also takes has its slot in .got, and its stub in .plt.got; the relocation is a
 * GLOB_DAT of .rela.dyn then.
 *
 * The usual shortcut is that the n-th relocation belongs to the n-th slot. It is wrong as soon as
 * there are IRELATIVE slots (libc.so.6: they come first in .plt and last in .rela.plt), under lld,
 * and with .plt.sec. So the jump is decoded and its GOT slot looked up: then a name is right, or
 * there is none. (System V ABI, AMD64 supplement, 5.2.)
 */
#include "object/plt.h"

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SLOTS	   (1u << 20)
#define PLT_GOT_SLOT_BYTES 8 /* of .plt.got, without endbr64 */

struct got_slot {
	uint64_t elf_addr;
	uint32_t name;
};

struct got {
	vec_of(struct got_slot) slots; /* sorted by elf_addr */
};

static int by_addr(const void *a, const void *b)
{
	const struct got_slot *x = a, *y = b;

	return (x->elf_addr > y->elf_addr) - (x->elf_addr < y->elf_addr);
}

/* What the dynamic linker will put into the slots of the GOT that these relocations, of this type, fill. */
static void read_relocations(struct got *got, const struct elf_file *file, const char *section_name,
			     uint32_t type)
{
	struct elf_section rela, dynsym;
	size_t nr, nr_symbols;

	if (!elf_file_section(file, section_name, &rela) || !rela.bytes ||
	    rela.entry_bytes != sizeof(Elf64_Rela) ||
	    !elf_file_section_at(file, rela.link, &dynsym) || !dynsym.bytes ||
	    dynsym.type != SHT_DYNSYM)
		return;
	nr = rela.len_bytes / sizeof(Elf64_Rela);
	nr_symbols = dynsym.len_bytes / sizeof(Elf64_Sym);
	for (size_t i = 0; i < nr && got->slots.nr < MAX_SLOTS; i++) {
		Elf64_Rela entry;
		Elf64_Sym symbol;

		memcpy(&entry, (const char *)rela.bytes + i * sizeof(entry), sizeof(entry));
		if (ELF64_R_TYPE(entry.r_info) != type || ELF64_R_SYM(entry.r_info) >= nr_symbols)
			continue;
		memcpy(&symbol,
		       (const char *)dynsym.bytes + ELF64_R_SYM(entry.r_info) * sizeof(symbol),
		       sizeof(symbol));
		vec_push(&got->slots, (struct got_slot){entry.r_offset, symbol.st_name});
	}
}

/* In slots of this size; within the section, a stub ends in it. */
static void read_stubs(struct plt *plt, const struct arch *arch, const struct elf_section *section,
		       size_t slot_bytes, const struct got *got)
{
	size_t stub_bytes;

	if (!got->slots.nr)
		return;
	for (size_t off = 0; off + slot_bytes <= section->len_bytes;
	     off += stub_bytes ? stub_bytes : slot_bytes) {
		struct got_slot key = {0};
		const struct got_slot *slot;

		if (plt->slots.nr >= MAX_SLOTS)
			return;
		stub_bytes = arch->plt_stub((const unsigned char *)section->bytes + off,
					    section->len_bytes - off, slot_bytes,
					    section->elf_addr + off, &key.elf_addr);
		if (!stub_bytes)
			continue;
		slot = bsearch(&key, got->slots.at, got->slots.nr, sizeof(key), by_addr);
		if (slot)
			vec_push(&plt->slots, (struct plt_slot){section->elf_addr + off, slot->name,
								stub_bytes});
	}
}

static bool find_stubs(const struct elf_file *file, const char *name, struct elf_section *section)
{
	return elf_file_section(file, name, section) && section->bytes;
}

static void sort(struct got *got)
{
	if (got->slots.nr)
		qsort(got->slots.at, got->slots.nr, sizeof(*got->slots.at), by_addr);
}

void plt_read(struct plt *plt, const struct elf_file *file)
{
	const struct arch *arch = elf_file_arch(file);
	struct got got = {0};
	struct elf_section section;

	if (!arch)
		return;
	read_relocations(&got, file, ".rela.plt", arch->relocs.jump_slot);
	/* Relocations of .rela.dyn can be megabytes: they are read only for stubs that need them. */
	if (find_stubs(file, ".plt.got", &section)) {
		read_relocations(&got, file, ".rela.dyn", arch->relocs.glob_dat);
		sort(&got);
		read_stubs(plt, arch, &section,
			   section.entry_bytes == PLT_GOT_SLOT_BYTES ? PLT_GOT_SLOT_BYTES
								     : arch->plt_slot_bytes,
			   &got);
	}
	sort(&got);
	if (find_stubs(file, ".plt", &section))
		read_stubs(plt, arch, &section, arch->plt_slot_bytes, &got);
	if (find_stubs(file, ".plt.sec", &section))
		read_stubs(plt, arch, &section, arch->plt_slot_bytes, &got);
	vec_release(&got.slots);
}

void plt_release(struct plt *plt)
{
	vec_release(&plt->slots);
}
