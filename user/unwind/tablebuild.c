// SPDX-License-Identifier: BSD-2-Clause
/*
 * Whether rules have to say where rbx is turns out when the first table is done: nearly none has to, and for those that
 * do (ld.so) a second one is built.
 */
#include "unwind/tablebuild.h"

struct production {
	const struct ehframe_input *input;
	struct ehframe_stats stats;
	int err;
};

static void produce(void *ctx, cfa_row_fn emit, void *emit_ctx)
{
	struct production *production = ctx;

	production->err = ehframe_rows(production->input, emit, emit_ctx, &production->stats);
}

/* *needs_bx: some CFA is counted from rbx. */
static int build(const struct ehframe_input *input, bool *needs_bx, struct unwind_table **table)
{
	struct production production = {.input = input};
	struct unwind_table *built =
		unwind_table_pack(produce, &production, input->entry, needs_bx);

	if (production.err) {
		unwind_table_free(built);
		return production.err;
	}
	built->stats = production.stats;
	built->tracks_bx = input->track_bx;
	*table = built;
	return 0;
}

int unwind_table_new(const struct ehframe_input *input, struct unwind_table **table)
{
	struct ehframe_input tracking = *input;
	struct unwind_table *built;
	bool needs_bx;
	int err;

	err = build(input, &needs_bx, &built);
	if (err)
		return err;
	if (needs_bx && !input->track_bx) {
		unwind_table_free(built);
		tracking.track_bx = true;
		err = build(&tracking, &needs_bx, &built);
		if (err)
			return err;
	}
	*table = built;
	return 0;
}

int unwind_table_from_elf(const struct elf_file *file, struct unwind_table **table)
{
	struct ehframe_input input;
	int err = ehframe_input_from_elf(file, &input);

	return err ? err : unwind_table_new(&input, table);
}
