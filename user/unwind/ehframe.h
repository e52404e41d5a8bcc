/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Turns a section of call frame information into unwind rows: for every range of code, in ascending
 * order, the rule that leads from a frame to its caller.
 *
 * A row holds from its address to the next row's. Code that no FDE describes has rows too (kind UNWIND_GAP), so
 * that a reader of rows need not know about functions. object/fdes.h decides which FDE an address belongs to.
 *
 * Time is linear in the section's length, except for sorting; memory is 16 bytes per FDE and about 300 per CIE
 * for the length of the call, and nothing per row.
 */
#ifndef CPROF_UNWIND_EHFRAME_H
#define CPROF_UNWIND_EHFRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/cfa.h"
#include "unwind/unwindtable.h"
#include "object/cfi.h"
#include "object/elf.h"
#include "unwind_abi.h"

/* What to read. code_start and code_limit bound the code whose FDEs count (0, UINT64_MAX: all). */
struct ehframe_input {
	const struct unwind_arch *arch; /* what the code is for */
	struct cfi_section section;
	uint64_t code_start, code_limit;
	uint64_t entry;	  /* of the program, which has no caller; 0: not known */
	bool track_extra; /* rules say where rbx is: see unwind_abi.h */
};

/*
 * Calls emit for each row: addresses ascend strictly, and the last row is a gap. The content of the
 * section cannot make it fail: damaged parts are counted and give gaps or UNWIND_UNSUPPORTED. -EFBIG: a section of
 * 4 GB or more. stats may be NULL.
 */
int ehframe_rows(const struct ehframe_input *input, cfa_row_fn emit, void *ctx,
		 struct ehframe_stats *stats);

/* Of the file's machine; NULL: that is none that is known. */
const struct unwind_arch *unwind_arch_of_file(const struct elf_file *file);
/* The entry point of the program; 0: not known. */
uint64_t ehframe_entry(const struct elf_file *file);
/* The section that fde_source_from_elf() finds, and the entry point. Borrowed from file. -ENOENT: none. */
int ehframe_input_from_elf(const struct elf_file *file, struct ehframe_input *input);

#endif
