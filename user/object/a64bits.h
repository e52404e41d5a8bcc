/* SPDX-License-Identifier: BSD-2-Clause */
/* Fields of A64 words. Private to a64.c and a64memory.c, which decode them. */
#ifndef CPROF_OBJECT_A64BITS_H
#define CPROF_OBJECT_A64BITS_H

#include "object/a64.h"

/* nr bits from bit number from on; nr < 32. */
static inline uint32_t a64_bits(uint32_t word, unsigned int from, unsigned int nr)
{
	return word >> from & ((1u << nr) - 1);
}

/* One bit. */
static inline bool a64_bit(uint32_t word, unsigned int number)
{
	return word >> number & 1;
}

/* The same as a signed number. */
static inline int64_t a64_signed_bits(uint32_t word, unsigned int from, unsigned int nr)
{
	return (int32_t)(word << (32 - from - nr)) >> (32 - nr);
}

/* The register of a field in which 31 is the zero register. */
static inline uint8_t a64_or_zero(uint32_t number)
{
	return number == 31 ? A64_ZR : (uint8_t)number;
}

/* Its bit in `written`. */
static inline uint32_t a64_mask_of(uint8_t reg)
{
	return reg < A64_ZR ? 1u << reg : 0;
}

/* Makes in an A64_OTHER that writes these. */
static inline void a64_other(struct a64 *in, uint32_t written)
{
	in->class = A64_OTHER;
	in->written = written;
}

/* Memory instructions: bits 28 to 25 are x1x0. in is as a64_decode() begins it: A64_UNKNOWN, without registers. */
void a64_memory(struct a64 *in, uint32_t word);

#endif
