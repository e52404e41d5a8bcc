/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parts of Go's .gopclntab as they stand in a file. Private to gopclntab.c, which reads functions, and golines.c,
 * which reads lines.
 *
 * Offsets count from the table's header. The order of the parts is that of Go's linker: function names, units, file
 * names, pc tables, functions.
 */
#ifndef CPROF_OBJECT_GOTABLE_H
#define CPROF_OBJECT_GOTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "object/elf.h"

#define GO_MAGIC_1_16 0xfffffffau
#define GO_MAGIC_1_18 0xfffffff0u
#define GO_MAGIC_1_20 0xfffffff1u

#define GO_POINTER_BYTES 8

struct gotable {
	const uint8_t *bytes; /* borrowed from the file; unaligned */
	size_t len_bytes;
	uint64_t elf_addr;
	uint32_t magic;
	uint8_t instruction_bytes; /* in which the tables by pc count */
	uint64_t nr;		   /* functions */
	uint64_t text;		   /* where Go's code begins; 0: the header does not say */
	uint64_t names_off, units_off, files_off, pcs_off, functions_off;
};

/*
 * Reads the section and its header. Names and functions are inside the table; of the other parts no offset is checked.
 * false: there is none, or it is damaged.
 */
bool gotable_find(const struct elf_file *file, struct gotable *table);

/* The number of width_bytes (at most 8) at an address without alignment. */
uint64_t gotable_number(const uint8_t *at, size_t width_bytes);

/* The bytes of an address of code: 8 until Go 1.17, then 4, from the start of Go's code. */
size_t gotable_address_bytes(const struct gotable *table);

#endif
