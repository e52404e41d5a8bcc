/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The executable sections of an ELF file by address: whether an address is code, and where that code ends.
 */
#ifndef CPROF_OBJECT_CODEREGIONS_H
#define CPROF_OBJECT_CODEREGIONS_H

#include <stdint.h>

#include "base/vec.h"
#include "object/elf.h"

struct coderegion {
	uint64_t start, limit;
};

struct coderegions {
	vec_of(struct coderegion) at; /* sorted by start */
};

/* Reads the section headers of file into *regions, which is zeroed. A section that wraps around is left out. */
void coderegions_read(struct coderegions *regions, const struct elf_file *file);
void coderegions_release(struct coderegions *regions);

/* The end of the executable section that contains elf_addr; 0: there is none. */
uint64_t coderegions_limit(const struct coderegions *regions, uint64_t elf_addr);

#endif
