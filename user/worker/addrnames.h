/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What names an address of an ELF file: Go's own table, else its symbol, else where its function begins. That is known from
 * call frame information, or was found when the file's unwind table was built.
 */
#ifndef CPROF_WORKER_ADDRNAMES_H
#define CPROF_WORKER_ADDRNAMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "object/object.h"
#include "unwind/codestarts.h"
#include "worker/names.h"

/* The starts of functions, found with the object's table and kept after the table was sent. */
struct addrnames_starts {
	const struct object *object;
	struct codestarts at;
};

/* Zeroed: empty. Private. */
struct addrnames {
	vec_of(struct addrnames_starts) all;
	size_t nr_starts; /* of all objects */
};

/* Takes what was found with the table of object, unless that were more than a worker has room for. object is borrowed. */
void addrnames_keep(struct addrnames *names, const struct object *object,
		    struct codestarts *starts);
/* Fills in what is known of elf_addr; found must be zeroed, and stays so if nothing is. Borrows from object. */
void addrnames_find(const struct addrnames *names, struct object *object, uint64_t elf_addr,
		    struct names_symbol *found);
/* The objects are about to be freed. */
void addrnames_forget(struct addrnames *names);
void addrnames_release(struct addrnames *names);

#endif
