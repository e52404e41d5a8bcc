/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fills the gaps that the call frame information of an ELF file leaves in its code with what unwind/asmflow.h finds there.
 * Stands between who makes rows and who takes them.
 */
#ifndef CPROF_UNWIND_GAPFILL_H
#define CPROF_UNWIND_GAPFILL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "object/elf.h"
#include "unwind/cfa.h"

/* Filled in one file: libx265, the largest known, has 12 MB of such code. */
#define GAPFILL_MAX_BYTES (16u << 20)

/* Private, but for needs_extra and has_rules. */
struct gapfill {
	const struct unwind_arch *arch;
	const struct codearch *analyser;
	const struct elf_file *file;
	uint64_t entry, text_start, text_limit;
	uint64_t plt_start, plt_limit; /* of stubs that nothing describes; equal: none */
	cfa_row_fn emit;
	void *ctx;
	struct codestarts *starts;
	bool has_rows, in_gap;
	bool needs_extra; /* some CFA of the rows that were taken, not of those that fill gaps, is counted from the extra register */
	uint64_t gap_start, nr_filled_bytes;
	uint8_t *bytes;
	vec_of(uint64_t) begins, ends; /* of functions, by symbols: ascending */
	bool knows_begins;
	uint8_t *
		called; /* a bit for each byte of the first CALLED_BYTES of .text: proven code calls it */
	vec_of(uint64_t) called_now;
	bool has_rules; /* some row was no gap */
};

/*
 * Rows go to emit, those that fill gaps and those that do not. What a program begins with, at entry (0: not known),
 * stays a gap, and so does what is beyond GAPFILL_MAX_BYTES of code. file is borrowed; NULL: all gaps stay. starts gets
 * what is found of functions in gaps; borrowed.
 */
void gapfill_open(struct gapfill *gapfill, const struct unwind_arch *arch,
		  const struct elf_file *file, uint64_t entry, cfa_row_fn emit, void *ctx,
		  struct codestarts *starts);
/* A cfa_row_fn for a struct gapfill: takes rows at ascending addresses, the last of them a gap. None: all is one. */
void gapfill_row(void *gapfill, const struct unwind_row *row);
/* After the last row: emits what is left, and releases what gapfill holds. */
void gapfill_close(struct gapfill *gapfill);

#endif
