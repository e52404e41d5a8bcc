// SPDX-License-Identifier: BSD-2-Clause
/*
 * In doubt the convention is broken: a function that is given up is a gap, and one that is misunderstood has made-up
 * callers.
 */
#include "unwind/stackabi.h"

bool stackabi_is_balanced(const struct stackstate *state)
{
	return state->sp_known && state->sp_off == stackstate_entry.sp_off &&
	       state->fp_how == UNWIND_SAME;
}

bool stackabi_is_lost(const struct stackstate *state)
{
	return !stackstate_has_base(state) || state->fp_how == UNWIND_LOST || state->ra_by_sp ||
	       state->ra_reg != STACKSTATE_NO_REG ||
	       (state->sp_known && state->sp_off < stackstate_entry.sp_off);
}

static bool writes_return_address(const struct stackstate *state, const struct instruction *in)
{
	const ZydisDecodedOperand *to = &in->operands[0];

	return in->decoded.operand_count_visible && to->type == ZYDIS_OPERAND_TYPE_MEMORY &&
	       to->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
	       to->mem.base == ZYDIS_REGISTER_RSP && to->mem.index == ZYDIS_REGISTER_NONE &&
	       state->sp_known && to->mem.disp.value == state->sp_off - stackstate_entry.sp_off;
}

static bool is_register(const ZydisDecodedOperand *operand, ZydisRegister reg)
{
	return operand->type == ZYDIS_OPERAND_TYPE_REGISTER && operand->reg.value == reg;
}

bool stackabi_is_broken_by(const struct stackstate *state, const struct instruction *in)
{
	bool on_fp = is_register(&in->operands[0], ZYDIS_REGISTER_RBP);

	switch (in->decoded.mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_POP:
		return on_fp && !state->sp_known;
	case ZYDIS_MNEMONIC_LEAVE:
		return !state->fp_known;
	case ZYDIS_MNEMONIC_CALL:
	case ZYDIS_MNEMONIC_RET:
		return false;
	case ZYDIS_MNEMONIC_MOV:
		if (on_fp && is_register(&in->operands[1], ZYDIS_REGISTER_RSP) && !state->sp_known)
			return true;
		break;
	default:
		break;
	}
	return writes_return_address(state, in);
}
