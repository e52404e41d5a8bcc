/* SPDX-License-Identifier: BSD-2-Clause */
/* Builds unwind tables from call frame information, and from machine code where that is missing. */
#ifndef CPROF_UNWIND_TABLEBUILD_H
#define CPROF_UNWIND_TABLEBUILD_H

#include <stdint.h>

#include "unwind/ehframe.h"
#include "unwind/tablepack.h"

/* A new table from a section of call frame information, for unwind_table_free(). -EFBIG. */
int unwind_table_new(const struct ehframe_input *input, struct unwind_table **table);
/*
 * The same from what the ELF file has, and from the machine code of functions that it says nothing of: hand-written
 * ones, or all of musl's (unwind/gapfill.h). -ENOENT: neither has a rule. The table borrows nothing from file.
 */
int unwind_table_from_elf(const struct elf_file *file, struct unwind_table **table);

#endif
