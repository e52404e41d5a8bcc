// SPDX-License-Identifier: BSD-2-Clause
/*
 * Only .text is looked at: what is in .plt and its like has a shape of its own. Nearly all gaps are the padding between
 * two functions, and not worth a look. Code is read in windows, because that of a codec can be 12 MB in one piece.
 */
#include "unwind/gapfill.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "unwind/asmflow.h"

#define WINDOW_BYTES   (256u << 10)
#define SMALLEST_BYTES 16 /* functions are aligned to as much: less is padding */

void gapfill_open(struct gapfill *gapfill, const struct elf_file *file, uint64_t entry,
		  cfa_row_fn emit, void *ctx)
{
	struct elf_section text;
	uint64_t limit;

	*gapfill = (struct gapfill){.file = file, .entry = entry, .emit = emit, .ctx = ctx};
	if (!file || !elf_file_section_named(file, ".text", &text) ||
	    __builtin_add_overflow(text.elf_addr, text.len_bytes, &limit))
		return;
	gapfill->text_start = text.elf_addr;
	gapfill->text_limit = limit;
}

static void emit_gap(const struct gapfill *gapfill, uint64_t start)
{
	gapfill->emit(gapfill->ctx, &(struct unwind_row){start, {.kind = UNWIND_GAP}});
}

/* How many bytes there are rows for now; 0: for none, they are too many, or not in the file. */
static size_t fill_window(struct gapfill *gapfill, uint64_t start, uint64_t limit)
{
	size_t len_bytes = limit - start < WINDOW_BYTES ? limit - start : WINDOW_BYTES;
	struct asmflow_code code = {
		.len_bytes = len_bytes, .addr = start, .goes_on = len_bytes < limit - start};

	if (gapfill->nr_filled_bytes + len_bytes > GAPFILL_MAX_BYTES)
		return 0;
	if (!gapfill->bytes)
		gapfill->bytes = xmalloc(WINDOW_BYTES);
	if (!elf_file_read(gapfill->file, start, gapfill->bytes, len_bytes))
		return 0;
	code.bytes = gapfill->bytes;
	len_bytes = asmflow_rows(&code, gapfill->emit, gapfill->ctx);
	gapfill->nr_filled_bytes += len_bytes;
	return len_bytes;
}

/* The gap of [start, limit), as far as it is in .text. */
static void fill(struct gapfill *gapfill, uint64_t start, uint64_t limit)
{
	uint64_t from = start > gapfill->text_start ? start : gapfill->text_start;
	uint64_t to = limit < gapfill->text_limit ? limit : gapfill->text_limit;

	if (from >= to || to - from < SMALLEST_BYTES ||
	    (gapfill->entry >= from && gapfill->entry < to)) {
		emit_gap(gapfill, start);
		return;
	}
	if (from > start)
		emit_gap(gapfill, start);
	while (from < to) {
		size_t len_bytes = fill_window(gapfill, from, to);

		if (!len_bytes) {
			emit_gap(gapfill, from);
			return;
		}
		from += len_bytes;
	}
	if (to < limit)
		emit_gap(gapfill, to);
}

void gapfill_row(void *ctx, const struct unwind_row *row)
{
	struct gapfill *gapfill = ctx;

	if (gapfill->in_gap)
		fill(gapfill, gapfill->gap_start, row->elf_addr);
	else if (!gapfill->has_rows && gapfill->text_start < row->elf_addr &&
		 row->elf_addr <= gapfill->text_limit)
		fill(gapfill, gapfill->text_start, row->elf_addr);
	gapfill->has_rows = true;
	gapfill->needs_bx |= row->rule.cfa_reg == UNWIND_REG_BX;
	gapfill->in_gap = row->rule.kind == UNWIND_GAP;
	if (gapfill->in_gap)
		gapfill->gap_start = row->elf_addr;
	else
		gapfill->emit(gapfill->ctx, row);
}

void gapfill_close(struct gapfill *gapfill)
{
	if (gapfill->in_gap)
		fill(gapfill, gapfill->gap_start, UINT64_MAX);
	free(gapfill->bytes);
}
