// SPDX-License-Identifier: BSD-2-Clause
/*
 * An ELF file is three tables behind one header:
 *
 *	0	 e_phoff		    e_shoff
 *	| Ehdr | Phdr Phdr Phdr | bytes ... | Shdr Shdr Shdr Shdr ... |
 *		 |				 |
 *		 what the kernel maps:		 what the tools read: named ranges of the same
 *		 p_offset/p_filesz of the	 bytes (.symtab, .eh_frame). strip(1) takes some
 *		 file at p_vaddr/p_memsz	 away, sstrip the table itself
 *
 * (System V gABI, chapters 4 and 5.) The two overlap freely, and a hostile file may point either
 * anywhere. libelf checks offsets against the file size, but it allocates what a header asks for: a
 * sparse file of 4 GiB costs its owner nothing and can ask for 60 million sections, each some 200
 * bytes of libelf's memory. So the header is looked at here before libelf sees the file, and the
 * size of a section before it is read.
 *
 * Rejected: ELF_C_READ_MMAP, which is faster by one copy and dies of SIGBUS when the file shrinks
 * (a handler would have to be the whole program's, and libelf could not be unwound); reading the
 * file whole, which needs 100 MB to name one function of libLLVM; elf_strptr(), which inflates a
 * compressed string table to whatever size it claims.
 */
#include "object/elf.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fileview.h"
#include "base/vec.h"
#include "object/buildid.h"

/* The build-id is in one of the first notes, and these are short; else it is ignored. */
#define NOTES_MAX_BYTES (64u << 10)
#define NOTES_MAX_NR	64
#define NATIVE_CLASS	(sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32)
#define NATIVE_DATA	(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB)

_Static_assert(sizeof(void *) == 8, "the header check below reads Elf64_Ehdr");

struct elf_file {
	Elf *elf;
	vec_of(Elf *) before; /* of descriptors it had: what was read of those is borrowed */
	int fd;		      /* -1: image, or none */
	const void *image;
	size_t len_bytes; /* of the file when it was opened */
	uint16_t type;	  /* e_type */
	uint16_t machine; /* e_machine */
	size_t nr_sections;
	struct elf_section names; /* .shstrtab; bytes NULL if there is none */
	vec_of(struct elf_segment) segments;
	char build_id[BUILD_ID_HEX_BYTES];
};

static bool fits(uint64_t off, uint64_t len_bytes, uint64_t in_bytes)
{
	return off <= in_bytes && len_bytes <= in_bytes - off;
}

/* Reads len_bytes at off without libelf. */
static bool peek(const struct elf_file *file, uint64_t off, void *out, size_t len_bytes)
{
	if (!fits(off, len_bytes, file->len_bytes) || (file->fd < 0 && !file->image))
		return false;
	if (file->fd >= 0)
		return pread(file->fd, out, len_bytes, (off_t)off) == (ssize_t)len_bytes;
	memcpy(out, (const char *)file->image + off, len_bytes);
	return true;
}

/* Whether the file is safe for libelf. */
static bool header_is_sane(const struct elf_file *file)
{
	Elf64_Ehdr header;
	Elf64_Shdr first;
	uint64_t nr_sections;

	if (!peek(file, 0, &header, sizeof(header)) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != NATIVE_CLASS || header.e_ident[EI_DATA] != NATIVE_DATA ||
	    header.e_ident[EI_VERSION] != EV_CURRENT || header.e_version != EV_CURRENT)
		return false;
	nr_sections = header.e_shnum;
	/* More than 65,279 sections: the number is in the size of section 0. */
	if (!nr_sections && header.e_shoff) {
		if (!peek(file, header.e_shoff, &first, sizeof(first)))
			return false;
		nr_sections = first.sh_size;
	}
	if (nr_sections && header.e_shentsize != sizeof(Elf64_Shdr))
		return false;
	return nr_sections <= ELF_MAX_SECTIONS;
}

static void read_segments(struct elf_file *file)
{
	size_t nr = 0;

	if (elf_getphdrnum(file->elf, &nr) < 0)
		return;
	if (nr > ELF_MAX_SEGMENTS)
		nr = ELF_MAX_SEGMENTS;
	for (size_t i = 0; i < nr; i++) {
		struct elf_segment segment;
		GElf_Phdr phdr;

		if (!gelf_getphdr(file->elf, (int)i, &phdr) || phdr.p_type != PT_LOAD)
			continue;
		segment = (struct elf_segment){.elf_addr = phdr.p_vaddr,
					       .mem_bytes = phdr.p_memsz,
					       .file_off = phdr.p_offset,
					       .file_bytes = phdr.p_filesz,
					       .executable = phdr.p_flags & PF_X};
		if (segment_is_sane(&segment))
			vec_push(&file->segments, segment);
	}
}

static bool read_header(const struct elf_file *file, size_t i, GElf_Shdr *shdr)
{
	Elf_Scn *scn = i < file->nr_sections ? elf_getscn(file->elf, i) : NULL;

	return scn && gelf_getshdr(scn, shdr);
}

static bool build_id_at(struct elf_file *file, uint64_t off, uint64_t len_bytes)
{
	char *notes scoped(freep) = NULL;

	if (len_bytes > NOTES_MAX_BYTES)
		return false;
	notes = xmalloc(len_bytes);
	return peek(file, off, notes, len_bytes) &&
	       buildid_of_notes(notes, len_bytes, file->build_id);
}

/* Reads the build-id from the sections, which a separate debug file keeps, or else from the segments. */
static void read_build_id(struct elf_file *file)
{
	size_t nr_segments = 0, nr_read = 0;

	for (size_t i = 0; i < file->nr_sections && nr_read < NOTES_MAX_NR; i++) {
		GElf_Shdr shdr;

		if (!read_header(file, i, &shdr) || shdr.sh_type != SHT_NOTE)
			continue;
		nr_read++;
		if (build_id_at(file, shdr.sh_offset, shdr.sh_size))
			return;
	}
	if (elf_getphdrnum(file->elf, &nr_segments) < 0)
		return;
	for (size_t i = 0; i < nr_segments && i < ELF_MAX_SEGMENTS; i++) {
		GElf_Phdr phdr;

		if (gelf_getphdr(file->elf, (int)i, &phdr) && phdr.p_type == PT_NOTE &&
		    build_id_at(file, phdr.p_offset, phdr.p_filesz))
			return;
	}
}

/* The tables of a file whose fd or image and length are set. Takes file over. */
static int open_tables(struct elf_file *opened, struct elf_file **file)
{
	size_t names = 0;

	elf_version(EV_CURRENT);
	if (header_is_sane(opened))
		opened->elf = opened->fd >= 0
				      ? elf_begin(opened->fd, ELF_C_READ, NULL)
				      : elf_memory((char *)opened->image, opened->len_bytes);
	if (!opened->elf || elf_kind(opened->elf) != ELF_K_ELF ||
	    elf_getshdrnum(opened->elf, &opened->nr_sections) < 0) {
		elf_file_close(opened);
		return -ENOEXEC;
	}
	opened->type = elf64_getehdr(opened->elf)->e_type;
	opened->machine = elf64_getehdr(opened->elf)->e_machine;
	if (!elf_getshdrstrndx(opened->elf, &names))
		elf_file_section_at(opened, names, &opened->names);
	read_segments(opened);
	read_build_id(opened);
	*file = opened;
	return 0;
}

int elf_file_open(int fd, struct elf_file **file)
{
	struct elf_file *opened;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOEXEC;
	opened = xcalloc(1, sizeof(*opened));
	opened->fd = fd;
	opened->len_bytes = (size_t)st.st_size;
	return open_tables(opened, file);
}

int elf_file_open_memory(const void *image, size_t len_bytes, struct elf_file **file)
{
	struct elf_file *opened = xcalloc(1, sizeof(*opened));

	opened->fd = -1;
	opened->image = image;
	opened->len_bytes = len_bytes;
	return open_tables(opened, file);
}

int elf_file_reopen(const struct elf_file *file, struct elf_file **again)
{
	if (file->fd >= 0)
		return elf_file_open(file->fd, again);
	return file->image ? elf_file_open_memory(file->image, file->len_bytes, again) : -EBADF;
}

void elf_file_detach(struct elf_file *file)
{
	if (file->image)
		return;
	elf_cntl(file->elf, ELF_C_FDDONE); /* libelf must not read what has the number next */
	file->fd = -1;
}

bool elf_file_is_attached(const struct elf_file *file)
{
	return file->image || file->fd >= 0;
}

int elf_file_attach(struct elf_file *file, int fd)
{
	struct elf_file *again;
	int err;

	if (elf_file_is_attached(file))
		return 0;
	err = elf_file_open(fd, &again);
	if (err)
		return -ESTALE;
	if (again->len_bytes != file->len_bytes || again->nr_sections != file->nr_sections ||
	    strcmp(again->build_id, file->build_id) != 0) {
		elf_file_close(again);
		return -ESTALE;
	}
	vec_push(&file->before, file->elf);
	file->elf = again->elf;
	file->fd = fd;
	again->elf = NULL;
	elf_file_close(again);
	return 0;
}

void elf_file_close(struct elf_file *file)
{
	if (!file)
		return;
	elf_end(file->elf);
	vec_for_each(&file->before, elf)
		elf_end(*elf);
	vec_release(&file->before);
	vec_release(&file->segments);
	free(file);
}

size_t elf_file_nr_segments(const struct elf_file *file)
{
	return file->segments.nr;
}

const struct elf_segment *elf_file_segment(const struct elf_file *file, size_t i)
{
	return i < file->segments.nr ? &file->segments.at[i] : NULL;
}

bool elf_file_is_linked(const struct elf_file *file)
{
	return file->type == ET_DYN || file->type == ET_EXEC;
}

const struct arch *elf_file_arch(const struct elf_file *file)
{
	return arch_of_machine(file->machine);
}

struct segments elf_file_segments(const struct elf_file *file)
{
	return (struct segments){file->segments.at, file->segments.nr};
}

const struct elf_segment *elf_file_segment_at(const struct elf_file *file, uint64_t file_off)
{
	return segments_at(elf_file_segments(file), file_off);
}

int elf_file_addr(const struct elf_file *file, uint64_t file_off, uint64_t *elf_addr)
{
	return segments_addr(elf_file_segments(file), file_off, elf_addr);
}

int elf_file_offset(const struct elf_file *file, uint64_t elf_addr, uint64_t *file_off)
{
	return segments_offset(elf_file_segments(file), elf_addr, file_off);
}

bool elf_file_read(const struct elf_file *file, uint64_t elf_addr, void *out, size_t len_bytes)
{
	uint64_t off;

	return !elf_file_offset(file, elf_addr, &off) && peek(file, off, out, len_bytes);
}

size_t elf_file_nr_sections(const struct elf_file *file)
{
	return file->nr_sections;
}

static struct elf_section section_of(const GElf_Shdr *shdr)
{
	return (struct elf_section){.len_bytes = shdr->sh_size,
				    .elf_addr = shdr->sh_addr,
				    .file_off = shdr->sh_offset,
				    .flags = shdr->sh_flags,
				    .entry_bytes = shdr->sh_entsize,
				    .type = shdr->sh_type,
				    .link = shdr->sh_link};
}

bool elf_file_section_header(const struct elf_file *file, size_t i, struct elf_section *section)
{
	GElf_Shdr shdr;

	if (!read_header(file, i, &shdr))
		return false;
	*section = section_of(&shdr);
	return true;
}

bool elf_file_section_at(const struct elf_file *file, size_t i, struct elf_section *section)
{
	GElf_Shdr shdr;
	Elf_Data *data;

	if (!read_header(file, i, &shdr))
		return false;
	*section = section_of(&shdr);
	if (shdr.sh_type == SHT_NOBITS || shdr.sh_size > SECTION_MAX_BYTES ||
	    !fits(shdr.sh_offset, shdr.sh_size, file->len_bytes))
		return true;
	/* Raw: no conversion, no inflating; the class and the byte order are ours. */
	data = elf_rawdata(elf_getscn(file->elf, i), NULL);
	if (data && data->d_size >= shdr.sh_size)
		section->bytes = data->d_buf;
	return true;
}

const void *elf_file_view(const struct elf_file *file, const struct elf_section *section)
{
	if (file->fd < 0 || section->type == SHT_NOBITS ||
	    !fits(section->file_off, section->len_bytes, file->len_bytes))
		return NULL;
	return fileview_open(file->fd, section->file_off, section->len_bytes);
}

size_t elf_file_find_section(const struct elf_file *file, const char *name)
{
	size_t name_bytes = strlen(name) + 1;

	for (size_t i = 0; i < file->nr_sections && file->names.bytes; i++) {
		GElf_Shdr shdr;

		if (read_header(file, i, &shdr) &&
		    fits(shdr.sh_name, name_bytes, file->names.len_bytes) &&
		    !memcmp((const char *)file->names.bytes + shdr.sh_name, name, name_bytes))
			return i;
	}
	return file->nr_sections;
}

bool elf_file_section(const struct elf_file *file, const char *name, struct elf_section *section)
{
	return elf_file_section_at(file, elf_file_find_section(file, name), section);
}

bool elf_file_section_named(const struct elf_file *file, const char *name,
			    struct elf_section *section)
{
	return elf_file_section_header(file, elf_file_find_section(file, name), section);
}

const char *elf_file_build_id(const struct elf_file *file)
{
	return file->build_id;
}

struct Elf *elf_file_libelf(const struct elf_file *file)
{
	return file->elf;
}
