// SPDX-License-Identifier: BSD-2-Clause
/*
 * The kernel simulates branches, adr and adrp (arch/arm64/kernel/probes/decode-insn.c), and steps a copy of the rest, which
 * costs twice as much with hardware breakpoint registers and four times under emulation. glibc 2.36 and 2.41:
 *
 *	malloc	+0	stp x29,x30,[sp,#-64]!		+0	paciasp
 *	free	+0	cbz x0,+b0			+0	bti c		+4	cbz x0,+c8
 *
 * A return probe replaces x30, so it can only be at the entry: behind the stp the function returns by what it saved, and
 * behind the paciasp x30 is signed, and autiasp would kill the process. So only a probe that no return belongs to moves.
 *
 * Some entries take no probe. `ldr` of a literal is refused, but 5.10 simulates it and faults in the kernel (CVE-2024-50099);
 * between an exclusive load and its store no trap may come, or the store fails for ever; what the kernel refuses costs all
 * probes of the file. What is not known to be harmless ends a search, or is no place.
 */
#include "object/a64.h"
#include "probes/probesite_arch.h"

#define MAX_PROLOGUE_BYTES 64

/* An instruction, and where it is in its function. */
struct step {
	size_t at;
	uint32_t word;
	struct a64 in;
};

/* false: there is none at this offset. */
static bool decode(const struct probesite_code *code, size_t at, struct step *step)
{
	if (at + A64_BYTES > code->len_bytes)
		return false;
	step->at = at;
	step->word = a64_word(code->bytes + at);
	step->in = a64_decode(step->word);
	return true;
}

/* braa, retaa and the like, and bc.cond: kernels do not know that these are branches. */
static bool is_new_branch(uint32_t word)
{
	return (word & 0xfe000800) == 0xd6000800 || (word & 0xff000010) == 0x54000010;
}

static bool is_simulated(const struct step *step)
{
	switch (step->in.class) {
	case A64_B:
	case A64_BL:
	case A64_B_COND:
	case A64_CBZ:
	case A64_TBZ:
	case A64_BR:
	case A64_BLR:
	case A64_RET:
		return !is_new_branch(step->word);
	case A64_ADR:
	case A64_ADRP:
		return true;
	default:
		return false;
	}
}

/* Barriers, msr and the like; mrs is stepped. */
static bool is_of_system(uint32_t word)
{
	return (word & 0xffc00000) == 0xd5000000 && (word & 0xfff00000) != 0xd5300000;
}

/* Whether the kernel refuses a probe here, or it would do harm. */
static bool takes_no_probe(const struct step *step)
{
	switch (step->in.class) {
	case A64_UNKNOWN:
	case A64_SVC:
	case A64_BRK:
	case A64_ERET:
	case A64_LOAD_LITERAL:
	case A64_EXCLUSIVE:
	case A64_AUTH:
		return true;
	case A64_SIGN:
	case A64_BTI:
		return false;
	case A64_HINT:
		return step->in.imm != 0; /* nop is 0 */
	case A64_PREFETCH:
		return (step->word & 0x3b000000) == 0x18000000; /* of a literal */
	default:
		return is_new_branch(step->word) || is_of_system(step->word);
	}
}

/* Sets *target to where a branch leads. false: it is another instruction, or leads to what a register says. */
static bool branch_target(const struct probesite_code *code, const struct step *step,
			  uint64_t *target)
{
	if (!a64_is_relative_branch(&step->in))
		return false;
	*target = code->elf_addr + step->at + (uint64_t)step->in.imm;
	return true;
}

/* Does code lead back to between its entry and site? */
static bool is_in_a_loop(const struct probesite_code *code, size_t site)
{
	struct step step;
	uint64_t target;

	for (size_t at = 0; decode(code, at, &step); at += A64_BYTES)
		if (branch_target(code, &step, &target) && target - code->elf_addr <= site &&
		    target != code->elf_addr)
			return true;
	return false;
}

/* The first simulated instruction that each call comes to once, x0 unchanged; 0: there is none. */
static size_t search(const struct probesite_code *code)
{
	struct step step;

	for (size_t at = 0; at < MAX_PROLOGUE_BYTES && decode(code, at, &step); at += A64_BYTES) {
		if (is_simulated(&step))
			return is_in_a_loop(code, at) ? 0 : at;
		if (takes_no_probe(&step) || step.in.written & 1)
			return 0;
	}
	return 0;
}

static size_t choose(const struct probesite_code *code, unsigned int keeps)
{
	const unsigned int beyond = ~(PROBESITE_FIRST | PROBESITE_FIRST_OR_0);
	size_t site = keeps & beyond ? 0 : search(code);
	struct step step;

	if (code->elf_addr % A64_BYTES || !decode(code, site, &step) || takes_no_probe(&step))
		return PROBESITE_NONE;
	return site;
}

static bool calls(const struct probesite_code *code, bool doubt,
		  bool (*of_interest)(void *ctx, uint64_t elf_addr), void *ctx)
{
	struct step step;
	uint64_t target;
	size_t at = 0;

	for (; decode(code, at, &step); at += A64_BYTES) {
		if (branch_target(code, &step, &target)) {
			if (of_interest(ctx, target))
				return true;
		} else if (doubt && (step.in.class == A64_BR || step.in.class == A64_BLR ||
				     step.in.class == A64_UNKNOWN)) {
			return true;
		}
	}
	return at < code->len_bytes && doubt;
}

const struct probesite_arch probesite_arm64 = {choose, calls, PROBESITE_NONE};
