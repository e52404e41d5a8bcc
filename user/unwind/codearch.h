/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which analyser reads the machine code of a machine, that unwinds where call frame information says nothing.
 *
 * Not in struct unwind_arch, which whoever walks stacks has, too: analysers belong to the worker, with the library that
 * decodes x86-64.
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
