/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an ELF file says of the CPython in it: its version, where its state is, and how that is read.
 *
 * An interpreter is known by what it exports, whatever its file is called: python3.11, libpython3.11.so.1.0, a program
 * that embeds it. Nothing is read of a process here. Versions 3.8 to 3.14 are known; builds without the GIL are not.
 */
#ifndef CPROF_RUNTIME_PYTHON_H
#define CPROF_RUNTIME_PYTHON_H

#include <stdbool.h>
#include <stdint.h>

#include "object/object.h"
#include "python_abi.h"
#include "runtime/loop.h"

struct python_file {
	struct abi_python layout; /* state and code_type are elf_addrs */
	struct loop_piece loops
		[LOOP_MAX_PIECES]; /* the pieces of the interpreter's loop; unused ones are 0, 0 */
};

/* false: there is no CPython in the file that is known. */
bool python_find(struct object *object, struct python_file *python);

#endif
