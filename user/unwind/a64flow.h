/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * asmflow.h for arm64: unwind rows of functions in an ELF file that come without call frame information, those of codecs, of
 * libcrypto, of musl and of the vdso; and of the stubs of its PLT.
 *
 * What a function must show before there are rows for it is the same: some path from its first instruction leads to a return that
 * finds the stack, x29 and x30 as they were, or to code that is known, and no path to one that does not. All else stays a gap.
 */
#ifndef CPROF_UNWIND_A64FLOW_H
#define CPROF_UNWIND_A64FLOW_H

#include <stddef.h>
#include <stdint.h>

#include "unwind/asmflow.h"

/* As asmflow_rows(), with the same struct. code->addr is a multiple of 4; bytes behind the last whole word are a gap. */
size_t a64flow_rows(const struct asmflow_code *code, cfa_row_fn emit, void *ctx);

/*
 * The rows of a section of PLT stubs, in which the return address is in lr; but not behind the push of its first one. Calls emit as
 * above; all bytes get rows.
 */
void a64flow_plt_rows(const struct asmflow_code *code, cfa_row_fn emit, void *ctx);

#endif
