// SPDX-License-Identifier: BSD-2-Clause
/*
 * Chooses the machine; how code is read is in a file for each of them.
 */
#include "probes/probesite.h"

#include "probes/probesite_arch.h"

static const struct probesite_arch *arch_of(const struct probesite_code *code)
{
	return code->arch == &arch_arm64 ? &probesite_arm64 : &probesite_x86_64;
}

static bool is_readable(const struct probesite_code *code)
{
	return code->len_bytes && code->len_bytes <= PROBESITE_MAX_BYTES;
}

size_t probesite_choose(const struct probesite_code *code, unsigned int keeps)
{
	const struct probesite_arch *arch = arch_of(code);

	return is_readable(code) ? arch->choose(code, keeps) : arch->unseen;
}

bool probesite_calls(const struct probesite_code *code, bool doubt,
		     bool (*of_interest)(void *ctx, uint64_t elf_addr), void *ctx)
{
	return is_readable(code) ? arch_of(code)->calls(code, doubt, of_interest, ctx) : doubt;
}
