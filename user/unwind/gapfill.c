// SPDX-License-Identifier: BSD-2-Clause
/*
 * Only .text is looked at, and .plt where a machine's linker does not describe it, which has a shape of its own. Nearly all gaps are the padding between
 * two functions, and not worth a look. Code is read in windows, because that of a codec can be 12 MB in one piece.
 */
#include "unwind/gapfill.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "object/rawsyms.h"
#include "unwind/codearch.h"
#include "unwind/unwindarch.h"
#include "unwind/stackdecode.h"

#define WINDOW_BYTES   (1u << 20)
#define SYMBOLS_BYTES  1024 /* a gap that is worth a look at symbols */
#define CALLED_BYTES   (64u << 20)
#define PLT_BYTES      (4u << 20)
#define LEVELS_STARTED 2 /* musl: _start, _start_c */

/* Leaves both as they are if there is no such section. */
static void find_section(const struct elf_file *file, const char *name, uint64_t *start,
			 uint64_t *limit)
{
	struct elf_section section;
	uint64_t end;

	if (!elf_file_section_named(file, name, &section) ||
	    __builtin_add_overflow(section.elf_addr, section.len_bytes, &end))
		return;
	*start = section.elf_addr;
	*limit = end;
}

void gapfill_open(struct gapfill *gapfill, const struct unwind_arch *arch,
		  const struct elf_file *file, uint64_t entry, cfa_row_fn emit, void *ctx,
		  struct codestarts *starts)
{
	*gapfill = (struct gapfill){.arch = arch,
				    .analyser = codearch_of(arch),
				    .file = file,
				    .entry = entry,
				    .emit = emit,
				    .ctx = ctx,
				    .starts = starts};
	if (!file)
		return;
	find_section(file, ".text", &gapfill->text_start, &gapfill->text_limit);
	if (gapfill->analyser->plt_rows)
		find_section(file, ".plt", &gapfill->plt_start, &gapfill->plt_limit);
}

static void emit(void *ctx, const struct unwind_row *row)
{
	struct gapfill *gapfill = ctx;

	gapfill->has_rules |= row->rule.kind != UNWIND_GAP;
	gapfill->emit(gapfill->ctx, row);
}

static void emit_gap(struct gapfill *gapfill, uint64_t start)
{
	codestarts_add(gapfill->starts, start, false);
	emit(gapfill, &(struct unwind_row){start, {.kind = UNWIND_GAP}});
}

static int compare_addrs(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* false: it is not in .text. */
static bool add_begin(struct gapfill *gapfill, uint64_t elf_addr)
{
	if (elf_addr < gapfill->text_start || elf_addr >= gapfill->text_limit)
		return false;
	vec_push(&gapfill->begins, elf_addr);
	return true;
}

/* What a compiler has moved away from its function begins in the middle of things: "main.cold". */
static bool is_piece(const struct rawsyms *raw, const struct rawsym *symbol)
{
	static const char *const marks[] = {".cold", ".__part."};
	const char *name = rawsyms_name(raw, symbol);

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (memmem(name, symbol->name_bytes, marks[i], strlen(marks[i])))
			return true;
	return symbol->name_bytes > 3 && !memcmp(name + symbol->name_bytes - 3, ".eh", 3);
}

/* A symbol without a type may be a label inside a function, or data. */
static void add_named(struct gapfill *gapfill)
{
	struct rawsyms raw scoped(rawsyms_release) = {0};

	if (rawsyms_read(&raw, gapfill->file))
		return;
	vec_for_each(&raw.all, symbol) {
		if (symbol->is_notype || symbol->is_plt)
			continue;
		if (is_piece(&raw, symbol))
			vec_push(&gapfill->ends, symbol->elf_addr);
		else
			add_begin(gapfill, symbol->elf_addr);
		if (symbol->len_bytes)
			vec_push(&gapfill->ends, symbol->elf_addr + symbol->len_bytes);
	}
}

/* Proven code leads to it: in a later gap, mostly. */
static void note_called(void *ctx, uint64_t elf_addr)
{
	struct gapfill *gapfill = ctx;
	uint64_t offset = elf_addr - gapfill->text_start;

	if (elf_addr < gapfill->text_start || elf_addr >= gapfill->text_limit ||
	    offset >= CALLED_BYTES)
		return;
	if (!gapfill->called)
		gapfill->called = xcalloc(CALLED_BYTES / 8, 1);
	gapfill->called[offset / 8] |= 1u << offset % 8;
}

/* What the first instructions of a function lead to, and those of what they lead to: main, with all libraries. */
static void add_started(struct gapfill *gapfill, uint64_t start, int nr_levels)
{
	uint8_t bytes[CFA_ENTRY_BYTES];
	struct stackdecode code;
	struct instruction in = {.next = 0};
	bool is_end = false;

	if (!nr_levels || !elf_file_read(gapfill->file, start, bytes, sizeof(bytes)))
		return;
	stackdecode_init(&code, bytes, sizeof(bytes));
	while (!is_end && in.next < sizeof(bytes) && stackdecode_at(&code, in.next, &in)) {
		bool is_call = in.decoded.mnemonic == ZYDIS_MNEMONIC_CALL;
		bool is_jump = in.decoded.mnemonic == ZYDIS_MNEMONIC_JMP;
		int64_t offset;

		is_end = stackdecode_is_end(&in);
		if (!stackdecode_address(&in, &offset) &&
		    !((is_call || is_jump) && stackdecode_target(&in, &offset)))
			continue;
		if (is_jump)
			note_called(gapfill, start + (uint64_t)offset);
		else if (add_begin(gapfill, start + (uint64_t)offset))
			add_started(gapfill, start + (uint64_t)offset, nr_levels - 1);
	}
}

static void read_begins(struct gapfill *gapfill)
{
	if (gapfill->knows_begins || gapfill->text_start == gapfill->text_limit)
		return;
	gapfill->knows_begins = true;
	add_named(gapfill);
	if (gapfill->entry && gapfill->arch == &unwind_x86)
		add_started(gapfill, gapfill->entry, LEVELS_STARTED);
	if (gapfill->begins.nr)
		qsort(gapfill->begins.at, gapfill->begins.nr, sizeof(*gapfill->begins.at),
		      compare_addrs);
	if (gapfill->ends.nr)
		qsort(gapfill->ends.at, gapfill->ends.nr, sizeof(*gapfill->ends.at), compare_addrs);
}

/* The number of the first that is not below addr. */
static size_t begin_from(const struct gapfill *gapfill, uint64_t addr)
{
	return vec_partition(&gapfill->begins, begin, *begin < addr);
}

static size_t end_from(const struct gapfill *gapfill, uint64_t addr)
{
	return vec_partition(&gapfill->ends, end, *end < addr);
}

/* Those of [start, start + len_bytes). */
static void gather_called(struct gapfill *gapfill, uint64_t start, size_t len_bytes)
{
	uint64_t from = start - gapfill->text_start, to = from + len_bytes;

	gapfill->called_now.nr = 0;
	for (uint64_t i = from; gapfill->called && i < to && i < CALLED_BYTES; i++)
		if (gapfill->called[i / 8] >> i % 8 & 1)
			vec_push(&gapfill->called_now, gapfill->text_start + i);
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
	gather_called(gapfill, start, len_bytes);
	code.called = gapfill->called_now.at;
	code.nr_called = gapfill->called_now.nr;
	code.leads_to = note_called;
	code.starts = gapfill->starts;
	code.bytes = gapfill->bytes;
	if (gapfill->begins.nr)
		code.begins = gapfill->begins.at + begin_from(gapfill, start);
	code.nr_begins = begin_from(gapfill, start + len_bytes) - begin_from(gapfill, start);
	if (gapfill->ends.nr)
		code.ends = gapfill->ends.at + end_from(gapfill, start);
	code.nr_ends = end_from(gapfill, start + len_bytes) - end_from(gapfill, start);
	len_bytes = gapfill->analyser->code_rows(&code, emit, gapfill);
	gapfill->nr_filled_bytes += len_bytes;
	return len_bytes;
}

/* A gap of [start, limit) that the program does not begin in, as far as it is in .text. */
static void fill_without_entry(struct gapfill *gapfill, uint64_t start, uint64_t limit)
{
	uint64_t from = start > gapfill->text_start ? start : gapfill->text_start;
	uint64_t to = limit < gapfill->text_limit ? limit : gapfill->text_limit;

	if (from >= to || to - from < gapfill->analyser->smallest_gap_bytes) {
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

static void fill_code(struct gapfill *gapfill, uint64_t start, uint64_t limit)
{
	uint64_t entry = gapfill->entry, behind;
	uint64_t from = start > gapfill->text_start ? start : gapfill->text_start;
	uint64_t to = limit < gapfill->text_limit ? limit : gapfill->text_limit;
	bool has_entry = entry && entry >= start && entry < limit;
	size_t next;

	if (has_entry || (from < to && to - from >= SYMBOLS_BYTES))
		read_begins(gapfill);
	if (!has_entry) {
		fill_without_entry(gapfill, start, limit);
		return;
	}
	if (entry > start)
		fill_without_entry(gapfill, start, entry);
	emit_gap(gapfill, entry);
	behind = limit - entry < CFA_ENTRY_BYTES ? limit : entry + CFA_ENTRY_BYTES;
	next = begin_from(gapfill, entry + 1);
	if (next < gapfill->begins.nr && gapfill->begins.at[next] < behind)
		behind = gapfill->begins.at[next];
	if (behind < limit)
		fill_without_entry(gapfill, behind, limit);
}

/* The stubs that are in [start, limit). Returns where they end. */
static uint64_t fill_plt(struct gapfill *gapfill, uint64_t start)
{
	uint64_t len_bytes = gapfill->plt_limit - gapfill->plt_start;
	struct asmflow_code code = {.len_bytes = len_bytes, .addr = gapfill->plt_start};
	uint8_t *bytes scoped(freep) = NULL;

	if (len_bytes > PLT_BYTES)
		return start;
	bytes = xmalloc(len_bytes);
	if (!elf_file_read(gapfill->file, gapfill->plt_start, bytes, len_bytes))
		return start;
	if (start < gapfill->plt_start)
		emit_gap(gapfill, start);
	codestarts_add(gapfill->starts, gapfill->plt_start, false);
	code.bytes = bytes;
	gapfill->analyser->plt_rows(&code, emit, gapfill);
	return gapfill->plt_limit;
}

static void fill(struct gapfill *gapfill, uint64_t start, uint64_t limit)
{
	bool has_plt = gapfill->plt_start < gapfill->plt_limit && start <= gapfill->plt_start &&
		       gapfill->plt_limit <= limit;

	if (has_plt)
		start = fill_plt(gapfill, start);
	/* A gap at UINT64_MAX is one, too, without a byte: it ends what is before it. */
	if (!has_plt || start < limit)
		fill_code(gapfill, start, limit);
}

/* Where a file without rows before that begins: with what is known of it. */
static uint64_t first_start(const struct gapfill *gapfill)
{
	bool has_plt = gapfill->plt_start < gapfill->plt_limit &&
		       gapfill->plt_limit <= gapfill->text_start;

	return has_plt ? gapfill->plt_start : gapfill->text_start;
}

void gapfill_row(void *ctx, const struct unwind_row *row)
{
	struct gapfill *gapfill = ctx;

	if (gapfill->in_gap)
		fill(gapfill, gapfill->gap_start, row->elf_addr);
	else if (!gapfill->has_rows && first_start(gapfill) < row->elf_addr &&
		 row->elf_addr <= gapfill->text_limit)
		fill(gapfill, first_start(gapfill), row->elf_addr);
	gapfill->has_rows = true;
	gapfill->needs_extra |= row->rule.cfa_reg == gapfill->arch->machine->extra;
	gapfill->in_gap = row->rule.kind == UNWIND_GAP;
	if (gapfill->in_gap)
		gapfill->gap_start = row->elf_addr;
	else
		emit(gapfill, row);
}

void gapfill_close(struct gapfill *gapfill)
{
	if (gapfill->in_gap)
		fill(gapfill, gapfill->gap_start, UINT64_MAX);
	else if (!gapfill->has_rows && gapfill->text_start < gapfill->text_limit)
		fill(gapfill, first_start(gapfill), UINT64_MAX);
	free(gapfill->bytes);
	free(gapfill->called);
	vec_release(&gapfill->called_now);
	vec_release(&gapfill->begins);
	vec_release(&gapfill->ends);
}
