/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * C++ names (Itanium C++ ABI, chapter 5.1) to what was written, by libiberty's demangler, within bounds of
 * time, memory and output whatever the name unfolds to.
 */
#ifndef CPROF_OBJECT_ITANIUM_H
#define CPROF_OBJECT_ITANIUM_H

#include <stddef.h>

#define ITANIUM_MAX_BYTES (64u << 10) /* of a name, and of what comes of it, which is cut there */

/*
 * What name, of len bytes, stands for; owned by the caller. NULL: it begins with no _Z, is not understood,
 * is too long, or took more than a tenth of a second.
 */
char *itanium_demangle(const char *name, size_t len);

#endif
