// SPDX-License-Identifier: BSD-2-Clause
/*
 * Whether rules have to say where rbx is turns out when the first table is done: nearly none has to, and for those that
 * do (ld.so) a second one is built. What fills gaps does not ask for it: where a CFA is counted from rbx there, it is known in
 * the innermost frame, and beyond it the stack ends.
 */
#include "unwind/tablebuild.h"

#include <errno.h>
#include <gelf.h>

#include "object/gopclntab.h"
#include "unwind/a64mend.h"
#include "unwind/gapfill.h"

struct production {
	const struct ehframe_input *input;
	const struct elf_file *file; /* whose gaps are filled; NULL: they stay */
	struct codestarts starts;
	struct ehframe_stats stats;
	bool has_rules;
	bool needs_extra; /* some CFA of the call frame information is counted from rbx */
	int err;
};

static void produce(void *ctx, cfa_row_fn emit, void *emit_ctx)
{
	struct production *production = ctx;
	bool is_mended = production->file && production->input->arch->has_gaps_in_rows;
	struct gapfill gapfill;
	struct a64mend mend;

	gapfill_open(&gapfill, production->input->arch, production->file, production->input->entry,
		     emit, emit_ctx, &production->starts);
	a64mend_open(&mend, production->file, gapfill_row, &gapfill);
	if (production->input->section.len_bytes)
		production->err = ehframe_rows(
			production->input, is_mended ? a64mend_row : gapfill_row,
			is_mended ? (void *)&mend : (void *)&gapfill, &production->stats);
	a64mend_close(&mend);
	gapfill_close(&gapfill);
	production->has_rules = gapfill.has_rules;
	production->needs_extra = gapfill.needs_extra;
}

static int build(struct production *production, struct unwind_table **table)
{
	struct unwind_table *built = unwind_table_pack(production->input->arch, produce, production,
						       production->input->entry);

	built->starts = production->starts;
	if (production->err) {
		unwind_table_free(built);
		return production->err;
	}
	built->stats = production->stats;
	built->tracks_extra = production->input->track_extra;
	*table = built;
	return 0;
}

static int build_for(const struct ehframe_input *input, const struct elf_file *file,
		     struct unwind_table **table)
{
	struct ehframe_input tracking = *input;
	struct production production = {.input = input, .file = file};
	int err = build(&production, table);

	if (err || !production.needs_extra || input->track_extra)
		return err;
	unwind_table_free(*table);
	tracking.track_extra = true;
	production = (struct production){.input = &tracking, .file = file};
	return build(&production, table);
}

int unwind_table_new(const struct ehframe_input *input, struct unwind_table **table)
{
	return build_for(input, NULL, table);
}

/* Builds the table of a file without call frame information, from its code alone. */
static int build_from_code(const struct elf_file *file, struct unwind_table **table)
{
	struct ehframe_input input = {.arch = unwind_arch_of_file(file),
				      .entry = ehframe_entry(file)};
	struct production production = {.input = &input, .file = file};
	int err = build(&production, table);

	if (err || production.has_rules)
		return err;
	unwind_table_free(*table);
	*table = NULL;
	return -ENOENT;
}

/* Go's own code keeps frame pointers, and its stacks have ends of their own. */
static bool is_code_followed(const struct elf_file *file)
{
	GElf_Ehdr ehdr;

	return gelf_getehdr(elf_file_libelf(file), &ehdr) && unwind_arch_of(ehdr.e_machine) &&
	       !gopclntab_is_there(file);
}

int unwind_table_from_elf(const struct elf_file *file, struct unwind_table **table)
{
	bool is_followed = is_code_followed(file);
	struct ehframe_input input;
	int err = ehframe_input_from_elf(file, &input);

	if (err == -ENOENT && is_followed)
		return build_from_code(file, table);
	if (err)
		return err;
	return build_for(&input, is_followed ? file : NULL, table);
}
