/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an ELF file says of the V8 in it: its version, and how its objects lie in memory.
 *
 * V8 exports that for debuggers (v8dbg_class_Script__name__Object), whatever the file is called: node, libnode.so.108. Nothing is
 * read of a process here. V8 10.2 to 13.6 (Node.js 18 to 24) are known.
 */
#ifndef CPROF_RUNTIME_V8_H
#define CPROF_RUNTIME_V8_H

#include <stdbool.h>
#include <stdint.h>

#include "object/object.h"
#include "v8_abi.h"

/* false: there is no V8 that is known. One that compresses pointers (Electron) is none. */
bool v8_find(struct object *object, struct abi_v8 *layout);

#endif
