// SPDX-License-Identifier: BSD-2-Clause
/*
 * A PLT stub of x86-64 is one indirect jump, after an optional endbr64 (f3 0f 1e fa) and an optional bnd (f2):
 *
 *	ff 25 disp32		jmp	*disp(%rip)
 *
 * Those of arm64 compute the slot's address, and leave it in x16 for the dynamic linker. The first and the autia1716 are
 * there in files that are built for BTI and for signed pointers (-z pac-plt); a nop fills such a stub up to 24 bytes:
 *
 *	d503245f		bti	c
 *	90000010		adrp	x16, page
 *	f9400211		ldr	x17, [x16, #off]
 *	91000210		add	x16, x16, #off
 *	d503219f		autia1716
 *	d61f0220		br	x17
 *
 * (System V ABI, AMD64 supplement, 5.2; ELF for the Arm 64-bit Architecture, "Dynamic Linking".) The code before all stubs
 * looks like one; its slot has no relocation.
 */
#include "object/arch.h"

#include <elf.h>
#include <string.h>

static size_t x86_64_stub(const unsigned char *code, size_t len_bytes, size_t slot_bytes,
			  uint64_t elf_addr, uint64_t *got_addr)
{
	static const unsigned char endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	size_t at = !memcmp(code, endbr64, sizeof(endbr64)) ? sizeof(endbr64) : 0;
	int32_t disp;

	(void)len_bytes;
	at += code[at] == 0xf2;
	if (at + 6 > slot_bytes || code[at] != 0xff || code[at + 1] != 0x25)
		return 0;
	memcpy(&disp, code + at + 2, sizeof(disp));
	*got_addr = elf_addr + at + 6 + (uint64_t)(int64_t)disp;
	return slot_bytes;
}

#define ARM64_NOP	0xd503201fu
#define ARM64_BTI_C	0xd503245fu
#define ARM64_AUTIA1716 0xd503219fu
#define ARM64_BR_X17	0xd61f0220u
#define ARM64_MAX_WORDS 6 /* of a stub */

/* The page that `adrp` at elf_addr computes: 21 bits, the lower two of which come last. */
static uint64_t adrp_page(uint32_t word, uint64_t elf_addr)
{
	uint64_t pages = (uint64_t)(word >> 5 & 0x7ffff) << 2 | (word >> 29 & 3);

	if (pages & 1 << 20)
		pages |= ~0ull << 21;
	return (elf_addr & ~0xfffull) + (pages << 12);
}

static size_t arm64_stub(const unsigned char *code, size_t len_bytes, size_t slot_bytes,
			 uint64_t elf_addr, uint64_t *got_addr)
{
	uint32_t words[ARM64_MAX_WORDS + 1] = {0}, *word = words;
	size_t nr = len_bytes / sizeof(*words);

	(void)slot_bytes;
	memcpy(words, code, (nr < ARM64_MAX_WORDS ? nr : ARM64_MAX_WORDS) * sizeof(*words));
	word += *word == ARM64_BTI_C;
	if ((word[0] & 0x9f00001f) != 0x90000010 || (word[1] & 0xffc003ff) != 0xf9400211 ||
	    (word[2] & 0xffc003ff) != 0x91000210)
		return 0;
	*got_addr = adrp_page(word[0], elf_addr + (word - words) * sizeof(*words)) +
		    (word[1] >> 10 & 0xfff) * 8;
	word += 3;
	word += *word == ARM64_AUTIA1716;
	if (*word++ != ARM64_BR_X17)
		return 0;
	word += word - words == ARM64_MAX_WORDS - 1 && *word == ARM64_NOP;
	return (word - words) * sizeof(*words);
}

const struct arch arch_x86_64 = {
	.name = "x86_64",
	.machine = EM_X86_64,
	.relocs = {R_X86_64_IRELATIVE, R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT, R_X86_64_64,
		   R_X86_64_RELATIVE},
	.instruction_bytes = 1,
	.sdt_argument = "8@%rdi",
	.sdt_arguments = "8@%rdi 8@%rsi 8@%rdx",
	.plt_slot_bytes = 16,
	.plt_stub = x86_64_stub,
};

const struct arch arch_arm64 = {
	.name = "aarch64",
	.machine = EM_AARCH64,
	.relocs = {R_AARCH64_IRELATIVE, R_AARCH64_GLOB_DAT, R_AARCH64_JUMP_SLOT, R_AARCH64_ABS64,
		   R_AARCH64_RELATIVE},
	.instruction_bytes = 4,
	.sdt_argument = "8@x0",
	.sdt_arguments = "8@x0 8@x1 8@x2",
	.plt_slot_bytes = 4,
	.plt_stub = arm64_stub,
};

const struct arch *arch_of_machine(uint16_t machine)
{
	static const struct arch *const all[] = {&arch_x86_64, &arch_arm64};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i]->machine == machine)
			return all[i];
	return NULL;
}
