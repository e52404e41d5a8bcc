/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds where the code of a Go program and the data about it begin: in the moduledata of its runtime. Private to gopclntab.c. */
#ifndef CPROF_OBJECT_GOMODULE_H
#define CPROF_OBJECT_GOMODULE_H

#include <stdbool.h>
#include <stdint.h>

#include "object/elf.h"

struct gomodule {
	uint64_t table, names,
		functions; /* elf_addrs of .gopclntab and of two of its parts: these identify it */
	bool has_coverage; /* of Go 1.20 or later, whose moduledata has two words more */
	uint64_t text;	   /* found: the elf_addr that functions count from */
	uint64_t data;	   /* found: the elf_addr that functions' data count from; 0: not there */
};

/* Reads the sections for data. false: none has it. */
bool gomodule_find(const struct elf_file *file, struct gomodule *module);

#endif
