/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unwind rows of functions in an ELF file (x86-64) that come without call frame information: those that are written by hand,
 * in codecs, compressors, mathematics, often without symbols; and compiled ones, as musl's.
 *
 * They follow the ABI: what is pushed is popped, and rbp is the caller's again where they return. That is what a function
 * must show before there are rows for it: from its first instruction some path leads to a return that finds the stack as it
 * was, or to code that is known, and no path to one that does not. One that has a name, or that is called, may be proven
 * by less, as it may never return. All else stays a gap: a made-up caller is worse than none.
 *
 * The bytes are not trusted: any bytes give rows, at worst wrong ones, in time and memory linear in their number.
 */
#ifndef CPROF_UNWIND_ASMFLOW_H
#define CPROF_UNWIND_ASMFLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/cfa.h"
#include "unwind/codestarts.h"

struct asmflow_code {
	const uint8_t *bytes; /* borrowed; at least one, less than 4 GB */
	size_t len_bytes;
	uint64_t addr; /* of bytes[0] */
	bool goes_on;  /* code follows that was not given */
	const uint64_t *
		begins; /* where functions begin for certain, ascending; borrowed. NULL: not known */
	size_t nr_begins;
	const uint64_t *ends; /* where they end, by their sizes: in any order; borrowed */
	size_t nr_ends;
	const uint64_t *called; /* what leads_to() was called with, in any order; borrowed */
	size_t nr_called;
	/*
	 * Called with the ctx of asmflow_rows() for each function that proven code calls in the code or behind it, which a
	 * later call may be about. NULL: not asked for.
	 */
	void (*leads_to)(void *ctx, uint64_t elf_addr);
	struct codestarts
		*starts; /* gets what is found of these bytes; borrowed. NULL: not asked for */
};

/*
 * Calls emit for each change of the rule, at ascending addresses, the first of them code->addr. Returns how many bytes
 * the rows are for: fewer than there are, but at least half, if a function may reach beyond them and should be seen whole.
 */
size_t asmflow_rows(const struct asmflow_code *code, cfa_row_fn emit, void *ctx);

#endif
