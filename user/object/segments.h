/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The segments of an ELF file (its PT_LOADs), and how they map file offsets to addresses and back.
 *
 * Plain arithmetic on numbers that were read elsewhere, so that a process which never reads the file itself can do it.
 * The numbers may be anything; sums do not wrap if segment_is_sane().
 */
#ifndef CPROF_OBJECT_SEGMENTS_H
#define CPROF_OBJECT_SEGMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_MAX_SEGMENTS 1170 /* 64 KiB of program headers, as in the kernel; the rest is ignored */

struct elf_segment {	     /* a PT_LOAD */
	uint64_t elf_addr;   /* p_vaddr */
	uint64_t mem_bytes;  /* p_memsz */
	uint64_t file_off;   /* p_offset */
	uint64_t file_bytes; /* p_filesz */
	bool executable;
};

/* Borrowed. */
struct segments {
	const struct elf_segment *at;
	size_t nr;
};

/* False: the kernel would refuse it, and sums of its fields may wrap. */
bool segment_is_sane(const struct elf_segment *segment);

/*
 * The segment, executable if there is one, that holds file_off; a mapping begins on a page, so up to
 * a page before p_offset counts too. NULL: none. Pages are those of this machine's kernel: 4, 16 or 64 KiB.
 */
const struct elf_segment *segments_at(struct segments segments, uint64_t file_off);
/* The same, with pages of this size. */
const struct elf_segment *segments_at_in_pages(struct segments segments, uint64_t file_off,
					       uint64_t page_bytes);

/* Turns a file offset into an ELF address. -ENOENT: it is in no segment. */
int segments_addr(struct segments segments, uint64_t file_off, uint64_t *elf_addr);
/* Turns an ELF address into a file offset. -ENOENT: no segment has it in the file. */
int segments_offset(struct segments segments, uint64_t elf_addr, uint64_t *file_off);

#endif
