/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A bounded reader of call frame information (.eh_frame and .debug_frame).
 *
 * Bytes in, entries out; unwind/cfa.h interprets the instructions in them. Nothing is copied: everything
 * points into the section, which has to outlive it. Nothing is trusted: a cursor that would leave its bounds
 * turns bad, stays bad, and yields zeros.
 */
#ifndef CPROF_OBJECT_CFI_H
#define CPROF_OBJECT_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A section to read, borrowed. elf_addr and the bases are addresses as the ELF file has them. */
struct cfi_section {
	const void *bytes;
	size_t len_bytes;
	uint64_t elf_addr;  /* of bytes[0]: what pc-relative pointers count from */
	uint64_t text_addr; /* DW_EH_PE_textrel counts from here; 0 where unknown */
	uint64_t data_addr; /* DW_EH_PE_datarel: .got on x86-64; 0 where unknown */
	bool debug_frame;   /* the DWARF form: CIE pointers are offsets, addresses are plain */
};

/* A position in a section; bad once a read went past end. */
struct cfi_cursor {
	const uint8_t *at, *end;
	bool bad;
};

/*
 * Read a little-endian number or a LEB128 number, or skip len_bytes. Past the end they return 0 and set
 * cursor->bad. Call cfi_uleb() rather than cfi_uleb_any().
 */
uint16_t cfi_u16(struct cfi_cursor *cursor);
uint32_t cfi_u32(struct cfi_cursor *cursor);
uint64_t cfi_u64(struct cfi_cursor *cursor);
uint64_t cfi_uleb_any(struct cfi_cursor *cursor);
int64_t cfi_sleb(struct cfi_cursor *cursor);
void cfi_skip(struct cfi_cursor *cursor, uint64_t len_bytes);
/* A cursor over the next len_bytes bytes; cursor moves past them. */
struct cfi_cursor cfi_block(struct cfi_cursor *cursor, uint64_t len_bytes);

/*
 * A pointer in the encoding of a DW_EH_PE byte. An encoding that needs memory (DW_EH_PE_indirect) or
 * a base that is not known here (funcrel) makes the cursor bad, as do "omit" and unknown encodings.
 */
uint64_t cfi_pointer(struct cfi_cursor *cursor, const struct cfi_section *section,
		     uint8_t encoding);

static inline uint8_t cfi_u8(struct cfi_cursor *cursor)
{
	if (cursor->at == cursor->end) {
		cursor->bad = true;
		return 0;
	}
	return *cursor->at++;
}

/* Bits above the 64th are dropped. One byte is by far the most common length. */
static inline uint64_t cfi_uleb(struct cfi_cursor *cursor)
{
	if (cursor->at < cursor->end && *cursor->at < 0x80)
		return *cursor->at++;
	return cfi_uleb_any(cursor);
}

struct cfi_entry {
	size_t off;	/* of the entry's length word in the section */
	bool is_cie;	/* else an FDE */
	size_t cie_off; /* FDE: offset of its CIE, inside the section but not checked further */
	struct cfi_cursor body; /* after the id or CIE pointer */
};

/*
 * Reads the entry at *off and moves *off to the next. Skips zero words (terminators, which `ld -r` and
 * crtend.o leave in the middle too).
 *
 * true: *entry is set. false: the section ends here, or a length leads out of it (then *off is not
 * the section's length).
 */
bool cfi_next(const struct cfi_section *section, size_t *off, struct cfi_entry *entry);

struct cfi_cie {
	size_t off;
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra_reg;
	uint8_t encoding;  /* of FDE addresses */
	bool has_fde_data; /* augmentation began with 'z': FDEs have a sized block to skip */
	bool signal;	   /* 'S' */
	struct cfi_cursor instructions;
};

/* Reads a CIE. -EBADMSG: damaged, or of an unknown augmentation or version. */
int cfi_cie_read(const struct cfi_section *section, const struct cfi_entry *entry,
		 struct cfi_cie *cie);

struct cfi_fde {
	uint64_t start, limit; /* elf_addr [start, limit), never empty */
	struct cfi_cursor instructions;
};

/* Reads an FDE of cie. -EBADMSG: damaged. -ENOENT: it describes no code (length 0). */
int cfi_fde_read(const struct cfi_section *section, const struct cfi_cie *cie,
		 const struct cfi_entry *entry, struct cfi_fde *fde);

/*
 * Where .eh_frame is, from the bytes of .eh_frame_hdr (PT_GNU_EH_FRAME): for files without section
 * headers. -EBADMSG: damaged, or another version.
 */
int cfi_header_read(const struct cfi_section *header, uint64_t *eh_frame_addr);

#endif
