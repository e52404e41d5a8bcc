/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the source says of one address: the function that it lies in, and those that the compiler inlined there.
 *
 * The same for each source of lines: Go's .gopclntab, DWARF. Texts are raw: a name as a linker sees it, a file as the
 * compiler noted it.
 */
#ifndef CPROF_OBJECT_SOURCEFRAME_H
#define CPROF_OBJECT_SOURCEFRAME_H

#include <stddef.h>
#include <stdint.h>

/* Most frames of one address; of a deeper chain the innermost ones and the outermost one are given. */
#define SOURCE_MAX_FRAMES 64

struct source_frame {
	const char *
		name; /* NULL: unknown, so that of the symbol which the address lies in; outermost frames only */
	const char *file; /* "": unknown */
	uint32_t
		line; /* in file: of the address in the innermost frame, of the inlined call in the others; 0: unknown */
	uint32_t start_line; /* where the function is declared; 0: unknown */
};

/* elf_addrs[i] is in these frames, the innermost first; nr is 1 to SOURCE_MAX_FRAMES. Borrowed during the call. */
typedef void (*source_frames_fn)(void *ctx, size_t i, const struct source_frame *frames, size_t nr);

#endif
