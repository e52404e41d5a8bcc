// SPDX-License-Identifier: BSD-2-Clause
/*
 * An uprobe is a breakpoint instruction in place of one of the target's. After the trap the kernel
 * makes up for that one: either it emulates it, for the few that it knows (arch/x86/kernel/uprobes.c:
 * push of a register, jumps and calls with a relative target, nop), or it lets the thread step over a
 * copy of it, which is a second trap and costs ten times as much (measured: 0.7 against 9.4 us).
 *
 * Functions begin with either. glibc 2.36's free:
 *
 *	+0	test %rdi,%rdi		stepped
 *	+3	je   +c8		emulated; free(NULL) leaves here
 *	+9	push %rbp		emulated; the argument is still in rdi, the stack as it was
 *	...
 *	+35	jne  +128		emulated; the argument is still in rdi
 *
 * So the code is followed from the entry, and the first emulated instruction is it, unless something
 * before it wrote a register that the probe reads. At a push the stack pointer has not moved yet. Who
 * does not need that either is better off with a jump further down: the kernel has nothing to write
 * for it (25 of 600 ns). A conditional jump ends the search, because behind it not every call comes
 * by, but for one: where calls with a first argument of 0 do not matter (free), and it is those that
 * jump.
 *
 * A call must not come by twice either: a site that a jump of the same function leads to, or behind,
 * from further down is none. Rejected: probing behind a `sub $n,%rsp` and telling BPF the distance. The
 * kernel's return probe replaces what is on top of the stack at the site, whatever it is.
 *
 * What is emulated is taken from Linux 5.10. Later kernels know more (long nops since 6.18).
 */
#include <Zydis/Zydis.h>

#include "probes/probesite_arch.h"

/* A prologue is shorter than this. */
#define MAX_PROLOGUE_BYTES 64

struct step {
	size_t at; /* of the instruction */
	ZydisDecodedInstruction instruction;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

static bool decode(const ZydisDecoder *decoder, const struct probesite_code *code, size_t at,
		   struct step *step)
{
	if (at >= code->len_bytes)
		return false;
	step->at = at;
	return ZYAN_SUCCESS(ZydisDecoderDecodeFull(decoder, code->bytes + at, code->len_bytes - at,
						   &step->instruction, step->operands));
}

static size_t next_of(const struct step *step)
{
	return step->at + step->instruction.length;
}

static bool is_branch(const struct step *step)
{
	switch (step->instruction.meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
	case ZYDIS_CATEGORY_UNCOND_BR:
	case ZYDIS_CATEGORY_CALL:
		return true;
	default:
		return false;
	}
}

/* Sets *elf_addr to the target of a relative call or jump. false: it is another instruction. */
static bool branch_target(const struct probesite_code *code, const struct step *step,
			  uint64_t *elf_addr)
{
	const ZydisDecodedOperand *target = &step->operands[0];

	if (!is_branch(step) || target->type != ZYDIS_OPERAND_TYPE_IMMEDIATE ||
	    !target->imm.is_relative)
		return false;
	*elf_addr = code->elf_addr + next_of(step) + (uint64_t)target->imm.value.s;
	return true;
}

/* push of a 64-bit register, in one byte or two. */
static bool is_emulated_push(const uint8_t *bytes, size_t len)
{
	return (len == 1 && (bytes[0] & 0xf8) == 0x50) ||
	       (len == 2 && bytes[0] == 0x41 && (bytes[1] & 0xf8) == 0x50);
}

static bool is_emulated(const struct probesite_code *code, const struct step *step)
{
	const uint8_t *bytes = code->bytes + step->at;
	size_t len = step->instruction.length;

	if (is_emulated_push(bytes, len))
		return true;
	switch (bytes[0]) { /* so there are no prefixes */
	case 0x90:	    /* nop */
	case 0xe8:	    /* call */
	case 0xe9:	    /* jmp */
	case 0xeb:	    /* jmp */
		return true;
	case 0x0f: /* jcc */
		return len == 6 && (bytes[1] & 0xf0) == 0x80;
	default: /* jcc */
		return len == 2 && (bytes[0] & 0xf0) == 0x70;
	}
}

static unsigned int kept_as(ZydisRegister reg)
{
	switch (ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg)) {
	case ZYDIS_REGISTER_RDI:
		return PROBESITE_FIRST;
	case ZYDIS_REGISTER_RSI:
		return PROBESITE_SECOND;
	case ZYDIS_REGISTER_RDX:
		return PROBESITE_THIRD;
	case ZYDIS_REGISTER_RSP:
		return PROBESITE_STACK;
	default:
		return 0;
	}
}

/* May the search go on behind this instruction? */
static bool leaves_alone(const struct step *step, unsigned int keeps)
{
	switch (step->instruction.meta.category) {
	case ZYDIS_CATEGORY_RET:
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_SYSTEM:
	case ZYDIS_CATEGORY_INTERRUPT:
		return false;
	default:
		break;
	}
	for (size_t i = 0; i < step->instruction.operand_count; i++) {
		const ZydisDecodedOperand *operand = &step->operands[i];

		if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
		    kept_as(operand->reg.value) & keeps)
			return false;
	}
	return !is_branch(step);
}

/* test %rdi,%rdi */
static bool tests_first_argument(const struct step *step)
{
	const ZydisDecodedOperand *operands = step->operands;

	return step->instruction.mnemonic == ZYDIS_MNEMONIC_TEST &&
	       operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       operands[0].reg.value == ZYDIS_REGISTER_RDI &&
	       operands[1].reg.value == ZYDIS_REGISTER_RDI;
}

/* Does code lead back to between its entry and site? Yes if in doubt. */
static bool is_in_a_loop(const ZydisDecoder *decoder, const struct probesite_code *code,
			 size_t site)
{
	uint64_t target;
	struct step step;
	size_t at;

	for (at = 0; at < code->len_bytes; at = next_of(&step)) {
		if (!decode(decoder, code, at, &step))
			return true;
		if (branch_target(code, &step, &target) && target - code->elf_addr <= site &&
		    target != code->elf_addr)
			return true;
	}
	return false;
}

/* Has the kernel to write to the target's stack for it? */
static bool pushes(const struct step *step)
{
	return step->instruction.meta.category == ZYDIS_CATEGORY_PUSH ||
	       step->instruction.meta.category == ZYDIS_CATEGORY_CALL;
}

/* The best emulated instruction that each call comes to once; 0 if there is none. */
static size_t search(const ZydisDecoder *decoder, const struct probesite_code *code,
		     unsigned int keeps)
{
	bool tested = false, has_push = false;
	size_t at = 0, site = 0;
	struct step step;

	for (; at < MAX_PROLOGUE_BYTES && decode(decoder, code, at, &step); at = next_of(&step)) {
		bool ends = !leaves_alone(&step, keeps);

		if (is_emulated(code, &step)) {
			if (is_in_a_loop(decoder, code, at))
				return site;
			if (!has_push || !pushes(&step))
				site = at;
			has_push = pushes(&step);
			/* a site after this jump is better: only calls of interest reach it */
			if (tested && keeps & PROBESITE_FIRST_OR_0 &&
			    step.instruction.mnemonic == ZYDIS_MNEMONIC_JZ)
				keeps &= ~PROBESITE_FIRST_OR_0;
			else if (ends || !has_push)
				return site;
		} else if (ends) {
			return site;
		}
		tested = tests_first_argument(&step);
	}
	return site;
}

static size_t choose(const struct probesite_code *code, unsigned int keeps)
{
	ZydisDecoder decoder;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	return search(&decoder, code, keeps);
}

static bool calls(const struct probesite_code *code, bool doubt,
		  bool (*of_interest)(void *ctx, uint64_t elf_addr), void *ctx)
{
	ZydisDecoder decoder;
	uint64_t target;
	struct step step;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (size_t at = 0; at < code->len_bytes; at = next_of(&step)) {
		if (!decode(&decoder, code, at, &step))
			return doubt;
		if (!is_branch(&step))
			continue;
		if (branch_target(code, &step, &target) ? of_interest(ctx, target) : doubt)
			return true;
	}
	return false;
}

const struct probesite_arch probesite_x86_64 = {choose, calls, 0};
