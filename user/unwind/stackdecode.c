// SPDX-License-Identifier: BSD-2-Clause
/* Instructions whose opcode and fields show that they do not matter are decoded without their operands. */
#include "unwind/stackdecode.h"

void stackdecode_init(struct stackdecode *code, const uint8_t *bytes, size_t len_bytes)
{
	code->bytes = bytes;
	code->len_bytes = len_bytes;
	ZydisDecoderInit(&code->full, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	code->quick = code->full;
	ZydisDecoderEnableMode(&code->quick, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE);
}

bool stackdecode_at(const struct stackdecode *code, uint32_t offset, struct instruction *in)
{
	in->offset = offset;
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&code->full, code->bytes + offset,
						 code->len_bytes - offset, &in->decoded,
						 in->operands)))
		return false;
	in->next = offset + in->decoded.length;
	return true;
}

/* Could an instruction with such operands write sp or rbp, or store or copy them? */
static bool names_frame_register(const ZydisDecodedInstruction *in)
{
	bool is_stack_base = in->raw.modrm.rm == 4 && in->raw.sib.base == 4;

	if (!(in->attributes & ZYDIS_ATTRIB_HAS_MODRM))
		return in->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY || (in->opcode & 7) == 4 ||
		       (in->opcode & 7) == 5;
	if ((in->raw.modrm.reg & 6) == 4 || (in->raw.modrm.mod == 3 && (in->raw.modrm.rm & 6) == 4))
		return true;
	/* blsr, mulx and their like write a register that neither field has */
	if (in->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY && in->opcode >= 0xf0)
		return true;
	return in->opcode == 0x8d && (is_stack_base || in->raw.modrm.rm == 5); /* lea */
}

/* Could it write the return address? */
static bool names_return_address(const ZydisDecodedInstruction *in, const struct stackstate *state)
{
	return in->attributes & ZYDIS_ATTRIB_HAS_MODRM && in->raw.modrm.mod != 3 &&
	       in->raw.modrm.rm == 4 && in->raw.sib.base == 4 && state->sp_known &&
	       in->raw.disp.value == state->sp_off - stackstate_entry.sp_off;
}

/* In doubt: it is not. */
static bool is_harmless(const ZydisDecodedInstruction *in)
{
	uint8_t opcode = in->opcode;

	if (in->opcode_map == ZYDIS_OPCODE_MAP_0F) {
		if ((opcode & 0xf0) == 0x80 || opcode == 0x0b ||
		    opcode == 0x05 ||	     /* jcc, ud2, syscall */
		    (opcode & 0xf6) == 0xa0) /* push and pop of fs and gs */
			return false;
	} else if (in->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT) {
		if ((opcode & 0xf0) == 0x50 || (opcode & 0xf0) == 0x70 || (opcode & 0xfd) == 0x68 ||
		    opcode == 0x8f || opcode == 0x9c || opcode == 0x9d || opcode >= 0xe0 ||
		    (opcode & 0xfe) == 0xc2 || (opcode & 0xf8) == 0xc8)
			return false;
	}
	return !names_frame_register(in);
}

bool stackdecode_skip(const struct stackdecode *code, uint32_t offset,
		      const struct stackstate *state, uint32_t *next)
{
	ZydisDecodedInstruction in;

	if (state->alias != STACKSTATE_NO_REG || state->ra_reg != STACKSTATE_NO_REG ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&code->quick, NULL, code->bytes + offset,
							code->len_bytes - offset, &in)) ||
	    !is_harmless(&in) || names_return_address(&in, state))
		return false;
	*next = offset + in.length;
	return true;
}

bool stackdecode_is_end(const struct instruction *in)
{
	switch (in->decoded.mnemonic) {
	case ZYDIS_MNEMONIC_JMP:
	case ZYDIS_MNEMONIC_RET:
	case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_INT3:
		return true;
	default:
		return false;
	}
}

bool stackdecode_address(const struct instruction *in, int64_t *offset)
{
	const ZydisDecodedOperand *from = &in->operands[1];

	if (in->decoded.mnemonic != ZYDIS_MNEMONIC_LEA || from->mem.base != ZYDIS_REGISTER_RIP)
		return false;
	*offset = in->next + from->mem.disp.value;
	return true;
}

bool stackdecode_target(const struct instruction *in, int64_t *offset)
{
	const ZydisDecodedOperand *target = &in->operands[0];

	if (!in->decoded.operand_count_visible || target->type != ZYDIS_OPERAND_TYPE_IMMEDIATE ||
	    !target->imm.is_relative)
		return false;
	*offset = in->next + target->imm.value.s;
	return true;
}
