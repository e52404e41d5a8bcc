// SPDX-License-Identifier: BSD-2-Clause
/*
 * The input is an ELF file, read as an image in memory and as a file: whatever it says, everything
 * that the room offers is asked for, and what it answers is touched.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "object/demangle.h"
#include "object/elf.h"
#include "object/functab.h"
#include "object/gotslots.h"
#include "object/symtab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile unsigned int sink;

static void touch(const void *bytes, size_t len)
{
	for (size_t i = 0; bytes && i < len; i++)
		sink += ((const unsigned char *)bytes)[i];
}

static void walk_segments(const struct elf_file *file)
{
	for (size_t i = 0; i < elf_file_nr_segments(file); i++) {
		const struct elf_segment *segment = elf_file_segment(file, i);
		uint64_t offs[] = {segment->file_off, segment->file_off - 1,
				   segment->file_off + segment->file_bytes - 1};

		for (size_t j = 0; j < 3; j++) {
			uint64_t addr, back;

			if (elf_file_addr(file, offs[j], &addr))
				continue;
			if (!elf_file_segment_at(file, offs[j]))
				abort();
			sink += elf_file_offset(file, addr, &back);
		}
	}
}

static void walk_sections(const struct elf_file *file)
{
	static const char *const names[] = {".text", ".eh_frame", ".symtab", "", ".shstrtab"};
	struct elf_section section;

	for (size_t i = 0; i < elf_file_nr_sections(file); i++)
		if (elf_file_section_at(file, i, &section))
			touch(section.bytes, section.len_bytes);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (elf_file_section(file, names[i], &section))
			touch(section.bytes, section.len_bytes);
	touch(elf_file_build_id(file), strlen(elf_file_build_id(file)));
}

static void walk_symbols(const struct elf_file *file)
{
	struct symtab *symtab = symtab_new(file);
	struct symbol symbol;
	bool is_ifunc;

	for (size_t i = 0; i < elf_file_nr_segments(file); i++) {
		const struct elf_segment *segment = elf_file_segment(file, i);

		for (uint64_t off = 0; off < segment->mem_bytes && off < 4096; off += 7) {
			if (!symtab_find(symtab, segment->elf_addr + off, &symbol))
				continue;
			if (segment->elf_addr + off - symbol.elf_addr >= symbol.len_bytes)
				abort();
			free(demangle(symbol.name));
		}
	}
	sink += symtab_lookup(symtab, "main", &symbol, &is_ifunc);
	symtab_free(symtab);
}

static void walk_functions(const struct elf_file *file)
{
	struct functab *functab = functab_new(file);

	for (size_t i = 0; i < elf_file_nr_segments(file); i++) {
		const struct elf_segment *segment = elf_file_segment(file, i);

		for (uint64_t off = 0; off < segment->mem_bytes && off < 4096; off += 7) {
			uint64_t start;

			if (functab_find(functab, segment->elf_addr + off, &start) &&
			    start > segment->elf_addr + off)
				abort();
		}
	}
	functab_free(functab);
}

static void walk_slots(const struct elf_file *file)
{
	struct gotslots slots = {0};

	gotslots_read(&slots, file);
	if (slots.all.nr > GOTSLOTS_MAX)
		abort();
	vec_for_each(&slots.all, slot)
		if (!slot->name_bytes || strlen(slot->name) != slot->name_bytes)
			abort();
	gotslots_release(&slots);
}

static void walk(struct elf_file *file)
{
	walk_segments(file);
	walk_sections(file);
	walk_symbols(file);
	walk_functions(file);
	walk_slots(file);
	elf_file_close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct elf_file *file;
	/* Of exactly this size, so that a byte too far is seen. */
	uint8_t *image = malloc(size ? size : 1);

	memcpy(image, data, size);
	if (!elf_file_open_memory(image, size, &file))
		walk(file);
	free(image);
	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	if (!elf_file_open(fd, &file))
		walk(file);
	return 0;
}
