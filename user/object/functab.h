/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the functions of an ELF file begin, for code that has no symbol: what strip(1) takes away are
 * names, but .eh_frame stays, since exceptions need it, and there each function has an entry. A part that
 * a compiler moved away from its function (.cold) is one by itself.
 *
 * The stubs of a PLT are left out: one entry describes them all.
 */
#ifndef CPROF_OBJECT_FUNCTAB_H
#define CPROF_OBJECT_FUNCTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "object/elf.h"

/* Of more call frame information (libLLVM has 5 MB) none is read, and no function known. */
#define FUNCTAB_MAX_BYTES (64u << 20)

struct functab;

/*
 * Reads all of the file's call frame information: for who needs it. Never fails for what that holds: a
 * file without, a damaged one, and a file of NULL give a table of what could be read. The functab copies
 * what it needs, 16 bytes for each function: file may be closed.
 */
struct functab *functab_new(const struct elf_file *file);
void functab_free(struct functab *functab); /* NULL is fine */
size_t functab_nr(const struct functab *functab);

/* Where the function that elf_addr lies in begins, in *start. false: no entry describes it. */
bool functab_find(const struct functab *functab, uint64_t elf_addr, uint64_t *start);

#endif
