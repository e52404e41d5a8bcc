// SPDX-License-Identifier: BSD-2-Clause
/*
 * A file's relocations (JUMP_SLOT, GLOB_DAT) say where its slots are, and for which names. Other threads
 * may call through a slot at any time: it is written by a single store, and either value is right.
 *
 * Another thread may be relocating a file that dl_iterate_phdr() shows already. It would fault on a page that is made
 * read-only under it, so whether pages can be written is asked first: by an operation of futex() that changes nothing and
 * fails with EFAULT where it may not write. Rejected: reading /proc/self/maps, which a confined process may not open.
 */
#include "inside/slots.h"

#include <linux/futex.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inside/arch/machine.h"

/* The kernel's. */
static uintptr_t page_bytes(void)
{
	return getauxval(AT_PAGESZ);
}

/* glibc has made an address of it, musl has not. */
static uintptr_t address_of(const struct mapped_file *file, uintptr_t value)
{
	return value < file->base ? file->base + value : value;
}

static void read_dynamic(struct mapped_file *file, const ElfW(Dyn) * entry)
{
	for (; entry->d_tag != DT_NULL; entry++)
		switch (entry->d_tag) {
		case DT_JMPREL:
			file->tables[0] = (const void *)address_of(file, entry->d_un.d_ptr);
			break;
		case DT_PLTRELSZ:
			file->nr[0] = entry->d_un.d_val / sizeof(ElfW(Rela));
			break;
		case DT_RELA:
			file->tables[1] = (const void *)address_of(file, entry->d_un.d_ptr);
			break;
		case DT_RELASZ:
			file->nr[1] = entry->d_un.d_val / sizeof(ElfW(Rela));
			break;
		case DT_SYMTAB:
			file->symbols = (const void *)address_of(file, entry->d_un.d_ptr);
			break;
		case DT_STRTAB:
			file->names = (const void *)address_of(file, entry->d_un.d_ptr);
			break;
		case DT_GNU_HASH:
			file->gnu_hash = (const void *)address_of(file, entry->d_un.d_ptr);
			break;
		case DT_HASH:
			file->hash = (const void *)address_of(file, entry->d_un.d_ptr);
			break;
		}
}

bool mapped_file_has(const struct mapped_file *file, const void *address)
{
	return (uintptr_t)address >= file->begin && (uintptr_t)address < file->end;
}

static bool read_any(const struct dl_phdr_info *info, struct mapped_file *file)
{
	*file = (struct mapped_file){
		.path = info->dlpi_name, .base = info->dlpi_addr, .begin = UINTPTR_MAX};
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type == PT_DYNAMIC)
			file->dynamic = (const void *)at;
		if (segment->p_type == PT_GNU_RELRO) {
			file->relro = at & -page_bytes();
			file->relro_end = (at + segment->p_memsz) & -page_bytes();
		}
		if (segment->p_type != PT_LOAD)
			continue;
		file->begin = at < file->begin ? at : file->begin;
		file->end = at + segment->p_memsz > file->end ? at + segment->p_memsz : file->end;
	}
	if (!file->dynamic || info->dlpi_addr == getauxval(AT_BASE))
		return false;
	read_dynamic(file, file->dynamic);
	return file->symbols && file->names;
}

static bool is_own(const struct mapped_file *file)
{
	return mapped_file_has(file, (const void *)mapped_file_read);
}

bool mapped_file_read(const struct dl_phdr_info *info, struct mapped_file *file)
{
	return read_any(info, file) && !is_own(file);
}

static int read_if_own(struct dl_phdr_info *info, size_t bytes, void *file)
{
	(void)bytes;
	return read_any(info, file) && is_own(file);
}

bool mapped_file_read_own(struct mapped_file *file)
{
	return dl_iterate_phdr(read_if_own, file);
}

const char *mapped_file_name(const struct mapped_file *file)
{
	const char *slash = strrchr(file->path, '/');

	for (const ElfW(Dyn) *entry = file->dynamic; entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag == DT_SONAME)
			return file->names + entry->d_un.d_val;
	return slash ? slash + 1 : file->path;
}

bool mapped_file_each_needed(const struct mapped_file *file, needed_fn *fn)
{
	for (const ElfW(Dyn) *entry = file->dynamic; entry->d_tag != DT_NULL; entry++) {
		const char *name = file->names + entry->d_un.d_val, *slash;

		if (entry->d_tag != DT_NEEDED)
			continue;
		slash = strrchr(name, '/');
		if (!fn(slash ? slash + 1 : name))
			return false;
	}
	return true;
}

static bool exports(const struct mapped_file *file, uint32_t i, const char *name)
{
	const ElfW(Sym) *symbol = &file->symbols[i];

	return symbol->st_shndx != SHN_UNDEF && ELF64_ST_BIND(symbol->st_info) != STB_LOCAL &&
	       !strcmp(file->names + symbol->st_name, name);
}

/* The number of a symbol; 0: it is not there. The table: four numbers, a filter of words, buckets, chains. */
static uint32_t find_by_gnu_hash(const struct mapped_file *file, const char *name)
{
	const uint32_t *table = file->gnu_hash;
	uint32_t nr_buckets = table[0], first = table[1], hash = 5381, i;
	const uint32_t *buckets = table + 4 + 2 * table[2];
	const uint32_t *chains = buckets + nr_buckets;

	for (const unsigned char *c = (const unsigned char *)name; *c; c++)
		hash = hash * 33 + *c;
	i = nr_buckets ? buckets[hash % nr_buckets] : 0;
	for (; i >= first && i; i++) {
		if ((chains[i - first] | 1) == (hash | 1) && exports(file, i, name))
			return i;
		if (chains[i - first] & 1)
			break;
	}
	return 0;
}

static uint32_t find_among_all(const struct mapped_file *file, const char *name)
{
	uint32_t nr = file->hash ? file->hash[1] : 0;

	for (uint32_t i = 1; i < nr; i++)
		if (exports(file, i, name))
			return i;
	return 0;
}

const void *mapped_file_defines(const struct mapped_file *file, const char *name)
{
	uint32_t i = file->gnu_hash ? find_by_gnu_hash(file, name) : find_among_all(file, name);

	return i ? (const void *)(file->base + file->symbols[i].st_value) : NULL;
}

/* Of a symbol's pages. */
static bool protect(const ElfW(Sym) * symbol, int access)
{
	uintptr_t begin = (uintptr_t)symbol & -page_bytes();
	uintptr_t end = ((uintptr_t)(symbol + 1) + page_bytes() - 1) & -page_bytes();

	return !mprotect((void *)begin, end - begin, access);
}

void mapped_file_withdraw(const struct mapped_file *file, const char *name)
{
	uint32_t i = file->gnu_hash ? find_by_gnu_hash(file, name) : 0;
	ElfW(Sym) *symbol = (ElfW(Sym) *)&file->symbols[i];

	if (!i || !protect(symbol, PROT_READ | PROT_WRITE))
		return;
	__atomic_store_n(&symbol->st_value, 0, __ATOMIC_RELEASE);
	protect(symbol, PROT_READ);
}

/* Ors nothing into the word, and wakes nobody. */
static bool is_writable(uintptr_t address)
{
	uint32_t nobody = 0;

	return syscall(SYS_futex, &nobody, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, 0, address,
		       FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_EQ, 0)) >= 0;
}

bool mapped_file_is_relocated(const struct mapped_file *file)
{
	return file->relro >= file->relro_end || !is_writable(file->relro);
}

bool mapped_file_each_slot(const struct mapped_file *file, slot_fn *fn)
{
	for (int i = 0; i < 2; i++)
		for (size_t j = 0; j < file->nr[i]; j++) {
			const ElfW(Rela) *rela = &file->tables[i][j];
			uint32_t type = ELF64_R_TYPE(rela->r_info);
			const ElfW(Sym) *symbol = &file->symbols[ELF64_R_SYM(rela->r_info)];

			if ((type == MACHINE_JUMP_SLOT || type == MACHINE_GLOB_DAT) &&
			    !fn(file, file->names + symbol->st_name,
				(void **)(file->base + rela->r_offset)))
				return false;
		}
	return true;
}

void mapped_file_write(const struct mapped_file *file, void **slot, void *value)
{
	uintptr_t page = (uintptr_t)slot & -page_bytes();
	bool is_relro = page >= file->relro && page < file->relro_end && !is_writable(page);

	if (is_relro && mprotect((void *)page, page_bytes(), PROT_READ | PROT_WRITE))
		return;
	__atomic_store_n(slot, value, __ATOMIC_RELEASE);
	if (is_relro)
		mprotect((void *)page, page_bytes(), PROT_READ);
}
