/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where functions begin in code that nothing describes, as unwind/asmflow.h finds it: by symbols, by calls, or because only a
 * function fits there.
 */
#ifndef CPROF_UNWIND_CODESTARTS_H
#define CPROF_UNWIND_CODESTARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

/* Zeroed: empty. ELF addresses. */
struct codestarts {
	vec_of(uint64_t) at; /* private */
};

/* At ascending addresses: from here on code is that of a function which begins here, or it is not known of which. */
void codestarts_add(struct codestarts *starts, uint64_t elf_addr, bool is_known);
/* The function that elf_addr lies in begins at *start. false: not known. */
bool codestarts_find(const struct codestarts *starts, uint64_t elf_addr, uint64_t *start);
/* Whether code in (start, elf_addr] is, or may be, that of another function than the code at start. */
bool codestarts_divide(const struct codestarts *starts, uint64_t start, uint64_t elf_addr);
void codestarts_release(struct codestarts *starts);

#endif
