/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Demangles Rust's newer names (v0, "_R...", RFC 2603) within bounds of time, memory and output.
 *
 *	_RNvMs_CsbDqzXfLQacH_7mycrateNtB4_7Example3foo	<mycrate::Example>::foo
 *
 * libiberty does the work. The hashes of crates are left out, as those of the older mangling are.
 */
#ifndef CPROF_OBJECT_RUSTV0_H
#define CPROF_OBJECT_RUSTV0_H

#include <stddef.h>

#define RUSTV0_MAX_BYTES  2048	      /* of a name */
#define RUSTV0_MAX_RESULT (64u << 10) /* of its result, which is cut there */

/*
 * Demangles name, of len bytes and NUL-terminated; owned by the caller: free(). NULL: it is not valid, or too long, or
 * says what no compiler does; or too many names before were cut.
 */
char *rustv0_demangle(const char *name, size_t len);

#endif
