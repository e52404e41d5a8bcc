/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An ELF file opened from a descriptor: its segments, sections and build-id, with every bound checked.
 *
 * Anybody may have written the file, so nothing in it is trusted: every offset and size is checked against
 * the file before it is used, and counts are capped. libelf does the reading; it never opens a path. This
 * room knows no pid, no path and no BPF.
 *
 * Nothing is mapped here: the owner of a mapped file can truncate it, and the next access to the lost pages
 * raises SIGBUS. So libelf reads (ELF_C_READ) one section at a time, only those that are asked for, into
 * memory that lives until elf_file_close(). To use large sections once, open a second elf_file on the same
 * descriptor (elf_file_reopen()) and close it afterwards, or look at them where they are (elf_file_view()).
 */
#ifndef CPROF_OBJECT_ELF_H
#define CPROF_OBJECT_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "object/arch.h"
#include "object/segments.h"

#define SECTION_MAX_BYTES (256u << 20) /* larger sections are not read: a sparse file is cheap */
#define ELF_MAX_SECTIONS  65536	       /* files with more are refused: -ENOEXEC */
/*
 * bytes is borrowed from the elf_file; NULL for SHT_NOBITS, out of bounds, more than
 * SECTION_MAX_BYTES or unreadable, whatever len_bytes (sh_size) says. It may be unaligned: memcpy.
 */
struct elf_section {
	const void *bytes;
	size_t len_bytes;
	uint64_t elf_addr;
	uint64_t file_off;
	uint64_t flags;	      /* sh_flags */
	uint64_t entry_bytes; /* sh_entsize */
	uint32_t type;	      /* sh_type */
	uint32_t link;	      /* sh_link */
};

struct elf_file;

/*
 * fd stays the caller's, must stay open while the elf_file lives, and needs no particular offset.
 * -ENOEXEC: not an ELF file, of another class or byte order than this machine, or damaged.
 */
int elf_file_open(int fd, struct elf_file **file);
/* The same for an image in memory (the vdso), borrowed until elf_file_close(). */
int elf_file_open_memory(const void *image, size_t len_bytes, struct elf_file **file);
/* A second elf_file on the same descriptor or image, which both borrow. The same errors. */
int elf_file_reopen(const struct elf_file *file, struct elf_file **again);
void elf_file_close(struct elf_file *file); /* NULL is fine */
/*
 * Lets go of the descriptor: what was read of the file so far stays, further sections have no bytes, and
 * elf_file_reopen() fails with -EBADF. Then goes on with another descriptor of the same file. -ESTALE: it is another
 * file, and the elf_file stays without a descriptor. Nothing is done to an image in memory.
 */
void elf_file_detach(struct elf_file *file);
int elf_file_attach(struct elf_file *file, int fd);
bool elf_file_is_attached(const struct elf_file *file); /* or an image */

/* The PT_LOADs, in the order of the program headers: their number, and the i-th, borrowed. */
size_t elf_file_nr_segments(const struct elf_file *file);
const struct elf_segment *elf_file_segment(const struct elf_file *file, size_t i);
/* All of them, for segments_at() and similar functions. Borrowed. */
struct segments elf_file_segments(const struct elf_file *file);
/* Whether it is ET_EXEC or ET_DYN: in others (.o, .ko, core) a symbol's value is not an address. */
bool elf_file_is_linked(const struct elf_file *file);
/* What its e_machine says. NULL: a machine that cprof does not know. */
const struct arch *elf_file_arch(const struct elf_file *file);

/*
 * The PT_LOAD, executable if there is one, that holds file_off; a mapping begins on a page, so up to
 * a page before p_offset counts too. NULL: none.
 */
const struct elf_segment *elf_file_segment_at(const struct elf_file *file, uint64_t file_off);

/* Turns a file offset into an ELF address. -ENOENT: it is in no segment. */
int elf_file_addr(const struct elf_file *file, uint64_t file_off, uint64_t *elf_addr);
/* Turns an ELF address into a file offset. -ENOENT: no segment has it in the file. */
int elf_file_offset(const struct elf_file *file, uint64_t elf_addr, uint64_t *file_off);

/* Reads len_bytes at an ELF address, which is not relocated. false: they are not in the file; out may have changed. */
bool elf_file_read(const struct elf_file *file, uint64_t elf_addr, void *out, size_t len_bytes);

/* The first section of this name. false: there is none. Compressed sections are not decompressed. */
bool elf_file_section(const struct elf_file *file, const char *name, struct elf_section *section);
/* The same, but bytes stays NULL and nothing is read: .text may be 50 MB. */
bool elf_file_section_named(const struct elf_file *file, const char *name,
			    struct elf_section *section);
/*
 * Sections by index, 0 to elf_file_nr_sections() - 1. false: there is none. elf_file_section_header() leaves
 * bytes NULL and reads nothing.
 */
size_t elf_file_nr_sections(const struct elf_file *file);
/* The index of the first section of this name; elf_file_nr_sections() if there is none. */
size_t elf_file_find_section(const struct elf_file *file, const char *name);
bool elf_file_section_at(const struct elf_file *file, size_t i, struct elf_section *section);
bool elf_file_section_header(const struct elf_file *file, size_t i, struct elf_section *section);

/*
 * The bytes of a section whose header was read, where the kernel keeps them (base/fileview.h, which says when), for
 * fileview_close(). NULL: they are not in the file, or there can be no view; an image has none.
 */
const void *elf_file_view(const struct elf_file *file, const struct elf_section *section);

/* Lower-case hex of the GNU build-id note, "" if there is none. Borrowed. */
const char *elf_file_build_id(const struct elf_file *file);

/* libelf's handle, for the other files of this room only. Borrowed. */
struct Elf;
struct Elf *elf_file_libelf(const struct elf_file *file);

#endif
