// SPDX-License-Identifier: BSD-2-Clause
/*
 * The layout is that of the Arm Architecture Reference Manual, C4.1 (A64 instruction set encoding): bits 28 to 25 choose
 * between immediates, branches, memory, registers and vectors, and each of these has a function here.
 *
 * `written` is made in one place from what a class says, but for A64_OTHER, where each group has its own.
 */
#include "object/a64bits.h"

#define LR (1u << A64_LR)

/* Immediates ------------------------------------------------------------------------------------- */

/*
 * A bit mask (DecodeBitMasks in the manual): an element of 2 to 64 bits, repeated; in it a run of ones, turned right. false:
 * reserved.
 */
static bool bit_mask(uint32_t word, uint64_t *mask)
{
	uint32_t ones = a64_bits(word, 10, 6), turn = a64_bits(word, 16, 6);
	uint32_t size_bits = a64_bit(word, 22) << 6 | (~ones & 63), len = 64;
	uint64_t element;

	if (size_bits < 2 || (a64_bit(word, 22) && !a64_bit(word, 31)))
		return false;
	while (!(size_bits & len))
		len >>= 1;
	ones &= len - 1;
	turn &= len - 1;
	if (ones == len - 1)
		return false;
	element = (2ull << ones) - 1;
	if (turn)
		element = element >> turn | element << (len - turn);
	if (len < 64)
		element &= (1ull << len) - 1;
	for (; len < 64; len *= 2)
		element |= element << len;
	*mask = a64_bit(word, 31) ? element : (uint32_t)element;
	return true;
}

static void logical_immediate(struct a64 *in, uint32_t word)
{
	uint32_t kind = a64_bits(word, 29, 2); /* and, orr, eor, ands */
	uint64_t mask;

	in->rd = kind == 3 ? a64_or_zero(a64_bits(word, 0, 5)) : (uint8_t)a64_bits(word, 0, 5);
	if (!bit_mask(word, &mask))
		return;
	in->rn = a64_or_zero(a64_bits(word, 5, 5));
	in->imm = (int64_t)mask;
	in->sets_flags = kind == 3;
	if (kind == 0 || kind == 3)
		in->class = A64_AND_IMM;
	else if (kind == 1 && in->rn == A64_ZR && in->rd != A64_SP)
		in->class = A64_MOV_IMM;
	else
		a64_other(in, a64_mask_of(in->rd));
}

static void move_wide(struct a64 *in, uint32_t word)
{
	uint32_t kind = a64_bits(word, 29, 2); /* movn, -, movz, movk */
	uint64_t value = (uint64_t)a64_bits(word, 5, 16);

	in->shift = (uint8_t)(a64_bits(word, 21, 2) * 16);
	if (kind == 1 || (!in->is_64 && in->shift >= 32))
		return;
	in->rd = a64_or_zero(a64_bits(word, 0, 5));
	in->class = kind == 3 ? A64_MOVK : A64_MOV_IMM;
	if (kind == 3) {
		in->imm = (int64_t)value;
		return;
	}
	value <<= in->shift;
	if (kind == 0)
		value = ~value;
	in->imm = (int64_t)(in->is_64 ? value : (uint32_t)value);
	in->shift = 0;
}

static void add_immediate(struct a64 *in, uint32_t word)
{
	int64_t value = (int64_t)a64_bits(word, 10, 12) << (a64_bit(word, 22) ? 12 : 0);

	in->class = A64_ADD_IMM;
	in->sets_flags = a64_bit(word, 29);
	in->rd = (uint8_t)a64_bits(word, 0, 5);
	if (in->sets_flags)
		in->rd = a64_or_zero(in->rd);
	in->rn = (uint8_t)a64_bits(word, 5, 5);
	in->imm = a64_bit(word, 30) ? -value : value;
}

static void immediate(struct a64 *in, uint32_t word)
{
	uint32_t rd = a64_bits(word, 0, 5);

	switch (a64_bits(word, 23, 3)) {
	case 0:
	case 1:
		in->class = a64_bit(word, 31) ? A64_ADRP : A64_ADR;
		in->rd = a64_or_zero(rd);
		in->is_64 = true;
		in->imm = a64_signed_bits(word, 5, 19) * 4 + (int64_t)a64_bits(word, 29, 2);
		if (a64_bit(word, 31))
			in->imm *= 4096;
		break;
	case 2:
		add_immediate(in, word);
		break;
	case 3: /* with tags: rd may be sp; minimum and maximum: never */
		a64_other(in, a64_bit(word, 22) ? a64_mask_of(a64_or_zero(rd)) : 1u << rd);
		break;
	case 4:
		logical_immediate(in, word);
		break;
	case 5:
		move_wide(in, word);
		break;
	default: /* bitfields, extr; autiasppc with an address, whose rd is 31 */
		a64_other(in, a64_mask_of(a64_or_zero(rd)));
		if ((word & 0xffc0001f) == 0xf380001f) {
			in->class = A64_AUTH;
			in->rd = A64_LR;
		}
	}
}

/* Branches, exceptions, system ------------------------------------------------------------------- */

static void hint(struct a64 *in, uint32_t word)
{
	in->imm = a64_bits(word, 5, 7);
	in->class = A64_HINT;
	switch (in->imm) {
	case 7:	 /* xpaclri */
	case 28: /* autiaz, autiasp, autibz, autibsp */
	case 29:
	case 30:
	case 31:
		in->class = A64_AUTH;
		in->rd = A64_LR;
		break;
	case 24: /* paciaz, paciasp, pacibz, pacibsp */
	case 25:
	case 26:
	case 27:
		in->class = A64_SIGN;
		in->rd = A64_LR;
		break;
	case 8: /* pacia1716, pacib1716, autia1716, autib1716 */
	case 10:
	case 12:
	case 14:
		in->class = in->imm < 12 ? A64_SIGN : A64_AUTH;
		in->rd = 17;
		break;
	case 32: /* bti; with c, j, jc */
	case 34:
	case 36:
	case 38:
		in->class = A64_BTI;
		break;
	}
}

static void system_or_exception(struct a64 *in, uint32_t word)
{
	if (a64_bits(word, 24, 8) == 0xd4) {
		in->imm = a64_bits(word, 5, 16);
		if ((word & 0xffe0001f) == 0xd4000001)
			in->class = A64_SVC;
		else if ((word & 0xffe0001f) == 0xd4200000 || (word & 0xffe0001f) == 0xd4400000)
			in->class = A64_BRK;
		else if ((word & 0xffe0001c) == 0xd4000000)
			a64_other(in, 0x3ffff); /* hvc, smc: x0 to x17 */
	} else if ((word & 0xfffff01f) == 0xd503201f) {
		hint(in, word);
	} else if (a64_bit(word, 21)) { /* mrs, sysl; mrrs writes two */
		a64_other(in, a64_mask_of(a64_or_zero(a64_bits(word, 0, 5))) |
				      (a64_bit(word, 22)
					       ? a64_mask_of(a64_or_zero(a64_bits(word, 0, 5) + 1))
					       : 0));
	} else {
		a64_other(in, 0);
	}
}

static void branch_register(struct a64 *in, uint32_t word)
{
	bool is_signed = a64_bit(word, 11), has_modifier = a64_bit(word, 24);

	if (a64_bits(word, 16, 5) != 31 || a64_bits(word, 12, 4) != 0 ||
	    (!is_signed && (a64_bit(word, 10) || has_modifier)) ||
	    (!has_modifier && a64_bits(word, 0, 5) != (is_signed ? 31 : 0)))
		return;
	switch (a64_bits(word, 21, 4)) {
	case 0:
	case 8:
		in->class = A64_BR;
		break;
	case 1:
	case 9:
		in->class = A64_BLR;
		break;
	case 2:
		in->class = A64_RET;
		in->is_signed = is_signed;
		break;
	case 4:
	case 5:
		in->class = A64_ERET;
		return;
	default:
		return;
	}
	in->rn = a64_or_zero(a64_bits(word, 5, 5));
	if (in->class == A64_RET && is_signed)
		in->rn = A64_LR;
}

static void branch(struct a64 *in, uint32_t word)
{
	if (a64_bits(word, 26, 5) == 5) {
		in->class = a64_bit(word, 31) ? A64_BL : A64_B;
		in->imm = a64_signed_bits(word, 0, 26) * 4;
	} else if (a64_bits(word, 24, 8) == 0x54) {
		in->class = A64_B_COND;
		in->cond = (uint8_t)a64_bits(word, 0, 4);
		in->imm = a64_signed_bits(word, 5, 19) * 4;
	} else if ((word & 0xffc0001f) == 0x5500001f) { /* retaasppc, retabsppc */
		in->class = A64_RET;
		in->rn = A64_LR;
		in->is_signed = true;
	} else if (a64_bits(word, 25, 6) == 0x1a) {
		in->class = A64_CBZ;
		in->rn = a64_or_zero(a64_bits(word, 0, 5));
		in->is_not = a64_bit(word, 24);
		in->imm = a64_signed_bits(word, 5, 19) * 4;
	} else if (a64_bits(word, 25, 6) == 0x1b) {
		in->class = A64_TBZ;
		in->rn = a64_or_zero(a64_bits(word, 0, 5));
		in->is_not = a64_bit(word, 24);
		in->shift = (uint8_t)(a64_bit(word, 31) << 5 | a64_bits(word, 19, 5));
		in->imm = a64_signed_bits(word, 5, 14) * 4;
	} else if (a64_bits(word, 25, 7) == 0x6a) {
		system_or_exception(in, word);
	} else if (a64_bits(word, 25, 7) == 0x6b) {
		branch_register(in, word);
	}
}

/* Registers -------------------------------------------------------------------------------------- */

static void add_register(struct a64 *in, uint32_t word)
{
	bool is_extended = a64_bit(word, 21);

	in->sets_flags = a64_bit(word, 29);
	in->rd = (uint8_t)a64_bits(word, 0, 5);
	if (!is_extended || in->sets_flags)
		in->rd = a64_or_zero(in->rd);
	in->rn = is_extended ? (uint8_t)a64_bits(word, 5, 5) : a64_or_zero(a64_bits(word, 5, 5));
	in->rm = a64_or_zero(a64_bits(word, 16, 5));
	in->is_not = a64_bit(word, 30);
	in->extend = is_extended ? (uint8_t)a64_bits(word, 13, 3) : A64_LSL;
	in->shift = (uint8_t)(is_extended ? a64_bits(word, 10, 3) : a64_bits(word, 10, 6));
	if (is_extended && (a64_bits(word, 22, 2) || in->shift > 4))
		in->class = A64_UNKNOWN;
	else if (!is_extended && a64_bits(word, 22, 2)) /* shifted right */
		a64_other(in, a64_mask_of(in->rd));
	else if (!is_extended && !in->is_64 && in->shift > 31)
		in->class = A64_UNKNOWN;
	else
		in->class = A64_ADD_REG;
}

static void logical_register(struct a64 *in, uint32_t word)
{
	in->rd = a64_or_zero(a64_bits(word, 0, 5));
	in->rm = a64_or_zero(a64_bits(word, 16, 5));
	if ((word & 0x7fe0ffe0) == 0x2a0003e0)
		in->class = A64_MOV_REG;
	else
		a64_other(in, a64_mask_of(in->rd));
}

/* paci, pacd, auti, autd with keys a and b; from 8 on the same without a modifier; xpac; from 32 on those of x30 with pc. */
static void signature(struct a64 *in, uint32_t word)
{
	uint32_t opcode = a64_bits(word, 10, 6);
	bool is_auth = opcode < 32 ? opcode & 4 || opcode >= 16 : opcode & 4;

	if (opcode >= 8 && opcode < 32 && (opcode >= 18 || a64_bits(word, 5, 5) != 31))
		return;
	in->rd = a64_or_zero(a64_bits(word, 0, 5));
	if (opcode >= 32 && in->rd != A64_LR)
		return;
	in->class = is_auth ? A64_AUTH : A64_SIGN;
}

/* One source and two: signatures, and tags whose result may be sp. */
static void few_sources(struct a64 *in, uint32_t word)
{
	uint32_t rd = a64_bits(word, 0, 5);

	if ((word & 0xffff0000) == 0xdac10000)
		return signature(in, word);
	if ((word & 0xffe0fc00) == 0x9ac01000) /* irg */
		return a64_other(in, 1u << rd);
	a64_other(in, a64_mask_of(a64_or_zero(rd)));
}

static void registers(struct a64 *in, uint32_t word)
{
	if (!a64_bit(word, 28)) {
		if (a64_bit(word, 24))
			add_register(in, word);
		else
			logical_register(in, word);
		return;
	}
	if (a64_bits(word, 21, 4) == 2) /* ccmp, ccmn: flags alone */
		a64_other(in, 0);
	else if (a64_bits(word, 21, 4) == 0 &&
		 a64_bits(word, 10, 5)) /* rmif, setf8: flags alone; addpt is not */
		a64_other(in, a64_bit(word, 29) ? 0 : 1u << a64_bits(word, 0, 5));
	else if (a64_bits(word, 21, 4) == 6)
		few_sources(in, word);
	else
		a64_other(in, a64_mask_of(a64_or_zero(a64_bits(word, 0, 5))));
}

/* Vectors ---------------------------------------------------------------------------------------- */

/* What moves or converts a vector register to a general one. */
static bool is_to_general(uint32_t word)
{
	uint32_t opcode = a64_bits(word, 16, 3);

	if ((word & 0xbfe0fc00) == 0x0e003c00 || (word & 0xbfe0fc00) == 0x0e002c00)
		return true; /* umov, smov */
	if ((word & 0x5f20fc00) == 0x1e200000)
		return opcode <= 1 || (opcode >= 4 && opcode <= 6);
	return (word & 0x5f200000) == 0x1e000000 && a64_bits(word, 19, 2) == 3 && opcode <= 1;
}

static void vector(struct a64 *in, uint32_t word)
{
	a64_other(in, is_to_general(word) ? a64_mask_of(a64_or_zero(a64_bits(word, 0, 5))) : 0);
}

/* SVE: rd is a general register in some; sp only in addvl and addpl, which count in vector lengths. */
static void scalable(struct a64 *in, uint32_t word)
{
	bool is_sp = (word & 0xffa0f000) == 0x04205000;

	a64_other(in, is_sp ? 1u << a64_bits(word, 0, 5)
			    : a64_mask_of(a64_or_zero(a64_bits(word, 0, 5))));
}

/* All -------------------------------------------------------------------------------------------- */

/* What a class writes that has not said so itself. */
static uint32_t written_by(const struct a64 *in)
{
	uint32_t base = in->mode != A64_OFFSET ? a64_mask_of(in->rn) : 0;
	uint32_t loaded = in->is_vector ? 0 : a64_mask_of(in->rd);

	switch (in->class) {
	case A64_UNKNOWN:
		return UINT32_MAX;
	case A64_BL:
	case A64_BLR:
		return LR;
	case A64_SVC:
		return 1;
	case A64_LOAD:
	case A64_LOAD_REG:
	case A64_LOAD_LITERAL:
		return base | loaded;
	case A64_LOAD_PAIR:
		return base | loaded | (in->is_vector ? 0 : a64_mask_of(in->rd2));
	case A64_STORE:
	case A64_STORE_PAIR:
		return base;
	case A64_ADR:
	case A64_ADRP:
	case A64_MOV_IMM:
	case A64_MOVK:
	case A64_MOV_REG:
	case A64_ADD_IMM:
	case A64_ADD_REG:
	case A64_AND_IMM:
	case A64_SIGN:
	case A64_AUTH:
		return a64_mask_of(in->rd);
	default:
		return in->written;
	}
}

struct a64 a64_decode(uint32_t word)
{
	struct a64 in = {.rd = A64_NONE,
			 .rd2 = A64_NONE,
			 .rn = A64_NONE,
			 .rm = A64_NONE,
			 .is_64 = a64_bit(word, 31)};
	uint32_t group = a64_bits(word, 25, 4);

	if (group == 8 || group == 9)
		immediate(&in, word);
	else if (group == 10 || group == 11)
		branch(&in, word);
	else if ((group & 5) == 4)
		a64_memory(&in, word);
	else if ((group & 7) == 5)
		registers(&in, word);
	else if ((group & 7) == 7)
		vector(&in, word);
	else if (group == 2)
		scalable(&in, word);
	if (in.class == A64_OTHER)
		return (struct a64){
			A64_OTHER,	.rd = A64_NONE,	   .rd2 = A64_NONE,	 .rn = A64_NONE,
			.rm = A64_NONE, .is_64 = in.is_64, .written = in.written};
	in.written = written_by(&in);
	return in;
}
