/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The order in which addresses are asked for, so that what is left when time is up weighs least.
 *
 * Asked strictly by weight, addresses of one compile unit would come in many questions, each of which reads the unit's
 * DWARF again. So there are three tiers: the heaviest addresses, which are half of the weight; the next, up to 90 % of it;
 * the rest. In a tier the file with the most weight in it comes first, with its addresses ascending.
 */
#ifndef CPROF_SYMBOLIZE_WORKLIST_H
#define CPROF_SYMBOLIZE_WORKLIST_H

#include <stddef.h>
#include <stdint.h>

/* Fewer addresses than this are one tier. */
#define WORKLIST_TIERS_FROM 1024

struct work {
	uint32_t file;
	uint32_t tier; /* set by worklist_order() */
	uint64_t elf_addr;
	uint64_t weight; /* of samples; sums stick at UINT64_MAX */
};

/* Adds up equal addresses of a file, and sorts. Returns how many are left, at the front. */
size_t worklist_order(struct work *works, size_t nr);

#endif
