/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stackflow.h for arm64: unwind rows of code that HotSpot made. The same kinds of code, the same promises.
 *
 * What a method of the interpreter is entered with is the caller's sp in x13, or since Java 20 in x19, where on x86-64 it is r13.
 */
#ifndef CPROF_UNWIND_A64JIT_H
#define CPROF_UNWIND_A64JIT_H

#include "unwind/stackflow.h"

/* As stackflow_rows(). code->addr is a multiple of 4; bytes behind the last whole word belong to it. */
void a64jit_rows(const struct stackflow_code *code, cfa_row_fn emit, void *ctx);

#endif
