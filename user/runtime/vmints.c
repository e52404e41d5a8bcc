// SPDX-License-Identifier: BSD-2-Clause
/*
 * UNSIGNED5 is of the Pack200 format: up to five digits of base 64, the least first. A byte below a limit is the last digit.
 *
 *	PACK200		0..191 end a number, 192..255 go on
 *	NO_NUL		1..191 end a number, 192..255 go on, each is one more than its digit; 0 is in no number
 *	SPARSE		bits: 0 is the number 0; else 1, more, 6 bits; then groups of more, 7 bits
 */
#include "runtime/vmints.h"

#define DIGIT_SHIFT 6
#define MAX_DIGITS  5
#define FIRST_HIGH  192

bool vm_ints_next_byte(struct vm_ints *ints, uint8_t *value)
{
	if (ints->at >= ints->nr)
		return false;
	*value = ints->bytes[ints->at++];
	return true;
}

/* Eight bits, which begin anywhere in a byte. */
static bool next_bits(struct vm_ints *ints, uint8_t *value)
{
	uint32_t bits;

	if (ints->at + (ints->bit > 0) >= ints->nr)
		return false;
	bits = (uint32_t)ints->bytes[ints->at] << 8;
	if (ints->bit)
		bits |= ints->bytes[ints->at + 1];
	*value = (uint8_t)(bits >> (8 - ints->bit));
	ints->at++;
	return true;
}

static bool next_sparse(struct vm_ints *ints, uint32_t *value)
{
	uint8_t group;
	uint32_t sum;

	if (ints->at >= ints->nr)
		return false;
	if (!(ints->bytes[ints->at] & (0x80u >> ints->bit))) {
		ints->bit = (ints->bit + 1) % 8;
		ints->at += !ints->bit;
		*value = 0;
		return true;
	}
	if (!next_bits(ints, &group))
		return false;
	sum = group & 0x3f;
	group = group & 0x40 ? 0x80 : 0;
	for (uint32_t shift = 6; group & 0x80; shift += 7) {
		if (shift > 31 || !next_bits(ints, &group))
			return false;
		sum |= (uint32_t)(group & 0x7f) << shift;
	}
	*value = sum;
	return true;
}

bool vm_ints_next(struct vm_ints *ints, uint32_t *value)
{
	uint32_t excluded = ints->coding == VM_CODING_NO_NUL, sum = 0;
	uint8_t byte;

	if (ints->coding == VM_CODING_SPARSE)
		return next_sparse(ints, value);
	for (uint32_t i = 0; i < MAX_DIGITS; i++) {
		if (!vm_ints_next_byte(ints, &byte) || byte < excluded)
			return false;
		sum += (byte - excluded) << (DIGIT_SHIFT * i);
		if (byte < FIRST_HIGH)
			break;
	}
	*value = sum;
	return true;
}

bool vm_ints_next_signed(struct vm_ints *ints, int32_t *value)
{
	uint32_t read;

	if (!vm_ints_next(ints, &read))
		return false;
	*value = (int32_t)(read >> 1 ^ (0u - (read & 1)));
	return true;
}
