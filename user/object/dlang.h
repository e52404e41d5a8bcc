/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Demangles D's symbol names: "_D3foo3barFiZv" is "foo.bar(int)".
 *
 * libiberty's demangler does the work. What it prints cannot be cut on the way, so names that could become too long are
 * refused.
 */
#ifndef CPROF_OBJECT_DLANG_H
#define CPROF_OBJECT_DLANG_H

#include <stddef.h>

/*
 * The demangled name, owned by the caller: free(). NULL: it is not one of D, or it is longer than 4 KiB, or has more than
 * 24 back references.
 */
char *dlang_name(const char *name, size_t name_bytes);

#endif
