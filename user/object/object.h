/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The objects whose code was sampled: each ELF file is opened once, and symbols are looked up in it.
 *
 * ELF files are known by the index of their descriptor; the vdso is one more object. Symbols are read when
 * the first address is looked up, and function starts when the first address without a symbol is. Sections
 * that are read through object_elf() stay in memory with the object: read large ones from a
 * second elf_file (elf_file_reopen()).
 */
#ifndef CPROF_OBJECT_OBJECT_H
#define CPROF_OBJECT_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "object/elf.h"
#include "object/functab.h"
#include "object/gopclntab.h"
#include "object/symtab.h"

struct object;
struct objects;

/* An empty set; objects_free() (NULL is fine) frees it with all of its objects. */
struct objects *objects_new(void);
void objects_free(struct objects *objects);

/*
 * The object for key (a file's index), read from fd at the first call; where there was no descriptor then (fd is -1), or
 * it was let go since, at the next call with one. Never NULL: a file that is not readable ELF gives an object without
 * segments and symbols. Owned by objects. fd is borrowed until objects_free() or objects_let_go().
 */
struct object *objects_get(struct objects *objects, uint32_t key, int fd);
/* The object for key, NULL before the first objects_get(). */
struct object *objects_known(const struct objects *objects, uint32_t key);
/* The descriptor of key is about to be closed: what was read of the file stays. */
void objects_let_go(struct objects *objects, uint32_t key);
/* The vdso of this kernel, read from this process's mapping of it: every 64-bit process has the same. */
struct object *objects_vdso(struct objects *objects);

/*
 * About an object, all borrowed from it: 0, or why it is empty (-ENOEXEC; -EBADF: fd was -1); its build-id,
 * "" if it has none; its ELF file, NULL if it is not one.
 */
int object_error(const struct object *object);
const char *object_build_id(const struct object *object);
const struct elf_file *object_elf(const struct object *object);
/* Has it no descriptor, and not all of its symbols, function starts and Go's functions read? Asking for them gives empty ones then. */
bool object_needs_file(const struct object *object);
/* Its symbols; empty, not NULL, where there are none. Borrowed. */
const struct symtab *object_symtab(struct object *object);
/* Its function starts, symbols or not; empty, not NULL, where there are none. Borrowed. */
const struct functab *object_functab(struct object *object);
/* The functions of a Go program; NULL where it is none. Borrowed. */
const struct gopclntab *object_gopclntab(struct object *object);

#endif
