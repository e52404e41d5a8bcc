/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads Java methods from the metadata of a HotSpot VM: name, source file, and which bytecode is of which line.
 *
 * What was read is kept until hotspot_methods_forget(): methods come and go as classes are loaded and unloaded.
 */
#ifndef CPROF_RUNTIME_HOTSPOTMETHOD_H
#define CPROF_RUNTIME_HOTSPOTMETHOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "runtime/vmstructs.h"

#define HOTSPOT_NAME_BYTES 512 /* longer names are truncated */

struct hotspot_method {
	uint64_t addr;	     /* of the Method */
	uint64_t bytecodes;  /* where they are */
	uint32_t code_bytes; /* how many; 0: not known */
	uint32_t start_line; /* the lowest line of its code; 0: not known */
	char *name;	     /* "java.lang.String.hashCode" */
	char *file;	     /* "java/lang/String.java", ""; not known */
	uint8_t *lines;	     /* its line number table, as the VM has it; NULL: none */
	size_t lines_bytes;
};

/* The methods read from one VM. vm and memory are borrowed; all else zeroed: none was read yet. */
struct hotspot_methods {
	const struct vmstructs *vm;
	const struct target_memory *memory;
	vec_of(struct hotspot_method *) all; /* private */
	struct hash index;
	size_t bytes;
};

/* The Method at addr of the VM's memory. NULL: it cannot be read. Borrowed until hotspot_methods_forget(). */
const struct hotspot_method *hotspot_method(struct hotspot_methods *methods, uint64_t addr);
/*
 * Is a Method at addr? That is: does its class list it there? false: not, or it cannot be read. An address that somebody
 * found and no VM's structure has is checked so.
 */
bool hotspot_method_is_listed(const struct hotspot_methods *methods, uint64_t addr);
/* The class of the Method at addr: its Klass. 0: it cannot be read. */
uint64_t hotspot_method_class(const struct hotspot_methods *methods, uint64_t addr);
/* The line of the bytecode at index bci; 0: not known. */
uint32_t hotspot_method_line(const struct hotspot_methods *methods,
			     const struct hotspot_method *method, uint32_t bci);
void hotspot_methods_forget(struct hotspot_methods *methods);

#endif
