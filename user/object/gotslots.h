/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The GOT slots of an ELF file that hold, in a running process, the implementations of the file's own IFUNCs.
 *
 * The symbol of an IFUNC (memmove of libc) has the address of a resolver. At run time that chooses one of several
 * implementations, most of which have no symbol in .dynsym, and the dynamic linker writes its address into slots of the
 * GOT. So the file says which slots there are and of which IFUNC; a process that maps it says what is in them.
 */
#ifndef CPROF_OBJECT_GOTSLOTS_H
#define CPROF_OBJECT_GOTSLOTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "object/elf.h"

#define GOTSLOTS_MAX	    1024 /* of one file; the rest is ignored */
#define GOTSLOTS_NAME_BYTES 256	 /* slots with a name of this length or longer are left out */

struct gotslot {
	uint64_t elf_addr; /* of the slot, which has 8 bytes */
	uint64_t initial;  /* what the file has there, not relocated: not what a resolver chose */
	const char *name;  /* of the IFUNC, as it is in .dynsym; borrowed */
	uint32_t name_bytes, ifunc; /* ifunc: private */
};

/*
 * From the slot with the worst name to that with the best (object/symtab.h says which that is): where two hold the same
 * address, the later one names it.
 */
struct gotslots {
	vec_of(struct gotslot) all;
	char *names; /* private */
};

/*
 * Reads the slots of file into slots, which the caller has zeroed. A file that is NULL, of a machine other than x86-64 and arm64, or without
 * IFUNCs in .dynsym has none; of a damaged file, those that can be read.
 */
void gotslots_read(struct gotslots *slots, const struct elf_file *file);
void gotslots_release(struct gotslots *slots);

#endif
