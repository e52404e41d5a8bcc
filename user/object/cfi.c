/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The format (DWARF 5, section 6.4.1; for .eh_frame, LSB core 5.0, section 10.6):
 *
 *	length u32 | id u32 | body ...        32-bit form
 *	ffffffff | length u64 | id | body     64-bit form; id is u64 in .debug_frame, u32 in .eh_frame
 *
 * An entry is a CIE (what many functions have in common) or an FDE (one function):
 *
 *	              .eh_frame                             .debug_frame
 *	CIE           id 0                                  id all ones
 *	FDE           id = own position - CIE's position    id = the CIE's offset in the section
 *	addresses     encoded as the CIE's 'R' says         plain, 8 bytes
 *	length 0      a terminator                          (padding)
 *
 * .eh_frame_hdr with its sorted table is not used: the entries are walked anyway, the table may be
 * missing or contradict the section, and sorting 100,000 addresses costs less than checking it.
 */
#include "object/cfi.h"

#include <errno.h>
#include <string.h>

/* DW_EH_PE_*: LSB core 5.0, section 10.5. */
enum {
	PE_ABSPTR = 0x00,
	PE_ULEB128 = 0x01,
	PE_UDATA2 = 0x02,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SLEB128 = 0x09,
	PE_SDATA2 = 0x0a,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_FORMAT_MASK = 0x0f,
	PE_PCREL = 0x10,
	PE_TEXTREL = 0x20,
	PE_DATAREL = 0x30,
	PE_ALIGNED = 0x50,
	PE_BASE_MASK = 0x70,
	PE_INDIRECT = 0x80,
	PE_OMIT = 0xff,
};

static void read_bytes(struct cfi_cursor *cursor, void *value, size_t len_bytes)
{
	if ((size_t)(cursor->end - cursor->at) < len_bytes) {
		cursor->bad = true;
		cursor->at = cursor->end;
		memset(value, 0, len_bytes);
		return;
	}
	memcpy(value, cursor->at, len_bytes);
	cursor->at += len_bytes;
}

uint16_t cfi_u16(struct cfi_cursor *cursor)
{
	uint16_t value;

	read_bytes(cursor, &value, sizeof(value));
	return value;
}

uint32_t cfi_u32(struct cfi_cursor *cursor)
{
	uint32_t value;

	read_bytes(cursor, &value, sizeof(value));
	return value;
}

uint64_t cfi_u64(struct cfi_cursor *cursor)
{
	uint64_t value;

	read_bytes(cursor, &value, sizeof(value));
	return value;
}

/* The bits of a LEB128 number, and the last byte, which has the sign. */
static uint64_t read_leb(struct cfi_cursor *cursor, unsigned *nr_bits, uint8_t *last)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = cfi_u8(cursor);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += shift < 64 ? 7 : 0;
	} while (byte & 0x80);
	*nr_bits = shift;
	*last = byte;
	return value;
}

uint64_t cfi_uleb_any(struct cfi_cursor *cursor)
{
	unsigned nr_bits;
	uint8_t last;

	return read_leb(cursor, &nr_bits, &last);
}

int64_t cfi_sleb(struct cfi_cursor *cursor)
{
	unsigned nr_bits;
	uint8_t last;
	uint64_t value = read_leb(cursor, &nr_bits, &last);

	if (nr_bits < 64 && last & 0x40)
		value |= ~0ull << nr_bits;
	return (int64_t)value;
}

struct cfi_cursor cfi_block(struct cfi_cursor *cursor, uint64_t len_bytes)
{
	struct cfi_cursor block = {.at = cursor->at};

	if (len_bytes > (size_t)(cursor->end - cursor->at)) {
		cursor->bad = true;
		len_bytes = 0;
		cursor->at = block.at = cursor->end;
	}
	cursor->at += len_bytes;
	block.end = cursor->at;
	return block;
}

void cfi_skip(struct cfi_cursor *cursor, uint64_t len_bytes)
{
	cfi_block(cursor, len_bytes);
}

static uint64_t address_of(const struct cfi_section *section, const uint8_t *at)
{
	return section->elf_addr + (uint64_t)(at - (const uint8_t *)section->bytes);
}

static uint64_t read_format(struct cfi_cursor *cursor, uint8_t encoding)
{
	switch (encoding & PE_FORMAT_MASK) {
	case PE_ABSPTR:
	case PE_UDATA8:
	case PE_SDATA8:
		return cfi_u64(cursor);
	case PE_ULEB128:
		return cfi_uleb(cursor);
	case PE_SLEB128:
		return (uint64_t)cfi_sleb(cursor);
	case PE_UDATA2:
		return cfi_u16(cursor);
	case PE_SDATA2:
		return (uint64_t)(int16_t)cfi_u16(cursor);
	case PE_UDATA4:
		return cfi_u32(cursor);
	case PE_SDATA4:
		return (uint64_t)(int32_t)cfi_u32(cursor);
	}
	cursor->bad = true;
	return 0;
}

uint64_t cfi_pointer(struct cfi_cursor *cursor, const struct cfi_section *section, uint8_t encoding)
{
	uint64_t base = 0;

	if (encoding & PE_INDIRECT) { /* "omit" has the bit too */
		cursor->bad = true;
		return 0;
	}
	switch (encoding & PE_BASE_MASK) {
	case 0:
		break;
	case PE_PCREL:
		base = address_of(section, cursor->at);
		break;
	case PE_TEXTREL:
		base = section->text_addr;
		break;
	case PE_DATAREL:
		base = section->data_addr;
		break;
	case PE_ALIGNED:
		cfi_skip(cursor, -address_of(section, cursor->at) & 7);
		return cfi_u64(cursor);
	default:
		cursor->bad = true;
		return 0;
	}
	return base + read_format(cursor, encoding);
}

bool cfi_next(const struct cfi_section *section, size_t *off, struct cfi_entry *entry)
{
	const uint8_t *bytes = section->bytes;
	struct cfi_cursor cursor = {.at = bytes + *off, .end = bytes + section->len_bytes};
	uint64_t length = 0, id, id_off;
	bool wide = false;

	while (length == 0) {
		*off = (size_t)(cursor.at - bytes);
		if ((size_t)(cursor.end - cursor.at) < sizeof(uint32_t)) {
			*off = section->len_bytes;
			return false;
		}
		length = cfi_u32(&cursor);
	}
	entry->off = *off;
	if (length == UINT32_MAX) {
		length = cfi_u64(&cursor);
		wide = section->debug_frame;
	}
	entry->body = cfi_block(&cursor, length);
	if (cursor.bad)
		return false;
	*off = (size_t)(cursor.at - bytes);

	id_off = (uint64_t)(entry->body.at - bytes);
	id = wide ? cfi_u64(&entry->body) : cfi_u32(&entry->body);
	if (section->debug_frame) {
		entry->is_cie = id == (wide ? UINT64_MAX : UINT32_MAX);
		entry->cie_off = id;
	} else {
		entry->is_cie = id == 0;
		entry->cie_off = id_off - id; /* what is out of range wraps, and fails below */
	}
	if (!entry->is_cie && entry->cie_off >= section->len_bytes)
		entry->body.bad = true;
	return true;
}

/*
 * The augmentation string names what stands in the augmentation data, letter by letter, so that an
 * unknown letter hides what follows it: fatal, since the encoding of addresses may be next.
 */
static int read_augmentation(const struct cfi_section *section, const char *string,
			     struct cfi_cursor *body, struct cfi_cie *cie)
{
	struct cfi_cursor data = {.at = body->end, .end = body->end};

	if (*string == 'z') {
		data = cfi_block(body, cfi_uleb(body));
		cie->has_fde_data = true;
		string++;
	}
	for (; *string; string++) {
		switch (*string) {
		case 'R':
			cie->encoding = cfi_u8(&data);
			break;
		case 'L':
			cfi_u8(&data);
			break;
		case 'P': /* the personality, usually indirect: skipped, not followed */
			cfi_pointer(&data, section, cfi_u8(&data) & ~PE_INDIRECT);
			break;
		case 'S':
			cie->signal = true;
			break;
		case 'B': /* aarch64: pointer authentication with the B key */
		case 'G': /* aarch64: the frame's memory is tagged */
			break;
		default:
			return -EBADMSG;
		}
	}
	return data.bad || body->bad ? -EBADMSG : 0;
}

int cfi_cie_read(const struct cfi_section *section, const struct cfi_entry *entry,
		 struct cfi_cie *cie)
{
	struct cfi_cie read = {.off = entry->off, .encoding = PE_ABSPTR};
	struct cfi_cursor body = entry->body;
	const char *augmentation;
	uint8_t version;
	size_t len;

	if (!entry->is_cie || body.bad)
		return -EBADMSG;
	version = cfi_u8(&body);
	if (version != 1 && version != 3 && version != 4)
		return -EBADMSG;
	augmentation = (const char *)body.at;
	len = strnlen(augmentation, (size_t)(body.end - body.at));
	cfi_skip(&body, len + 1);
	if (body.bad)
		return -EBADMSG;
	if (!strcmp(augmentation, "eh")) { /* GCC 2: the address of its exception table */
		cfi_u64(&body);
		augmentation = "";
	}
	if (version == 4 && (cfi_u8(&body) != 8 || cfi_u8(&body) != 0))
		return -EBADMSG; /* address size, segment selector size */
	read.code_align = cfi_uleb(&body);
	read.data_align = cfi_sleb(&body);
	read.ra_reg = version == 1 ? cfi_u8(&body) : cfi_uleb(&body);
	if (read_augmentation(section, augmentation, &body, &read) || body.bad)
		return -EBADMSG;
	read.instructions = body;
	*cie = read;
	return 0;
}

int cfi_fde_read(const struct cfi_section *section, const struct cfi_cie *cie,
		 const struct cfi_entry *entry, struct cfi_fde *fde)
{
	struct cfi_cursor body = entry->body;
	uint64_t start = cfi_pointer(&body, section, cie->encoding);
	uint64_t len_bytes = read_format(&body, cie->encoding);

	if (cie->has_fde_data)
		cfi_skip(&body, cfi_uleb(&body));
	if (body.bad || start + len_bytes < start)
		return -EBADMSG;
	if (len_bytes == 0)
		return -ENOENT;
	*fde = (struct cfi_fde){
		.start = start,
		.limit = start + len_bytes,
		.instructions = body,
	};
	return 0;
}

/* version u8 | encodings of eh_frame_ptr, fde_count, table: u8 each | eh_frame_ptr | ... */
int cfi_header_read(const struct cfi_section *header, uint64_t *eh_frame_addr)
{
	const uint8_t *bytes = header->bytes;
	struct cfi_cursor cursor = {.at = bytes, .end = bytes + header->len_bytes};
	uint8_t version = cfi_u8(&cursor), encoding = cfi_u8(&cursor);
	uint64_t addr;

	cfi_u16(&cursor);
	addr = cfi_pointer(&cursor, header, encoding);
	if (cursor.bad || version != 1)
		return -EBADMSG;
	*eh_frame_addr = addr;
	return 0;
}
