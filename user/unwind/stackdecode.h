/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decodes x86-64 machine code, one instruction at a time. Private to stackflow.c, asmpath.c, asmproof.c, asmflow.c and gapfill.c.
 *
 * Code is long, most of it does nothing to the stack, and decoding operands takes most of the time. So what is
 * harmless by its opcode is not decoded further.
 */
#ifndef CPROF_UNWIND_STACKDECODE_H
#define CPROF_UNWIND_STACKDECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <Zydis/Zydis.h>

#include "unwind/stackeffect.h"
#include "unwind/stackstate.h"

struct stackdecode {
	ZydisDecoder full, quick;
	const uint8_t *bytes; /* borrowed */
	size_t len_bytes;
};

/* Nothing is to be released. */
void stackdecode_init(struct stackdecode *code, const uint8_t *bytes, size_t len_bytes);

/* The instruction at offset, with its operands. false: there is none. */
bool stackdecode_at(const struct stackdecode *code, uint32_t offset, struct instruction *in);

/*
 * Sets *next to where the instruction at offset ends if it neither branches, nor changes such a state, nor writes the
 * return address. false: it may; decode it with stackdecode_at().
 */
bool stackdecode_skip(const struct stackdecode *code, uint32_t offset,
		      const struct stackstate *state, uint32_t *next);

/* Whether nothing behind it is reached from it. */
bool stackdecode_is_end(const struct instruction *in);

/* The address that a lea takes, relative to rip: where it is, which may be outside. false: it is none. */
bool stackdecode_address(const struct instruction *in, int64_t *offset);

/* The target of a relative branch or call, which may be outside the code. false: the instruction is neither. */
bool stackdecode_target(const struct instruction *in, int64_t *offset);

#endif
