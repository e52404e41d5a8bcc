/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an ELF file of one machine has in other ways than those of another: x86-64 and arm64.
 *
 * Chosen by the file's e_machine at run time, so that a file of either is read everywhere.
 */
#ifndef CPROF_OBJECT_ARCH_H
#define CPROF_OBJECT_ARCH_H

#include <stddef.h>
#include <stdint.h>

/*
 * No address of a process is at or above this. arm64 has 2^48 bytes, and 2^52 for a process that asks for them; x86-64 has 2^47. A
 * bound for numbers from untrusted memory, not a machine's exact limit.
 */
#define ARCH_USER_LIMIT (1ull << 52)

/* Types of relocations, as r_info has them. */
struct arch_relocs {
	uint32_t irelative, glob_dat, jump_slot, absolute, relative;
};

struct arch {
	const char *name; /* as uname(2) says it */
	uint16_t machine; /* e_machine */
	struct arch_relocs relocs;
	uint8_t instruction_bytes; /* instructions begin at multiples of this */
	/* A function's first argument, and the first three, as a note of a probe has them (<sys/sdt.h>). */
	const char *sdt_argument, *sdt_arguments;
	size_t plt_slot_bytes; /* stubs of .plt begin at multiples of this, and are as long or longer */
	/*
	 * The length in bytes of the PLT stub that code begins with, in a section that has slots of slot_bytes and goes on for
	 * len_bytes, which are no fewer. Sets *got_addr to the GOT slot that it jumps through. 0: none begins there; *got_addr
	 * may have changed.
	 */
	size_t (*plt_stub)(const unsigned char *code, size_t len_bytes, size_t slot_bytes,
			   uint64_t elf_addr, uint64_t *got_addr);
};

extern const struct arch arch_x86_64, arch_arm64;

/* By e_machine. NULL: another machine. */
const struct arch *arch_of_machine(uint16_t machine);

#endif
