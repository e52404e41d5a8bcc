/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds where the function at an address begins, for code without symbols.
 *
 * strip(1) removes names but keeps .eh_frame, since exceptions need it, and that has an entry for each
 * function. A part that a compiler moved away from its function (.cold) counts as a function of its own.
 * The stubs of a PLT are left out: one entry describes them all.
 */
#ifndef CPROF_OBJECT_FUNCTAB_H
#define CPROF_OBJECT_FUNCTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "object/elf.h"

/* A larger section (libLLVM has 5 MB) is not read, and the table is empty. */
#define FUNCTAB_MAX_BYTES (64u << 20)

struct functab;

/*
 * Reads all of the file's call frame information, so make one only if it is needed. Never fails: a file that
 * has none or is damaged, and a file of NULL, give a table of what could be read. The functab copies what it
 * needs, 16 bytes for each function: file may be closed.
 */
struct functab *functab_new(const struct elf_file *file);
void functab_free(struct functab *functab); /* NULL is fine */
/* The number of functions. */
size_t functab_nr(const struct functab *functab);

/* The start (elf_addr) of the function that elf_addr lies in. false: no entry describes it. */
bool functab_find(const struct functab *functab, uint64_t elf_addr, uint64_t *start);

/*
 * How far code at elf_addr reaches at most: *covers: to the end of the function that it lies in; else to the next
 * function, UINT64_MAX if there is none.
 */
uint64_t functab_limit(const struct functab *functab, uint64_t elf_addr, bool *covers);

#endif
