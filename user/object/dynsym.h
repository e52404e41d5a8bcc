/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds what an ELF file exports, by name; object/symtab.h has all functions, by address. */
#ifndef CPROF_OBJECT_DYNSYM_H
#define CPROF_OBJECT_DYNSYM_H

#include <stdbool.h>
#include <stdint.h>

#include "object/elf.h"

/*
 * The address of the variable that .dynsym defines under this name, whatever its version. A linear scan,
 * for a handful of names of one object. false: there is none.
 */
bool dynsym_variable(const struct elf_file *file, const char *name, uint64_t *elf_addr);
/* The same for a function; the address of an IFUNC is not that of its code, so it is none. */
bool dynsym_function(const struct elf_file *file, const char *name, uint64_t *elf_addr);
/* Is there a symbol of this name, defined in the file or asked for by it? */
bool dynsym_names(const struct elf_file *file, const char *name);

#endif
