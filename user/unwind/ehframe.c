/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two passes. The first walks the section and notes where each FDE is and what it starts at; the
 * second goes through them in address order and runs their instructions straight into the caller's
 * emit, so that the rows of a large library (818,000 for libLLVM, 20 MB) never exist at once.
 *
 * Before both, the CIEs: each is read once, with the state that its instructions set up, so that a
 * hostile section cannot make us run one again for each FDE. They come out sorted by offset, and
 * are searched for that way (a hash over offsets that the section chooses could be made to
 * collide). FDEs of one compilation share a CIE, so the last one used is tried first.
 */
#include "unwind/ehframe.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/vec.h"

/* Linkers merge equal CIEs: a few dozen are many. FDEs of any beyond this count as damaged. */
#define MAX_CIES (1u << 16)

struct known_cie {
	struct cfi_cie cie;
	struct cfa_state initial;
	bool damaged;
};

struct known_fde {
	uint64_t start;
	uint32_t off; /* of its entry in the section */
	uint32_t cie; /* position in cies */
};

struct reader {
	const struct ehframe_input *input;
	vec_of(struct known_cie) cies; /* by offset */
	vec_of(struct known_fde) fdes;
	bool unsorted;
	uint64_t gap_start; /* second pass: where the code described so far ends */
	cfa_row_fn emit;
	ehframe_range_fn give;
	void *ctx; /* of either */
	struct ehframe_stats stats;
};

static void reader_release(struct reader *reader)
{
	vec_release(&reader->cies);
	vec_release(&reader->fdes);
}

static void note_cie(struct reader *reader, const struct cfi_entry *entry)
{
	const struct cfi_section *section = &reader->input->section;
	struct known_cie known = {.damaged = true};

	if (reader->cies.nr == MAX_CIES)
		return;
	if (!cfi_cie_read(section, entry, &known.cie) &&
	    !cfa_initial(section, &known.cie, &known.initial))
		known.damaged = false;
	known.cie.off = entry->off;
	vec_push(&reader->cies, known);
}

static bool find_cie(const struct reader *reader, size_t off, uint32_t *position)
{
	size_t i;

	if (reader->cies.nr > 0 && reader->cies.at[*position].cie.off == off)
		return true;
	i = vec_partition(&reader->cies, known, known->cie.off < off);
	if (i == reader->cies.nr || reader->cies.at[i].cie.off != off)
		return false;
	*position = (uint32_t)i;
	return true;
}

/* *cie is the position of the CIE of the FDE before, and becomes that of this one. */
static int read_fde(struct reader *reader, const struct cfi_entry *entry, uint32_t *cie,
		    struct cfi_fde *fde)
{
	const struct known_cie *known;

	if (entry->body.bad || !find_cie(reader, entry->cie_off, cie))
		return -EBADMSG;
	known = &reader->cies.at[*cie];
	if (known->damaged)
		return -EBADMSG;
	return cfi_fde_read(&reader->input->section, &known->cie, entry, fde);
}

static void note_fde(struct reader *reader, const struct cfi_entry *entry, uint32_t *cie)
{
	const struct ehframe_input *input = reader->input;
	struct cfi_fde fde;
	int err = read_fde(reader, entry, cie, &fde);

	if (err == -ENOENT ||
	    (!err && (fde.start < input->code_start || fde.start >= input->code_limit))) {
		reader->stats.nr_skipped++;
		return;
	}
	if (err) {
		reader->stats.nr_damaged++;
		return;
	}
	if (reader->fdes.nr > 0 && fde.start < reader->fdes.at[reader->fdes.nr - 1].start)
		reader->unsorted = true;
	vec_push(&reader->fdes, (struct known_fde){fde.start, (uint32_t)entry->off, *cie});
}

static int compare_fdes(const void *a, const void *b)
{
	const struct known_fde *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->off < y->off ? -1 : x->off > y->off;
}

static void collect_fdes(struct reader *reader)
{
	const struct cfi_section *section = &reader->input->section;
	struct cfi_entry entry;
	uint32_t cie = 0;
	size_t off = 0;

	while (cfi_next(section, &off, &entry)) {
		if (entry.is_cie)
			note_cie(reader, &entry);
	}
	for (off = 0; cfi_next(section, &off, &entry);) {
		if (!entry.is_cie)
			note_fde(reader, &entry, &cie);
	}
	reader->stats.truncated = off != section->len_bytes;
	if (reader->unsorted)
		qsort(reader->fdes.at, reader->fdes.nr, sizeof(*reader->fdes.at), compare_fdes);
}

static void emit_gap(struct reader *reader)
{
	reader->emit(reader->ctx, &(struct unwind_row){reader->gap_start, {.kind = UNWIND_GAP}});
}

static void emit_fde(struct reader *reader, const struct known_cie *cie, const struct cfi_fde *fde)
{
	const struct ehframe_input *input = reader->input;

	if (reader->stats.nr_fdes > 0 && reader->gap_start < fde->start)
		emit_gap(reader);
	reader->stats.nr_fdes++;
	if (cfa_run(&input->section, &cie->cie, &cie->initial, fde, input->track_bx, reader->emit,
		    reader->ctx))
		reader->stats.nr_damaged++;
	reader->gap_start = fde->limit;
}

static void give_range(struct reader *reader, const struct known_cie *cie,
		       const struct cfi_fde *fde)
{
	(void)cie;
	reader->give(reader->ctx, fde->start, fde->limit);
}

/* Of FDEs with equal starts the first; each as far as the next one's start, at most. */
static void for_each_fde(struct reader *reader,
			 void (*take)(struct reader *reader, const struct known_cie *cie,
				      const struct cfi_fde *fde))
{
	const struct cfi_section *section = &reader->input->section;
	size_t nr = reader->fdes.nr, i, next;

	for (i = 0; i < nr; i = next) {
		const struct known_fde *known = &reader->fdes.at[i];
		const struct known_cie *cie = &reader->cies.at[known->cie];
		uint64_t limit = reader->input->code_limit;
		size_t off = known->off;
		struct cfi_entry entry;
		struct cfi_fde fde;

		for (next = i + 1; next < nr && known[next - i].start == known->start; next++)
			reader->stats.nr_skipped++;
		if (!cfi_next(section, &off, &entry) ||
		    cfi_fde_read(section, &cie->cie, &entry, &fde))
			continue; /* it was readable a moment ago */
		if (next < nr)
			limit = known[next - i].start;
		if (fde.limit > limit)
			fde.limit = limit;
		take(reader, cie, &fde);
	}
}

int ehframe_rows(const struct ehframe_input *input, cfa_row_fn emit, void *ctx,
		 struct ehframe_stats *stats)
{
	struct reader reader scoped(reader_release) = {
		.input = input,
		.emit = emit,
		.ctx = ctx,
	};

	if (input->section.len_bytes >= UINT32_MAX)
		return -EFBIG;
	if (input->section.len_bytes > 0) {
		collect_fdes(&reader);
		for_each_fde(&reader, emit_fde);
		if (reader.stats.nr_fdes > 0)
			emit_gap(&reader);
	}
	reader.stats.nr_cies = reader.cies.nr;
	if (stats)
		*stats = reader.stats;
	return 0;
}

int ehframe_ranges(const struct ehframe_input *input, ehframe_range_fn give, void *ctx)
{
	struct reader reader scoped(reader_release) = {.input = input, .give = give, .ctx = ctx};

	if (input->section.len_bytes >= UINT32_MAX)
		return -EFBIG;
	if (input->section.len_bytes > 0) {
		collect_fdes(&reader);
		for_each_fde(&reader, give_range);
	}
	return 0;
}

static void bound_code(const struct elf_file *file, struct ehframe_input *input)
{
	uint64_t start = UINT64_MAX, limit = 0;

	for (size_t i = 0; i < elf_file_nr_segments(file); i++) {
		const struct elf_segment *segment = elf_file_segment(file, i);
		uint64_t end = segment->elf_addr + segment->mem_bytes;

		if (!segment->executable || end <= segment->elf_addr)
			continue;
		start = segment->elf_addr < start ? segment->elf_addr : start;
		limit = end > limit ? end : limit;
	}
	input->code_start = start;
	input->code_limit = limit;
}

static uint64_t address_of_section(const struct elf_file *file, const char *name)
{
	struct elf_section section;

	return elf_file_section_named(file, name, &section) ? section.elf_addr : 0;
}

static bool use_section(const struct elf_file *file, const char *name, struct cfi_section *out)
{
	struct elf_section section;

	if (!elf_file_section(file, name, &section) || !section.bytes || section.len_bytes == 0 ||
	    section.flags & SHF_COMPRESSED)
		return false;
	out->bytes = section.bytes;
	out->len_bytes = section.len_bytes;
	out->elf_addr = section.elf_addr;
	return true;
}

/*
 * The file's bytes from an address to the end of its segment's. Not by elf_rawfile(): it reads all of
 * the file, and what libelf has read before is then never freed (0.188).
 */
static bool bytes_at(const struct elf_file *file, uint64_t elf_addr, struct cfi_section *out)
{
	for (size_t i = 0; i < elf_file_nr_segments(file); i++) {
		const struct elf_segment *segment = elf_file_segment(file, i);
		uint64_t skip = elf_addr - segment->elf_addr;
		Elf_Data *data;

		if (elf_addr < segment->elf_addr || skip >= segment->file_bytes ||
		    segment->file_off > INT64_MAX - skip)
			continue;
		data = elf_getdata_rawchunk(elf_file_libelf(file),
					    (int64_t)(segment->file_off + skip),
					    segment->file_bytes - skip, ELF_T_BYTE);
		if (!data)
			continue;
		out->bytes = data->d_buf;
		out->len_bytes = data->d_size;
		out->elf_addr = elf_addr;
		return true;
	}
	return false;
}

/*
 * Without section headers: .eh_frame_hdr is in the program headers and says where .eh_frame starts.
 * Its length nobody says: it ends with a zero word, and what follows is then another section's
 * bytes. Reading on there is harmless, as FDEs outside the code are dropped.
 */
static bool use_header(const struct elf_file *file, struct cfi_section *out)
{
	struct Elf *elf = elf_file_libelf(file);
	struct cfi_section header = {0};
	uint64_t addr;
	size_t nr;

	if (elf_getphdrnum(elf, &nr))
		return false;
	for (size_t i = 0; i < nr; i++) {
		GElf_Phdr phdr;

		if (gelf_getphdr(elf, (int)i, &phdr) && phdr.p_type == PT_GNU_EH_FRAME)
			return bytes_at(file, phdr.p_vaddr, &header) &&
			       !cfi_header_read(&header, &addr) && bytes_at(file, addr, out);
	}
	return false;
}

int ehframe_input_from_elf(const struct elf_file *file, struct ehframe_input *input)
{
	struct ehframe_input found = {0};
	struct cfi_section *section = &found.section;
	GElf_Ehdr ehdr;

	bound_code(file, &found);
	if (found.code_limit == 0)
		return -ENOENT;
	if (!use_section(file, ".eh_frame", section) && !use_header(file, section)) {
		if (!use_section(file, ".debug_frame", section))
			return -ENOENT;
		section->debug_frame = true;
	}
	if (gelf_getehdr(elf_file_libelf(file), &ehdr))
		found.entry = ehdr.e_entry;
	section->text_addr = address_of_section(file, ".text");
	section->data_addr = address_of_section(file, ".got.plt");
	if (section->data_addr == 0)
		section->data_addr = address_of_section(file, ".got");
	*input = found;
	return 0;
}
