/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Interprets call frame instructions: one FDE in, unwind rules by address out.
 *
 * It tracks only what a stack walk needs: the CFA, the return address, fp, sp, and the extra register if requested.
 * Instructions for other registers are skipped.
 */
#ifndef CPROF_UNWIND_CFA_H
#define CPROF_UNWIND_CFA_H

#include <stdbool.h>
#include <stdint.h>

#include "object/cfi.h"
#include "unwind/unwindarch.h"
#include "unwind_abi.h"

/* One value of the caller, in terms of this frame. A zeroed one is "unchanged". */
struct cfa_value {
	enum {
		VALUE_SAME,
		VALUE_UNDEFINED,
		VALUE_AT_CFA, /* at CFA + off */
		VALUE_IS_CFA, /* CFA + off */
		VALUE_IN_REG, /* register reg */
		VALUE_AT_REG, /* at register reg + off */
		VALUE_OPAQUE, /* an expression of another shape */
	} how;
	uint32_t reg;
	int64_t off;
};

struct cfa {
	enum {
		CFA_NONE,    /* not defined yet */
		CFA_REG,     /* reg + off */
		CFA_DEREF,   /* *(reg + off) + deref_off */
		CFA_INDEXED, /* *(reg + 8 * index_reg + off) + deref_off */
		CFA_PLT,     /* the linker's expression for a PLT; off is where its push ends */
		CFA_OPAQUE,  /* an expression of another shape */
	} how;
	uint32_t reg, index_reg;
	int64_t off, deref_off;
};

struct cfa_state {
	struct cfa cfa;
	struct cfa_value ra, fp, sp, extra;
};

/* The state that a CIE's own instructions set up. -EBADMSG: they are damaged. */
int cfa_initial(const struct unwind_arch *arch, const struct cfi_section *section,
		const struct cfi_cie *cie, struct cfa_state *initial);

/* A rule that holds from elf_addr to the next row. */
struct unwind_row {
	uint64_t elf_addr;
	struct unwind_rule rule;
};

/* cfa_reg of an UNWIND_GAP that is code, not padding, however small. */
#define CFA_GAP_IS_CODE 1u

/* Code without unwind information from the entry point on that is taken for _start: ld.so's has 61. */
#define CFA_ENTRY_BYTES 64

/*
 * Called for each address where the rule may change, ascending within the FDE and beginning at its start. row is
 * borrowed for the call.
 */
typedef void (*cfa_row_fn)(void *ctx, const struct unwind_row *row);

/*
 * Runs the instructions of fde. -EBADMSG: an instruction is damaged; from there on the rule is
 * UNWIND_UNSUPPORTED. track_extra: rules say where the extra register is (otherwise extra_slot is 0).
 */
int cfa_run(const struct unwind_arch *arch, const struct cfi_section *section,
	    const struct cfi_cie *cie, const struct cfa_state *initial, const struct cfi_fde *fde,
	    bool track_extra, cfa_row_fn emit, void *ctx);

#endif
