// SPDX-License-Identifier: BSD-2-Clause
/*
 * Loads and stores (C4.1.94 in the manual): pairs, single registers in all their ways of addressing, literals, exclusives,
 * atomics, and what copies memory or writes its tags.
 */
#include "object/a64bits.h"

static void set_register(struct a64 *in, uint32_t word)
{
	in->is_vector = a64_bit(word, 26);
	in->rd = in->is_vector ? (uint8_t)a64_bits(word, 0, 5) : a64_or_zero(a64_bits(word, 0, 5));
	in->rn = (uint8_t)a64_bits(word, 5, 5);
}

static void literal(struct a64 *in, uint32_t word)
{
	uint32_t opc = a64_bits(word, 30, 2);

	if (a64_bit(word, 24)) /* of other extensions */
		return;
	set_register(in, word);
	in->rn = A64_NONE;
	in->imm = a64_signed_bits(word, 5, 19) * 4;
	in->class = A64_LOAD_LITERAL;
	in->is_64 = opc == 1 || opc == 2;
	in->is_signed_load = opc == 2 && !in->is_vector;
	in->size_bytes = in->is_vector ? (uint8_t)(4 << opc) : opc == 1 ? 8 : 4;
	if (opc == 3)
		in->class = in->is_vector ? A64_UNKNOWN : A64_PREFETCH;
}

static void pair(struct a64 *in, uint32_t word)
{
	static const uint8_t modes[] = {A64_OFFSET, A64_POST, A64_OFFSET, A64_PRE};
	uint32_t opc = a64_bits(word, 30, 2);
	bool is_load = a64_bit(word, 22);

	set_register(in, word);
	in->rd2 = in->is_vector ? (uint8_t)a64_bits(word, 10, 5)
				: a64_or_zero(a64_bits(word, 10, 5));
	in->mode = modes[a64_bits(word, 23, 2)];
	in->size_bytes = in->is_vector ? (uint8_t)(4 << opc) : opc == 2 ? 8 : 4;
	in->imm = a64_signed_bits(word, 15, 7) * in->size_bytes;
	in->is_64 = !in->is_vector && opc != 0;
	in->is_signed_load = !in->is_vector && opc == 1;
	if (opc == 3 || (in->is_signed_load && a64_bits(word, 23, 2) == 0))
		return;
	if (in->is_signed_load && !is_load) /* stgp: tags, 16 bytes */
		a64_other(in, in->mode == A64_OFFSET ? 0 : 1u << in->rn);
	else
		in->class = is_load ? A64_LOAD_PAIR : A64_STORE_PAIR;
}

/* Loads and stores of one register: size and direction. false: it is neither. */
static bool single(struct a64 *in, uint32_t word)
{
	uint32_t size = a64_bits(word, 30, 2), opc = a64_bits(word, 22, 2);

	set_register(in, word);
	if (in->is_vector && opc >= 2) {
		if (size)
			return false;
		size = 4;
	}
	in->size_bytes = (uint8_t)(1 << size);
	in->class = opc == 0 || (in->is_vector && opc == 2) ? A64_STORE : A64_LOAD;
	if (in->is_vector)
		return true;
	in->is_64 = size == 3 || opc == 2;
	in->is_signed_load = opc >= 2;
	if (size == 3 && opc == 2)
		in->class = A64_PREFETCH;
	else if (size >= 2 && opc == 3)
		return false;
	return true;
}

static void atomic(struct a64 *in, uint32_t word)
{
	uint32_t rt = a64_mask_of(a64_or_zero(a64_bits(word, 0, 5)));

	/* ldapr: a load */
	if ((word & 0x3ffffc00) == 0x38bfc000) {
		set_register(in, word);
		in->class = A64_LOAD;
		in->size_bytes = (uint8_t)(1 << a64_bits(word, 30, 2));
		in->is_64 = in->size_bytes == 8;
		return;
	}
	if (a64_bit(word, 26))
		return a64_other(in, 0);
	in->class = A64_ATOMIC;
	if ((word & 0xfffffc00) == 0xf83fd000) /* ld64b: eight registers */
		rt = 0xffu << a64_bits(word, 0, 5);
	in->written = rt | a64_mask_of(a64_or_zero(a64_bits(word, 16, 5)));
}

static void one_register(struct a64 *in, uint32_t word)
{
	static const uint8_t modes[] = {A64_OFFSET, A64_POST, A64_OFFSET, A64_PRE};

	if (!a64_bit(word, 24) && a64_bit(word, 21) && a64_bits(word, 10, 2) == 0)
		return atomic(in, word);
	if (!a64_bit(word, 24) && a64_bit(word, 21) && a64_bit(word, 10)) /* ldraa, ldrab */
		return a64_other(in, a64_mask_of(a64_or_zero(a64_bits(word, 0, 5))) |
					     (a64_bit(word, 11) ? 1u << a64_bits(word, 5, 5) : 0));
	if (!single(in, word)) {
		in->class = A64_UNKNOWN;
	} else if (a64_bit(word, 24)) {
		in->imm = (int64_t)a64_bits(word, 10, 12) * in->size_bytes;
	} else if (!a64_bit(word, 21)) {
		if ((in->is_vector && a64_bits(word, 10, 2) == 2) ||
		    (in->class == A64_PREFETCH && a64_bits(word, 10, 2)))
			in->class = A64_UNKNOWN;
		in->mode = modes[a64_bits(word, 10, 2)];
		in->imm = a64_signed_bits(word, 12, 9);
	} else {
		in->rm = a64_or_zero(a64_bits(word, 16, 5));
		in->extend = (uint8_t)a64_bits(word, 13, 3);
		in->shift = a64_bit(word, 12) ? (uint8_t)__builtin_ctz(in->size_bytes) : 0;
		if (!(in->extend & 2))
			in->class = A64_UNKNOWN;
		else if (in->class != A64_PREFETCH)
			in->class = in->class == A64_LOAD ? A64_LOAD_REG : A64_STORE_REG;
	}
}

static void ordered(struct a64 *in, uint32_t word)
{
	uint32_t rt = a64_mask_of(a64_or_zero(a64_bits(word, 0, 5))),
		 rs = a64_mask_of(a64_or_zero(a64_bits(word, 16, 5)));
	bool is_load = a64_bit(word, 22), is_pair = a64_bit(word, 21);
	uint32_t next = a64_bits(word, 16, 5) == 30 ? 0 : rs << 1;

	if (a64_bit(word, 23) && !is_pair) {
		if (a64_bits(word, 16, 5) != 31 || a64_bits(word, 10, 5) != 31)
			return;
		set_register(in, word);
		in->class = is_load ? A64_LOAD : A64_STORE;
		in->size_bytes = (uint8_t)(1 << a64_bits(word, 30, 2));
		in->is_64 = in->size_bytes == 8;
	} else if (a64_bit(word, 23) || (is_pair && !a64_bit(word, 31))) { /* cas, casp */
		in->class = A64_ATOMIC;
		in->written = rs | (a64_bit(word, 23) ? 0 : next);
	} else {
		in->class = A64_EXCLUSIVE;
		in->written = rs;
		if (is_load)
			in->written =
				rt |
				(is_pair ? a64_mask_of(a64_or_zero(a64_bits(word, 10, 5))) : 0);
	}
}

/* ldapur and stlur; copies and fills of memory; tags. */
static void newer(struct a64 *in, uint32_t word)
{
	bool is_plain = !a64_bit(word, 21) && a64_bits(word, 10, 2) == 0;
	uint32_t all = a64_mask_of(a64_or_zero(a64_bits(word, 0, 5))) |
		       a64_mask_of(a64_or_zero(a64_bits(word, 16, 5))) | 1u << a64_bits(word, 5, 5);

	if (!is_plain) {
		/* stg and its like, [n], #n: only rn is written */
		if (a64_bits(word, 30, 2) == 3 && a64_bit(word, 21) && a64_bits(word, 10, 2))
			all = a64_bits(word, 10, 2) == 2 ? 0 : 1u << a64_bits(word, 5, 5);
		return a64_other(in, all);
	}
	if (a64_bit(word, 26) || !single(in, word) || in->class == A64_PREFETCH) {
		in->class = A64_UNKNOWN;
		return;
	}
	in->imm = a64_signed_bits(word, 12, 9);
}

void a64_memory(struct a64 *in, uint32_t word)
{
	switch (a64_bits(word, 27, 3)) {
	case 1:
		if (a64_bit(word, 26)) /* vectors: one register or several */
			a64_other(in, a64_bit(word, 23) ? 1u << a64_bits(word, 5, 5) : 0);
		else if (!a64_bit(word, 24))
			ordered(in, word);
		break;
	case 3:
		if (a64_bit(word, 29))
			break;
		if (a64_bit(word, 24))
			newer(in, word);
		else
			literal(in, word);
		break;
	case 5:
		if (!a64_bit(word, 25))
			pair(in, word);
		break;
	case 7:
		if (!a64_bit(word, 25))
			one_register(in, word);
		break;
	}
}
