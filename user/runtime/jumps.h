/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where machine code jumps to, instruction by instruction: as much as tells an interpreter's loop from other functions, for x86-64
 * and arm64.
 */
#ifndef CPROF_RUNTIME_JUMPS_H
#define CPROF_RUNTIME_JUMPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <Zydis/Zydis.h>

#include "object/arch.h"

enum jump_kind {
	JUMP_NONE, /* another instruction */
	JUMP_TO,   /* to target, whether there is a condition or not */
	JUMP_CALL, /* a call of target */
	JUMP_LOADED, /* to what a register or memory has; not by a table of the file, as a switch does */
};

struct jump {
	enum jump_kind kind;
	uint8_t len_bytes; /* of the instruction */
	uint64_t target;
};

/* Private to jumps.c, but that loaded may be set to 0 where a function begins. */
struct jumps {
	bool is_arm64;
	ZydisDecoder decoder;
	uint32_t loaded; /* arm64: registers, a bit each, that have what was loaded into them */
};

/* For code of a file of this machine, in its order. false: it is none of the two. */
bool jumps_init(struct jumps *jumps, const struct arch *arch);
/* The instruction at addr, with which code begins: of len_bytes. false: there is none. */
bool jumps_next(struct jumps *jumps, const uint8_t *code, size_t len_bytes, uint64_t addr,
		struct jump *jump);
/* The target of the call that code begins with, 0: there is none. Code need not be an instruction's beginning. Reads 8 bytes at most. */
uint64_t jumps_call(const struct jumps *jumps, const uint8_t *code, size_t len_bytes,
		    uint64_t addr);

#endif
