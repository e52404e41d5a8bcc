// SPDX-License-Identifier: BSD-2-Clause
/*
 * Whether rules have to say where rbx is turns out when the first table is done: nearly none has to, and for those that
 * do (ld.so) a second one is built.
 */
#include "unwind/tablebuild.h"

#include "object/gopclntab.h"
#include "unwind/gapfill.h"

struct production {
	const struct ehframe_input *input;
	const struct elf_file *file; /* whose gaps are filled; NULL: they stay */
	struct ehframe_stats stats;
	bool needs_bx; /* not for what fills gaps: where that needs it beyond the innermost frame, a stack ends */
	int err;
};

static void produce(void *ctx, cfa_row_fn emit, void *emit_ctx)
{
	struct production *production = ctx;
	struct gapfill gapfill;

	if (!production->file) {
		production->err =
			ehframe_rows(production->input, emit, emit_ctx, &production->stats);
		return;
	}
	gapfill_open(&gapfill, production->file, production->input->entry, emit, emit_ctx);
	production->err =
		ehframe_rows(production->input, gapfill_row, &gapfill, &production->stats);
	gapfill_close(&gapfill);
	production->needs_bx = gapfill.needs_bx;
}

/* *needs_bx: some CFA is counted from rbx. */
static int build(const struct ehframe_input *input, const struct elf_file *file, bool *needs_bx,
		 struct unwind_table **table)
{
	struct production production = {.input = input, .file = file};
	struct unwind_table *built =
		unwind_table_pack(produce, &production, input->entry, needs_bx);

	if (file)
		*needs_bx = production.needs_bx;
	if (production.err) {
		unwind_table_free(built);
		return production.err;
	}
	built->stats = production.stats;
	built->tracks_bx = input->track_bx;
	*table = built;
	return 0;
}

static int build_table(const struct ehframe_input *input, const struct elf_file *file,
		       struct unwind_table **table)
{
	struct ehframe_input tracking = *input;
	struct unwind_table *built;
	bool needs_bx;
	int err;

	err = build(input, file, &needs_bx, &built);
	if (err)
		return err;
	if (needs_bx && !input->track_bx) {
		unwind_table_free(built);
		tracking.track_bx = true;
		err = build(&tracking, file, &needs_bx, &built);
		if (err)
			return err;
	}
	*table = built;
	return 0;
}

int unwind_table_new(const struct ehframe_input *input, struct unwind_table **table)
{
	return build_table(input, NULL, table);
}

int unwind_table_from_elf(const struct elf_file *file, struct unwind_table **table)
{
	struct ehframe_input input;
	int err = ehframe_input_from_elf(file, &input);

	if (err)
		return err;
	/* Go's own code keeps frame pointers, and its stacks have ends of their own. */
	return build_table(&input, gopclntab_is_there(file) ? NULL : file, table);
}
