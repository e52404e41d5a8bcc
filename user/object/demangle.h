/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Mangled names to what a programmer wrote. C++ (Itanium ABI, itanium.h) and
 * Rust's legacy mangling, which is C++ with a hash: the hash goes, "$LT$" and its kind and ".." are
 * decoded. Compiler clone suffixes (".cold", ".part.0", ".constprop.1", ".isra.2", ".llvm.NNN") are
 * taken off first: they are the same function to whoever reads the profile.
 */
#ifndef CPROF_OBJECT_DEMANGLE_H
#define CPROF_OBJECT_DEMANGLE_H

/*
 * The display name for a raw symbol name, or NULL where it would be the same as raw. Owned by the
 * caller: free(). Names of more than 64 KiB are left alone (NULL), results are cut at 64 KiB.
 */
char *demangle(const char *raw);

#endif
