// SPDX-License-Identifier: BSD-2-Clause
/*
 * The input is a function: a byte of what is to be kept (32: it is arm64's), a byte for its address, then its code. Zydis
 * judges here too, but goes through the code straight on, instruction by instruction.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include <Zydis/Zydis.h>

#include "probes/probesite.h"

#define ARM64 32

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_TARGETS 64

struct calls {
	uint64_t targets[MAX_TARGETS];
	size_t nr;
};

static bool note_call(void *ctx, uint64_t elf_addr)
{
	struct calls *calls = ctx;

	if (calls->nr < MAX_TARGETS)
		calls->targets[calls->nr++] = elf_addr;
	return false;
}

static bool says_yes(void *ctx, uint64_t elf_addr)
{
	(void)ctx;
	(void)elf_addr;
	return true;
}

/* Does an instruction begin at offset, seen from the entry, and is it one that makes sense to probe? */
static bool is_boundary(const struct probesite_code *code, size_t offset)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction instruction;
	ZydisDecoder decoder;
	size_t at = 0;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (;;) {
		if (at >= code->len_bytes || !ZYAN_SUCCESS(ZydisDecoderDecodeFull(
						     &decoder, code->bytes + at,
						     code->len_bytes - at, &instruction, operands)))
			return false;
		if (at >= offset)
			return at == offset;
		/* Not every call comes by what is behind these. */
		if (instruction.meta.category == ZYDIS_CATEGORY_RET ||
		    instruction.meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
		    instruction.meta.category == ZYDIS_CATEGORY_CALL)
			return false;
		at += instruction.length;
	}
}

/* Of arm64: an instruction, the entry where something may be returned to; never a literal's load. */
static bool is_place(const struct probesite_code *code, size_t offset, unsigned int keeps)
{
	if (offset == PROBESITE_NONE)
		return true;
	return offset % 4 == 0 && offset + 4 <= code->len_bytes &&
	       (!offset || !(keeps & PROBESITE_STACK)) && (code->bytes[offset + 3] & 0x3b) != 0x18;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool is_arm64 = size && data[0] & ARM64;
	struct probesite_code code;
	struct calls calls = {.nr = 0};
	size_t offset;

	if (size < 2)
		return 0;
	code = (struct probesite_code){data + 2, size - 2, (uint64_t)data[1] << 56 | 0x401000,
				       is_arm64 ? &arch_arm64 : &arch_x86_64};
	offset = probesite_choose(&code, data[0] & 31);
	if (is_arm64 ? !is_place(&code, offset, data[0])
		     : offset && (offset >= code.len_bytes || !is_boundary(&code, offset)))
		abort();
	/* Wanting less, what is better is looked for at least as far. */
	if (offset && !is_arm64 && !(data[0] & PROBESITE_FIRST_OR_0) &&
	    probesite_choose(&code, 0) < offset)
		abort();
	if (probesite_calls(&code, false, note_call, &calls))
		abort(); /* nobody said yes */
	calls.nr = 0;
	/* Where nothing is of interest and all targets are known, a yes to each is a yes if there is one. */
	if (!probesite_calls(&code, true, note_call, &calls) &&
	    probesite_calls(&code, true, says_yes, NULL) != (calls.nr > 0))
		abort();
	return 0;
}
