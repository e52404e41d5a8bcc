/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The objects whose code was sampled, each opened once and asked by elf_addr: ELF files by the index of
 * their descriptor, and the vdso. Symbols are read when the first address is asked for, where functions
 * begin when the first of no symbol is, not when the object becomes known. Sections that others read from
 * object_elf() stay in memory with the object: read large ones from an elf_file_reopen() of it.
 */
#ifndef CPROF_OBJECT_OBJECT_H
#define CPROF_OBJECT_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "object/elf.h"
#include "object/functab.h"
#include "object/symtab.h"

struct object;
struct objects;

struct objects *objects_new(void);
void objects_free(struct objects *objects);

/*
 * The object for key (a file's index), read from fd (borrowed until objects_free()) at the first
 * call. Never NULL: what is not a readable ELF file is an object without segments and symbols.
 */
struct object *objects_get(struct objects *objects, uint32_t key, int fd);
/* This kernel's vdso, read from our own mapping of it: it is the same in every 64-bit process. */
struct object *objects_vdso(struct objects *objects);

/* 0, or why it is empty: -ENOEXEC, -EBADF (fd was -1). */
int object_error(const struct object *object);
const char *object_build_id(const struct object *object);	/* "" if none */
const struct elf_file *object_elf(const struct object *object); /* NULL if it is not one */
/* The symbols; empty, not NULL, where there are none. */
const struct symtab *object_symtab(struct object *object);
/* Where functions begin, symbols or not; empty, not NULL, where nothing says so. */
const struct functab *object_functab(struct object *object);

#endif
