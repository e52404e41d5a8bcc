/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The function symbols of one ELF file, sorted for binary search by address.
 *
 * They come from .symtab, .dynsym and .gnu_debugdata (object/minidebug.h) together. libdw's own look-up scans the
 * whole table each time. The stubs of .plt, .plt.sec and .plt.got are there too, as "malloc@plt" (object/plt.h).
 *
 * An address belongs to a symbol only if it lies inside it: a name for a gap would be a wrong name. Of
 * symbols that nest, the one with the greatest start wins where it lies, and the outer one continues after
 * it. A symbol of size 0 extends to the end of its function by call frame information, else to the next symbol or
 * function; never past its section or the symbol it lies in. One without size and type is taken only if it is not local
 * and lies in no function. Of several names for one address the best is kept, as perf chooses it: sized over unsized,
 * functions over symbols without a type, the default version of a name over an old one, global over local over weak,
 * fewer leading underscores, the longer, then the alphabetically first.
 */
#ifndef CPROF_OBJECT_SYMTAB_H
#define CPROF_OBJECT_SYMTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "object/elf.h"

struct symbol {
	uint64_t elf_addr;
	uint64_t len_bytes;
	const char *name; /* raw (mangled), without "@VERSION"; borrowed from the symtab */
	bool is_guessed;  /* len_bytes is: the file does not say */
};

struct symtab;

/*
 * Never fails: a damaged table gives the symbols that could be read. A file without symbols, without
 * section headers or not linked (.o, .ko, core), and a file of NULL, gives an empty table. The symtab
 * copies what it needs: file may be closed.
 */
struct symtab *symtab_new(const struct elf_file *file);
void symtab_free(struct symtab *symtab);
/* The number of names, aliases included. */
size_t symtab_nr(const struct symtab *symtab);

/* The symbol that elf_addr lies in. false: none. */
bool symtab_find(const struct symtab *symtab, uint64_t elf_addr, struct symbol *symbol);

/*
 * Finds a symbol by its exact raw name, aliases included (versions are ignored: "malloc" finds
 * "malloc@@GLIBC_2.2.5"). Only symbols defined here; for an IFUNC the address is the resolver's and
 * *is_ifunc is set. false: not defined here. A linear scan: for a handful of names per object.
 */
bool symtab_lookup(const struct symtab *symtab, const char *name, struct symbol *symbol,
		   bool *is_ifunc);

#endif
