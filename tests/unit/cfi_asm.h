/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A small assembler for sections of call frame information, for tests that need what no compiler
 * would write.
 *
 *	struct cfi_asm as = { 0 };
 *	size_t cie = asm_cie(&as, &(struct asm_cie){ .augmentation = "zR", .data = "\x04" , 1 });
 *	asm_fde(&as, cie, 0x1000, 0x10, INSNS(0x41, 0x0e, 16));
 */
#ifndef CPROF_TESTS_CFI_ASM_H
#define CPROF_TESTS_CFI_ASM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cfi_asm {
	uint8_t bytes[1 << 16];
	size_t len;
	bool debug_frame;
	bool wide; /* 64-bit lengths */
};

/* Instructions as an argument pair: bytes and how many. */
#define INSNS(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})
#define NO_INSNS   NULL, 0

static inline void asm_bytes(struct cfi_asm *as, const void *bytes, size_t len)
{
	if (len > 0)
		memcpy(as->bytes + as->len, bytes, len);
	as->len += len;
}

static inline void asm_uint(struct cfi_asm *as, uint64_t value, size_t len)
{
	asm_bytes(as, &value, len);
}

/* The start of an entry; asm_end() fills in its length. */
static inline size_t asm_begin(struct cfi_asm *as)
{
	size_t off = as->len;

	asm_uint(as, as->wide ? UINT32_MAX : 0, 4);
	if (as->wide)
		asm_uint(as, 0, 8);
	return off;
}

static inline void asm_end(struct cfi_asm *as, size_t off)
{
	size_t at = off + (as->wide ? 4 : 0), len_len = as->wide ? 8 : 4;
	uint64_t len = as->len - at - len_len;

	memcpy(as->bytes + at, &len, len_len);
}

struct asm_cie {
	const char *augmentation;
	const char *data; /* augmentation data, where it begins with 'z' */
	size_t data_len;
	uint8_t version;    /* 0: 1 */
	uint8_t ra_reg;	    /* 0: 16 */
	uint8_t code_align; /* 0: 1 */
	bool bare;	    /* no instructions: else CFA = rsp+8, RA at CFA-8 */
};

static inline size_t asm_id_len(const struct cfi_asm *as)
{
	return as->debug_frame && as->wide ? 8 : 4;
}

/* Returns the CIE's offset. data_align is -8. */
static inline size_t asm_cie(struct cfi_asm *as, const struct asm_cie *cie)
{
	static const uint8_t usual[] = {0x0c, 7, 8, 0x90, 1};
	const char *augmentation = cie->augmentation ? cie->augmentation : "";
	size_t off = asm_begin(as);

	asm_uint(as, as->debug_frame ? UINT64_MAX : 0, asm_id_len(as));
	asm_uint(as, cie->version ? cie->version : 1, 1);
	asm_bytes(as, augmentation, strlen(augmentation) + 1);
	if (cie->version == 4)
		asm_uint(as, 0x0008, 2);
	asm_uint(as, cie->code_align ? cie->code_align : 1, 1);
	asm_uint(as, 0x78, 1);
	asm_uint(as, cie->ra_reg ? cie->ra_reg : 16, 1);
	if (augmentation[0] == 'z') {
		asm_uint(as, cie->data_len, 1);
		asm_bytes(as, cie->data, cie->data_len);
	}
	if (!cie->bare)
		asm_bytes(as, usual, sizeof(usual));
	asm_end(as, off);
	return off;
}

/* An FDE up to its addresses. Returns its offset. */
static inline size_t asm_fde_begin(struct cfi_asm *as, size_t cie)
{
	size_t off = asm_begin(as);

	asm_uint(as, as->debug_frame ? cie : as->len - cie, asm_id_len(as));
	return off;
}

/* With addresses of 8 bytes each, and the (empty) augmentation data of a 'z' CIE. */
static inline size_t asm_fde(struct cfi_asm *as, size_t cie, uint64_t start, uint64_t len_bytes,
			     const uint8_t *insns, size_t nr_insns)
{
	size_t off = asm_fde_begin(as, cie);

	asm_uint(as, start, 8);
	asm_uint(as, len_bytes, 8);
	if (!as->debug_frame)
		asm_uint(as, 0, 1);
	asm_bytes(as, insns, nr_insns);
	asm_end(as, off);
	return off;
}

/* The usual CIE of these tests: "zR" with plain addresses of 8 bytes; "" in .debug_frame. */
static inline size_t asm_usual_cie(struct cfi_asm *as)
{
	if (as->debug_frame)
		return asm_cie(as, &(struct asm_cie){.version = 3});
	return asm_cie(as, &(struct asm_cie){"zR", "\x04", 1, 0, 0, 0, false});
}

#endif
