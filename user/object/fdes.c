// SPDX-License-Identifier: BSD-2-Clause
/*
 * The entries are walked twice. The first walk reads each CIE once, so that a hostile section cannot make
 * us read one again for each FDE. They come out sorted by offset, and are searched for that way (a hash
 * over offsets that the section chooses could be made to collide). The second walk notes where each FDE is
 * and what it starts at. FDEs of one compilation share a CIE, so the last one used is tried first.
 */
#include "object/fdes.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>

/* Linkers merge equal CIEs: a few dozen are many. FDEs of any beyond this count as damaged. */
#define MAX_CIES (1u << 16)

void fdes_release(struct fdes *fdes)
{
	vec_release(&fdes->cies);
	vec_release(&fdes->list);
}

static void note_cie(struct fdes *fdes, const struct cfi_entry *entry)
{
	struct fde_cie known = {0};

	if (fdes->cies.nr == MAX_CIES)
		return;
	known.damaged = cfi_cie_read(&fdes->source.section, entry, &known.cie) != 0;
	known.cie.off = entry->off;
	vec_push(&fdes->cies, known);
}

static bool find_cie(const struct fdes *fdes, size_t off, uint32_t *position)
{
	size_t i;

	if (fdes->cies.nr > 0 && fdes->cies.at[*position].cie.off == off)
		return true;
	i = vec_partition(&fdes->cies, known, known->cie.off < off);
	if (i == fdes->cies.nr || fdes->cies.at[i].cie.off != off)
		return false;
	*position = (uint32_t)i;
	return true;
}

/* *cie is the position of the CIE of the FDE before, and becomes that of this one. */
static int read_fde(struct fdes *fdes, const struct cfi_entry *entry, uint32_t *cie,
		    struct cfi_fde *fde)
{
	const struct fde_cie *known;

	if (entry->body.bad || !find_cie(fdes, entry->cie_off, cie))
		return -EBADMSG;
	known = &fdes->cies.at[*cie];
	if (known->damaged)
		return -EBADMSG;
	return cfi_fde_read(&fdes->source.section, &known->cie, entry, fde);
}

/* true: its start is below that of the FDE before it. */
static bool note_fde(struct fdes *fdes, const struct cfi_entry *entry, uint32_t *cie)
{
	const struct fde_source *source = &fdes->source;
	struct cfi_fde fde;
	int err = read_fde(fdes, entry, cie, &fde);
	bool descends;

	if (err == -ENOENT ||
	    (!err && (fde.start < source->code_start || fde.start >= source->code_limit))) {
		fdes->nr_skipped++;
		return false;
	}
	if (err) {
		fdes->nr_damaged++;
		return false;
	}
	descends = fdes->list.nr > 0 && fde.start < fdes->list.at[fdes->list.nr - 1].start;
	vec_push(&fdes->list, (struct fde_place){fde.start, (uint32_t)entry->off, *cie});
	return descends;
}

static int compare_places(const void *a, const void *b)
{
	const struct fde_place *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->off < y->off ? -1 : x->off > y->off;
}

int fdes_read(const struct fde_source *source, struct fdes *fdes)
{
	const struct cfi_section *section = &source->section;
	bool is_unsorted = false;
	struct cfi_entry entry;
	uint32_t cie = 0;
	size_t off = 0;

	if (section->len_bytes >= UINT32_MAX)
		return -EFBIG;
	fdes->source = *source;
	while (cfi_next(section, &off, &entry)) {
		if (entry.is_cie)
			note_cie(fdes, &entry);
	}
	for (off = 0; cfi_next(section, &off, &entry);) {
		if (!entry.is_cie)
			is_unsorted |= note_fde(fdes, &entry, &cie);
	}
	fdes->truncated = off != section->len_bytes;
	if (is_unsorted)
		qsort(fdes->list.at, fdes->list.nr, sizeof(*fdes->list.at), compare_places);
	return 0;
}

/* Calls take for each FDE, cut at the start of the next one. If several have the same start, only for the first. */
void fdes_each(struct fdes *fdes, fde_fn take, void *ctx)
{
	const struct cfi_section *section = &fdes->source.section;
	size_t nr = fdes->list.nr, i, next;

	for (i = 0; i < nr; i = next) {
		const struct fde_place *place = &fdes->list.at[i];
		uint64_t limit = fdes->source.code_limit;
		size_t off = place->off;
		struct cfi_entry entry;
		struct cfi_fde fde;

		for (next = i + 1; next < nr && place[next - i].start == place->start; next++)
			fdes->nr_skipped++;
		if (!cfi_next(section, &off, &entry) ||
		    cfi_fde_read(section, &fdes->cies.at[place->cie].cie, &entry, &fde))
			continue; /* it was readable a moment ago */
		if (next < nr)
			limit = place[next - i].start;
		if (fde.limit > limit)
			fde.limit = limit;
		take(ctx, place->cie, &fde);
	}
}

static void bound_code(const struct elf_file *file, struct fde_source *source)
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
	source->code_start = start;
	source->code_limit = limit;
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
 * No header says how long it is: it ends with a zero word, and what follows is then another section's
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

int fde_source_from_elf(const struct elf_file *file, struct fde_source *source)
{
	struct fde_source found = {0};
	struct cfi_section *section = &found.section;

	bound_code(file, &found);
	if (found.code_limit == 0)
		return -ENOENT;
	if (!use_section(file, ".eh_frame", section) && !use_header(file, section)) {
		if (!use_section(file, ".debug_frame", section))
			return -ENOENT;
		section->debug_frame = true;
	}
	section->text_addr = address_of_section(file, ".text");
	section->data_addr = address_of_section(file, ".got.plt");
	if (section->data_addr == 0)
		section->data_addr = address_of_section(file, ".got");
	*source = found;
	return 0;
}
