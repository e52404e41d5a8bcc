/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Demangles C++, Rust and D symbol names.
 *
 * C++ is the Itanium ABI's mangling (object/itanium.h). Rust's legacy mangling is the same with a hash at
 * the end: the hash is removed, and escapes such as "$LT$" and ".." are decoded. Rust's newer mangling, v0, is that
 * of object/rustv0.h, and D's that of object/dlang.h. Suffixes of compiler
 * clones (".cold", ".part.0", ".constprop.1", ".isra.2", ".llvm.NNN") are removed first: to a reader of
 * profiles a clone is the same function.
 */
#ifndef CPROF_OBJECT_DEMANGLE_H
#define CPROF_OBJECT_DEMANGLE_H

/*
 * The display name for a raw symbol name, or NULL where that is raw itself. Owned by the caller:
 * free(). Names longer than 64 KiB are not demangled (NULL), and results are cut at 64 KiB.
 */
char *demangle(const char *raw);

#endif
