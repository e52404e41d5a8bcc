/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names for PLT stubs ("malloc@plt"), through which a file calls functions of other files.
 *
 * Stubs have no symbols; the name follows from the GOT slot that each jumps through.
 */
#ifndef CPROF_OBJECT_PLT_H
#define CPROF_OBJECT_PLT_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "object/elf.h"

struct plt_slot {
	uint64_t elf_addr;
	uint32_t name;	    /* offset in the string table of .dynsym, not checked */
	uint32_t len_bytes; /* of its code: 16 (x86-64), in .plt.got often 8; 16 to 24 (arm64) */
};

struct plt {
	vec_of(struct plt_slot) slots;
};

/*
 * The stubs of .plt, .plt.sec and .plt.got that can be named; none of machines without a struct arch, or where the
 * sections are damaged or not in this file (a separate debug file). A zeroed plt is empty.
 */
void plt_read(struct plt *plt, const struct elf_file *file);
void plt_release(struct plt *plt);

#endif
