/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions of a Go program by name, stripped or not: from the table that Go's runtime itself reads, .gopclntab.
 *
 * The runtime needs it for stack traces and the garbage collector, so strip(1) and -ldflags=-s leave it. Names are those
 * of Go's own profiles, by which its compiler knows functions: "main.Sum[go.shape.int]", which the runtime prints as
 * "main.Sum[...]", and so did the linker until Go 1.20. Formats of Go 1.16 to 1.26, x86-64 and arm64. Code that was linked in from other
 * languages (cgo) is not in it.
 */
#ifndef CPROF_OBJECT_GOPCLNTAB_H
#define CPROF_OBJECT_GOPCLNTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "object/elf.h"

/* A larger table is not read (that of a program of 100 MB has 30 MB), nor are more functions. */
#define GOPCLNTAB_MAX_BYTES	(128u << 20)
#define GOPCLNTAB_MAX_FUNCTIONS (4u << 20)

struct gopclntab;

/*
 * NULL: it is not a Go program, of another format, or damaged; file may be NULL. It is read through an elf_file of this
 * call's own; 16 bytes for each function and the names stay, so file may be closed.
 */
struct gopclntab *gopclntab_new(const struct elf_file *file);
void gopclntab_free(struct gopclntab *table); /* NULL is fine */
/* The number of functions. */
size_t gopclntab_nr(const struct gopclntab *table);

/*
 * The name of the function that elf_addr lies in, borrowed from the table, and in *start where it begins (elf_addr).
 * NULL: none; table may be NULL. A function extends to the next one, as it does for Go's runtime.
 */
const char *gopclntab_find(const struct gopclntab *table, uint64_t elf_addr, uint64_t *start);

/* More about the function at an address, for golines.c. false: gopclntab_find() returns NULL there. */
struct gopclntab_function {
	const char *name; /* borrowed */
	uint64_t start;	  /* elf_addr */
	uint32_t details; /* where they are, from the table's functions_off (object/gotable.h) on */
};
bool gopclntab_function(const struct gopclntab *table, uint64_t elf_addr,
			struct gopclntab_function *function);
/* The name at that offset of the table's names, borrowed; NULL: it is outside. */
const char *gopclntab_name(const struct gopclntab *table, uint32_t name);
/* The elf_addr that offsets of functions' data count from, from Go 1.18 on; 0: not known. */
uint64_t gopclntab_data(const struct gopclntab *table);

/* Did Go's linker make the file? Reads no more than its section headers. */
bool gopclntab_is_there(const struct elf_file *file);

#endif
