// SPDX-License-Identifier: BSD-2-Clause
/*
 * Most instructions change nothing here; those that do are few: push, pop, add, sub, lea, mov, leave, and
 * what overwrites a register that counts.
 */
#include "unwind/stackeffect.h"

#include <stdlib.h>

#define NO_REG	     STACKSTATE_NO_REG
#define WORD	     8
#define CALLER_SAVED 0xf37u /* rax, rdx, rcx, rsi, rdi, r8 to r11 by DWARF number */

/* Operands --------------------------------------------------------------------------------------- */

/* The DWARF number of the general register that reg is, or is a part of; else NO_REG. */
static uint8_t number_of(ZydisRegister reg)
{
	/* In the order of the machine's numbers: ax cx dx bx sp bp si di r8 to r15. */
	static const uint8_t numbers[UNWIND_NR_REGS] = {0, 2, 1,  3,  7,  6,  4,  5,
							8, 9, 10, 11, 12, 13, 14, 15};
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);

	if (whole < ZYDIS_REGISTER_RAX || whole > ZYDIS_REGISTER_R15)
		return NO_REG;
	return numbers[whole - ZYDIS_REGISTER_RAX];
}

static uint8_t register_of(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_REGISTER && operand->size == 64
		       ? number_of(operand->reg.value)
		       : NO_REG;
}

/* base + disp of a plain memory operand of 8 bytes, or of a lea. */
static bool place_of(const ZydisDecodedOperand *operand, uint8_t *base, int64_t *disp)
{
	if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY ||
	    operand->mem.index != ZYDIS_REGISTER_NONE || operand->mem.base == ZYDIS_REGISTER_RIP ||
	    operand->mem.segment == ZYDIS_REGISTER_FS || operand->mem.segment == ZYDIS_REGISTER_GS)
		return false;
	*base = number_of(operand->mem.base);
	*disp = operand->mem.disp.has_displacement ? operand->mem.disp.value : 0;
	return *base != NO_REG && llabs(*disp) <= STACKSTATE_MAX_OFF;
}

static void overwrite_all_written(struct stackstate *state, const struct instruction *in)
{
	for (uint8_t i = 0; i < in->decoded.operand_count; i++)
		if (in->operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    in->operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			stackstate_overwrite(state, number_of(in->operands[i].reg.value));
}

/* Instructions ----------------------------------------------------------------------------------- */

/* What is pushed, popped or moved to: NO_REG for memory, and for flags, which no operand names. */
static uint8_t first_register(const struct instruction *in)
{
	return in->decoded.operand_count_visible ? register_of(&in->operands[0]) : NO_REG;
}

static void push(struct stackstate *state, const struct instruction *in)
{
	uint8_t reg = first_register(in);

	if (state->interpreted)
		return;
	/* The stack is lost (deoptimization replaces frames), and here a frame is begun as usual. */
	if (reg == X86_REG_FP && !state->sp_known && state->alias == NO_REG)
		*state = stackstate_entry;
	stackstate_grow(state, WORD);
	if (reg == NO_REG)
		return;
	if (reg == X86_REG_FP && state->fp_how == UNWIND_SAME) {
		state->fp_how = state->sp_known ? UNWIND_AT_CFA : UNWIND_AT_SP;
		state->fp_off = state->sp_known ? -state->sp_off : 0;
	}
	if (reg == state->ra_reg) {
		state->ra_reg = NO_REG;
		state->ra_by_sp = !state->sp_known || state->sp_off != WORD;
		state->ra_off = 0;
	}
	/* mov %rsp,%rbp; push %r13: the interpreter's frame is complete. */
	if (reg == STACKSTATE_SENDER_REG && reg == state->alias && !state->sp_known &&
	    state->fp_how == UNWIND_AT_SP && state->fp_off == WORD)
		*state = stackstate_interpreted;
}

static void pop(struct stackstate *state, const struct instruction *in)
{
	uint8_t reg = first_register(in);
	bool is_ra = state->ra_by_sp ? state->ra_off == 0
				     : state->sp_known && state->sp_off == WORD;
	/* if sp is not known, fp is assumed to be a frame pointer */
	bool is_fp = !state->sp_known ||
		     (state->fp_how == UNWIND_AT_CFA && state->fp_off == -state->sp_off);

	if (state->interpreted)
		return;
	is_ra = is_ra && state->ra_reg == NO_REG;
	if (reg == X86_REG_SP)
		return stackstate_lose_sp(state);
	stackstate_overwrite(state, reg);
	stackstate_grow(state, -WORD);
	if (is_ra && reg != NO_REG) {
		state->ra_reg = reg;
		state->ra_by_sp = false;
	}
	if (reg == X86_REG_FP && is_fp)
		state->fp_how = UNWIND_SAME;
}

static void leave(struct stackstate *state)
{
	struct stackstate left = stackstate_entry;

	/* Not the interpreter's caller's sp, unless an alias still knows it. */
	if (state->interpreted && state->alias != NO_REG) {
		left = stackstate_sender_entry;
		left.alias = state->alias;
		left.alias_off = state->alias_off;
	} else if (state->fp_known && !state->interpreted) {
		left.sp_off = state->frame_off - WORD;
	}
	*state = left;
}

static void add_to_sp(struct stackstate *state, const struct instruction *in, int sign)
{
	const ZydisDecodedOperand *by = &in->operands[1];

	if (state->interpreted)
		return;
	if (by->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		stackstate_grow(state, sign * by->imm.value.s);
	else
		stackstate_lose_sp(state);
}

static void load_address(struct stackstate *state, const struct instruction *in)
{
	uint8_t reg = register_of(&in->operands[0]), base;
	int64_t disp, off;
	bool known;

	if (reg == NO_REG)
		return overwrite_all_written(state, in);
	known = place_of(&in->operands[1], &base, &disp);
	if (known && reg == X86_REG_SP && base == X86_REG_SP && !state->interpreted)
		return stackstate_grow(state, -disp);
	known = known && stackstate_counts_from(state, base, &off);
	stackstate_set_register(state, reg, known, known ? off - disp : 0);
}

static void store(struct stackstate *state, const struct instruction *in)
{
	uint8_t reg = register_of(&in->operands[1]), base;
	int64_t disp;

	if (reg == NO_REG || !place_of(&in->operands[0], &base, &disp) || base != X86_REG_SP ||
	    state->interpreted)
		return;
	if (reg == state->alias) {
		state->home_known = true;
		state->home_off = (int32_t)disp;
		state->home_deref = state->alias_off;
	}
	if (reg == state->ra_reg) {
		state->ra_reg = NO_REG;
		state->ra_by_sp = !state->sp_known || disp != state->sp_off - WORD;
		state->ra_off = (int32_t)disp;
	}
	if (reg == X86_REG_FP && state->fp_how == UNWIND_SAME && state->sp_known) {
		state->fp_how = UNWIND_AT_CFA;
		state->fp_off = (int32_t)(disp - state->sp_off);
	}
}

static void load(struct stackstate *state, const struct instruction *in, uint8_t reg)
{
	bool at_home, at_fp, at_sender;
	uint8_t base = NO_REG;
	int64_t disp = 0;
	bool plain = place_of(&in->operands[1], &base, &disp);

	at_home = plain && base == X86_REG_SP && state->home_known && disp == state->home_off;
	at_sender = plain && base == X86_REG_FP && disp == -WORD && state->interpreted;
	at_fp = plain && base == X86_REG_SP && state->fp_how == UNWIND_AT_CFA && state->sp_known &&
		disp == state->sp_off + state->fp_off;
	if (reg == X86_REG_FP && at_fp) {
		stackstate_overwrite(state, reg);
		state->fp_how = UNWIND_SAME;
		return;
	}
	stackstate_set_register(state, reg, at_home || at_sender, at_home ? state->home_deref : 0);
}

static void move(struct stackstate *state, const struct instruction *in)
{
	uint8_t to = register_of(&in->operands[0]), from = register_of(&in->operands[1]);
	int64_t off = 0;
	bool known;

	if (in->operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY)
		return store(state, in);
	if (to == NO_REG)
		return overwrite_all_written(state, in);
	if (from == NO_REG)
		return load(state, in, to);
	/* The frame of an entry whose caller's sp is in a register goes on as it is. */
	if (to == X86_REG_FP && from == X86_REG_SP && !state->sp_known)
		return;
	known = stackstate_counts_from(state, from, &off);
	if (to == X86_REG_SP && known && state->ra_by_sp)
		return; /* what is found by sp would be lost: it is above, whatever sp is now */
	stackstate_set_register(state, to, known, off);
}

/* A call preserves the registers that the ABI says. */
static void call(struct stackstate *state)
{
	for (uint8_t reg = 0; reg < UNWIND_NR_REGS; reg++)
		if (CALLER_SAVED >> reg & 1)
			stackstate_overwrite(state, reg);
}

void stackeffect_apply(struct stackstate *state, const struct instruction *in)
{
	bool on_sp = register_of(&in->operands[0]) == X86_REG_SP;

	switch (in->decoded.mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_PUSHFQ:
		return push(state, in);
	case ZYDIS_MNEMONIC_POP:
	case ZYDIS_MNEMONIC_POPFQ:
		return pop(state, in);
	case ZYDIS_MNEMONIC_LEAVE:
		return leave(state);
	case ZYDIS_MNEMONIC_ADD:
		return on_sp ? add_to_sp(state, in, -1) : overwrite_all_written(state, in);
	case ZYDIS_MNEMONIC_SUB:
		return on_sp ? add_to_sp(state, in, 1) : overwrite_all_written(state, in);
	case ZYDIS_MNEMONIC_LEA:
		return load_address(state, in);
	case ZYDIS_MNEMONIC_MOV:
		return move(state, in);
	case ZYDIS_MNEMONIC_CALL:
		return call(state);
	default:
		return overwrite_all_written(state, in);
	}
}
