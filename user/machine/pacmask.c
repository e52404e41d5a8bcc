/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How many bits a signature has depends on the size of addresses that the kernel was built for. Found out by signing: of 64 signatures
 * each bit of one is set, but for one chance in 2^64.
 */
#include "machine/pacmask.h"

#ifdef __aarch64__

#include <stdbool.h>

#define NR_SIGNED 64

/* Signs with the processor's key. One without keys does nothing here. */
static uint64_t sign(uint64_t address, uint64_t modifier)
{
	register uint64_t x17 __asm__("x17") = address;
	register uint64_t x16 __asm__("x16") = modifier;

	__asm__("hint #8"
		: "+r"(x17)
		: "r"(x16)); /* pacia1716, which older assemblers do not know */
	return x17;
}

uint64_t pacmask_get(void)
{
	static uint64_t mask;
	static bool is_known;
	const uint64_t address = (uint64_t)(uintptr_t)&pacmask_get;

	for (uint64_t i = 0; !is_known && i < NR_SIGNED; i++)
		mask |= sign(address, i * 0x9e3779b97f4a7c15u) ^ address;
	is_known = true;
	return mask;
}

#else

uint64_t pacmask_get(void)
{
	return 0;
}

#endif
