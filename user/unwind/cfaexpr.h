/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recognizes the DWARF expressions that call frame information uses. A general one needs a stack machine,
 * which a BPF program cannot afford at every frame; those of compilers, linkers and hand-written
 * assembly have five shapes, which are recognized here.
 */
#ifndef CPROF_UNWIND_CFAEXPR_H
#define CPROF_UNWIND_CFAEXPR_H

#include "unwind/cfa.h"
#include "object/cfi.h"

/*
 * The value that the expression computes: CFA_REG, CFA_DEREF, CFA_INDEXED, CFA_PLT, or CFA_OPAQUE for all others
 * (and damaged ones). expression is consumed.
 */
struct cfa cfaexpr_read(struct cfi_cursor *expression);

#endif
