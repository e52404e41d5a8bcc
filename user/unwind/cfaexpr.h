/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recognizes the DWARF expressions that call frame information uses. A general one needs a stack machine,
 * which a BPF program cannot afford at every frame; the ones that compilers, linkers and hand-written
 * assembly use come in five shapes, and these are recognized.
 */
#ifndef CPROF_UNWIND_CFAEXPR_H
#define CPROF_UNWIND_CFAEXPR_H

#include "unwind/cfa.h"
#include "object/cfi.h"

/*
 * The value that the expression leaves: CFA_REG, CFA_DEREF, CFA_INDEXED, CFA_PLT, or CFA_OPAQUE for
 * whatever else it is (damaged ones too). expression is used up.
 */
struct cfa cfaexpr_read(struct cfi_cursor *expression);

#endif
