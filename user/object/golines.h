/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lines of a Go program's code, and the calls that were inlined there, stripped or not: as runtime.CallersFrames()
 * of the program itself gives them.
 *
 * They are in .gopclntab too (object/gopclntab.h), in the formats of Go 1.16 to 1.26, x86-64 and arm64. Where a function is
 * declared is there from Go 1.20 on.
 */
#ifndef CPROF_OBJECT_GOLINES_H
#define CPROF_OBJECT_GOLINES_H

#include "object/gopclntab.h"
#include "object/sourceframe.h"

/*
 * Calls emit for each of nr elf_addrs that the table has a line or an inlined call for, in their order. table is that of
 * the file, which is read through an elf_file of this call's own. NULL: nothing is known; so it is where the file
 * has no descriptor, and for the rest once the table costs more time than any real one.
 */
void golines_find(const struct gopclntab *table, const struct elf_file *file,
		  const uint64_t *elf_addrs, size_t nr, source_frames_fn emit, void *ctx);

#endif
