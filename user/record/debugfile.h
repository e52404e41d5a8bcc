/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens the separate debug file of an ELF file, where the system keeps it: the symbols that strip(1) took away.
 *
 * Packages put them into /usr/lib/debug/.build-id/ab/cdef....debug, named by the build-id. The folder is the
 * system's own, never one that a target chose, and a build-id is nothing but hexadecimal digits.
 */
#ifndef CPROF_RECORD_DEBUGFILE_H
#define CPROF_RECORD_DEBUGFILE_H

#define DEBUGFILE_FOLDER "/usr/lib/debug"

/*
 * A descriptor for reading that the caller owns, or -errno. -ENOENT: there is none, or build_id is too short to
 * name one; others as vetted_open().
 */
int debugfile_open(const char *folder, const char *build_id);

#endif
