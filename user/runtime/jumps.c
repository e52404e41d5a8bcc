// SPDX-License-Identifier: BSD-2-Clause
/*
 * An x86-64 interpreter jumps to its next instruction by jmp *reg or jmp *mem, where a switch's jump is one too, but with a table that
 * is relative to rip. arm64 has only br reg, for both. A switch's register was computed (add), the other's was loaded:
 *
 *	ldrh w1, [x0, w2, uxtw #1]; adr x3, ...; add x1, x3, w1, sxth #2; br x1
 *	ldr x1, [x20]; br x1
 *
 * So it is noted which registers a load wrote last, in the order of the code: a guess where branches meet, which a few of 170 jumps
 * may be wrong by.
 */
#include "runtime/jumps.h"

#include <string.h>

#include "object/a64.h"

#define X86_CALL       0xe8
#define X86_CALL_BYTES 5

bool jumps_init(struct jumps *jumps, const struct arch *arch)
{
	*jumps = (struct jumps){.is_arm64 = arch == &arch_arm64};
	if (arch != &arch_x86_64)
		return jumps->is_arm64;
	return ZYAN_SUCCESS(ZydisDecoderInit(&jumps->decoder, ZYDIS_MACHINE_MODE_LONG_64,
					     ZYDIS_STACK_WIDTH_64)) &&
	       ZYAN_SUCCESS(ZydisDecoderEnableMode(&jumps->decoder, ZYDIS_DECODER_MODE_MINIMAL,
						   ZYAN_TRUE));
}

static bool x86_next(const struct jumps *jumps, const uint8_t *code, size_t len_bytes,
		     uint64_t addr, struct jump *jump)
{
	ZydisDecodedInstruction in;

	if (!ZYAN_SUCCESS(
		    ZydisDecoderDecodeInstruction(&jumps->decoder, NULL, code, len_bytes, &in)))
		return false;
	jump->len_bytes = in.length;
	if (in.raw.imm[0].is_relative) {
		jump->kind = in.opcode == X86_CALL ? JUMP_CALL : JUMP_TO;
		jump->target = addr + in.length + (uint64_t)in.raw.imm[0].value.s;
	} else if (in.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && in.opcode == 0xff &&
		   in.raw.modrm.reg == 4 && !(in.raw.modrm.mod == 0 && in.raw.modrm.rm == 5)) {
		jump->kind = JUMP_LOADED;
	}
	return true;
}

static void note_loads(struct jumps *jumps, const struct a64 *in)
{
	bool is_pair = in->class == A64_LOAD_PAIR;

	jumps->loaded &= ~in->written;
	if ((is_pair || in->class == A64_LOAD || in->class == A64_LOAD_REG) && !in->is_vector &&
	    in->size_bytes == 8)
		jumps->loaded |= (1u << (in->rd & 31) | (is_pair ? 1u << (in->rd2 & 31) : 0)) &
				 in->written;
}

static bool arm64_next(struct jumps *jumps, const uint8_t *code, size_t len_bytes, uint64_t addr,
		       struct jump *jump)
{
	struct a64 in;

	if (len_bytes < A64_BYTES)
		return false;
	in = a64_decode(a64_word(code));
	jump->len_bytes = A64_BYTES;
	jump->target = addr + (uint64_t)in.imm;
	if (in.class == A64_BL)
		jump->kind = JUMP_CALL;
	else if (a64_is_relative_branch(&in))
		jump->kind = JUMP_TO;
	else if (in.class == A64_BR && jumps->loaded >> (in.rn & 31) & 1)
		jump->kind = JUMP_LOADED;
	note_loads(jumps, &in);
	return true;
}

bool jumps_next(struct jumps *jumps, const uint8_t *code, size_t len_bytes, uint64_t addr,
		struct jump *jump)
{
	*jump = (struct jump){0};
	return jumps->is_arm64 ? arm64_next(jumps, code, len_bytes, addr, jump)
			       : x86_next(jumps, code, len_bytes, addr, jump);
}

uint64_t jumps_call(const struct jumps *jumps, const uint8_t *code, size_t len_bytes, uint64_t addr)
{
	struct a64 in;
	int32_t to;

	if (jumps->is_arm64) {
		if (len_bytes < A64_BYTES)
			return 0;
		in = a64_decode(a64_word(code));
		return in.class == A64_BL ? addr + (uint64_t)in.imm : 0;
	}
	if (len_bytes < X86_CALL_BYTES || code[0] != X86_CALL)
		return 0;
	memcpy(&to, code + 1, sizeof(to));
	return addr + X86_CALL_BYTES + (uint64_t)to;
}
