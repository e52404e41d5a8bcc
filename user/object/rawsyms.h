/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The function symbols of one ELF file as its tables have them: unsorted, with doubles.
 *
 * They come from .symtab, .dynsym, the .symtab inside .gnu_debugdata, and the PLT's stubs. Labels (".L5", "$x"), names
 * without code and symbols without a type and size are left out.
 *
 * The tables are given up at RAWSYMS_MAX symbols or RAWSYMS_MAX_BYTES of names: many symbols may share one long name in
 * a hostile file, and names are both copied and compared.
 */
#ifndef CPROF_OBJECT_RAWSYMS_H
#define CPROF_OBJECT_RAWSYMS_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "object/coderegions.h"
#include "object/elf.h"

#define RAWSYMS_MAX	  (4u << 20)
#define RAWSYMS_MAX_BYTES (256u << 20)
#define RAWSYM_NAME_BYTES (64u << 10) /* longer names are cut */

enum rawsym_table {
	RAWSYMS_SYMTAB,
	RAWSYMS_DYNSYM,
	RAWSYMS_MINIDEBUG,
	NR_RAWSYM_TABLES
};

enum rawsym_binding { /* from the worst to the best */
	RAWSYM_WEAK,
	RAWSYM_LOCAL,
	RAWSYM_GLOBAL,
};

struct rawsym {
	uint64_t elf_addr, len_bytes; /* 0: unknown */
	uint32_t name;		      /* offset in the table's strings */
	uint32_t name_bytes : 20;
	uint32_t table : 2;   /* enum rawsym_table */
	uint32_t binding : 2; /* enum rawsym_binding */
	uint32_t is_ifunc : 1;
	uint32_t is_notype : 1;
	uint32_t
		is_old : 1; /* of a version that nothing is linked to any more: cfree@GLIBC_2.2.5 */
	uint32_t is_plt : 1;	 /* the stub for what has this name */
	uint32_t is_guessed : 1; /* len_bytes is a guess (symtab.c) */
};

_Static_assert(sizeof(struct rawsym) == 24, "one per symbol");
_Static_assert(RAWSYM_NAME_BYTES < 1 << 20, "name_bytes");

/* Zeroed: empty. */
struct rawsyms {
	vec_of(struct rawsym) all;
	struct coderegions regions;
	/* Private: what the names are borrowed from. */
	struct elf_section strings[NR_RAWSYM_TABLES];
	struct elf_file *own, *inner;
	void *image; /* of inner */
	size_t names_bytes;
};

/* Reads them all; a damaged table gives those that could be read. -errno of elf_file_reopen(). */
int rawsyms_read(struct rawsyms *raw, const struct elf_file *file);
/* The same of .dynsym alone. */
int rawsyms_read_dynsym(struct rawsyms *raw, const struct elf_file *file);
/* name_bytes bytes without a NUL; borrowed until rawsyms_release(). */
const char *rawsyms_name(const struct rawsyms *raw, const struct rawsym *symbol);
/* Compares two names of one address by the rule of object/symtab.h: greater than 0 if x is better; 0: they are equal. */
int rawsyms_compare(const struct rawsyms *raw, const struct rawsym *x, const struct rawsym *y);
void rawsyms_release(struct rawsyms *raw);

#endif
