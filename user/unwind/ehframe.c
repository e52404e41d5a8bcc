/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The FDEs come in address order, and their instructions run straight into the caller's emit, so that the
 * rows of a large library (818,000 for libLLVM, 20 MB) never exist at once.
 *
 * Before that, the CIEs: the state that each sets up is computed once, so that a hostile section cannot
 * make us run one again for each FDE.
 */
#include "unwind/ehframe.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "object/fdes.h"

struct initial {
	struct cfa_state state;
	bool damaged;
};

struct rows {
	const struct ehframe_input *input;
	struct fdes fdes;
	struct initial *initials; /* one a CIE of fdes */
	uint64_t gap_start;	  /* where the code described so far ends */
	cfa_row_fn emit;
	void *ctx;
	struct ehframe_stats stats;
};

static void rows_release(struct rows *rows)
{
	fdes_release(&rows->fdes);
	free(rows->initials);
}

static void run_cies(struct rows *rows)
{
	rows->initials = xcalloc(rows->fdes.cies.nr + 1, sizeof(*rows->initials));
	for (size_t i = 0; i < rows->fdes.cies.nr; i++) {
		const struct fde_cie *known = &rows->fdes.cies.at[i];
		struct initial *initial = &rows->initials[i];

		initial->damaged = known->damaged ||
				   cfa_initial(rows->input->arch, &rows->input->section,
					       &known->cie, &initial->state);
	}
}

static void emit_gap(struct rows *rows)
{
	rows->emit(rows->ctx, &(struct unwind_row){rows->gap_start, {.kind = UNWIND_GAP}});
}

static void emit_fde(void *ctx, uint32_t cie, const struct cfi_fde *fde)
{
	struct rows *rows = ctx;
	const struct ehframe_input *input = rows->input;

	if (rows->initials[cie].damaged) {
		rows->stats.nr_damaged++;
		return;
	}
	if (rows->stats.nr_fdes > 0 && rows->gap_start < fde->start)
		emit_gap(rows);
	rows->stats.nr_fdes++;
	if (cfa_run(input->arch, &input->section, &rows->fdes.cies.at[cie].cie,
		    &rows->initials[cie].state, fde, input->track_extra, rows->emit, rows->ctx))
		rows->stats.nr_damaged++;
	rows->gap_start = fde->limit;
}

int ehframe_rows(const struct ehframe_input *input, cfa_row_fn emit, void *ctx,
		 struct ehframe_stats *stats)
{
	const struct fde_source source = {input->section, input->code_start, input->code_limit};
	struct rows rows scoped(rows_release) = {.input = input, .emit = emit, .ctx = ctx};
	int err = fdes_read(&source, &rows.fdes);

	if (err)
		return err;
	run_cies(&rows);
	fdes_each(&rows.fdes, emit_fde, &rows);
	if (rows.stats.nr_fdes > 0)
		emit_gap(&rows);
	rows.stats.nr_cies = rows.fdes.cies.nr;
	rows.stats.nr_skipped = rows.fdes.nr_skipped;
	rows.stats.nr_damaged += rows.fdes.nr_damaged;
	rows.stats.truncated = rows.fdes.truncated;
	if (stats)
		*stats = rows.stats;
	return 0;
}

const struct unwind_arch *unwind_arch_of_file(const struct elf_file *file)
{
	GElf_Ehdr ehdr;

	return gelf_getehdr(elf_file_libelf(file), &ehdr) ? unwind_arch_of(ehdr.e_machine) : NULL;
}

uint64_t ehframe_entry(const struct elf_file *file)
{
	GElf_Ehdr ehdr;

	return gelf_getehdr(elf_file_libelf(file), &ehdr) ? ehdr.e_entry : 0;
}

int ehframe_input_from_elf(const struct elf_file *file, struct ehframe_input *input)
{
	const struct unwind_arch *arch = unwind_arch_of_file(file);
	struct fde_source source;
	int err = arch ? fde_source_from_elf(file, &source) : -ENOENT;

	if (err)
		return err;
	*input = (struct ehframe_input){.arch = arch,
					.section = source.section,
					.code_start = source.code_start,
					.code_limit = source.code_limit,
					.entry = ehframe_entry(file)};
	return 0;
}
