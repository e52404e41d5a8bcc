/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Selects the analyser of a machine's code, which finds unwind rows where there is no call frame information.
 *
 * Not part of struct unwind_arch, which main links, too, to walk stacks: analysers run in the worker alone, with the library
 * that decodes x86-64.
 */
#ifndef CPROF_UNWIND_CODEARCH_H
#define CPROF_UNWIND_CODEARCH_H

#include <stddef.h>
#include <stdint.h>

#include "unwind/asmflow.h"
#include "unwind/cfa.h"

struct codearch {
	/* Rows of code, as asmflow_rows(). */
	size_t (*code_rows)(const struct asmflow_code *code, cfa_row_fn emit, void *ctx);
	/* The same of the stubs in .plt. NULL: they are described. */
	void (*plt_rows)(const struct asmflow_code *code, cfa_row_fn emit, void *ctx);
	uint8_t smallest_gap_bytes; /* that is worth a look; less is padding between functions */
};

/* Never NULL. */
const struct codearch *codearch_of(const struct unwind_arch *arch);

#endif
