// SPDX-License-Identifier: BSD-2-Clause
/*
 * CRuby exports its version and, up to 3.2, where its state is: a thread-local pointer to the execution context, ruby_current_ec.
 * Since 3.3 that is hidden, but rb_thread_current(), which extensions call, begins with it in all of them, and a library asks for a
 * thread-local variable in one way:
 *
 *	lea  index(%rip),%rdi		its module and its offset there, which the loader fills in
 *	call __tls_get_addr
 *	mov  (%rax),%rax
 *
 * or, on arm64, in a function that rb_thread_current() calls or in itself,
 *
 *	adrp x0, pair; ldr x1, [x0, #pair]; add x0, x0, #pair; blr x1
 *
 * where the loader fills in a function and its argument: a distance from the thread pointer, or where a module and an offset are
 * (ELF for the Arm 64-bit Architecture, "Thread-local storage", TLSDESC). BPF tells one from the other (bpf/ruby.bpf.c).
 *
 * Where fields are inside of structures is the same within a minor version; the table below was taken from the memory of
 * programs that each ran. Versions that could not be had are not in it, nor is 2.7, which makes a frame the current one before it
 * has filled it in: 2 ticks of 10,000 had the name of the method that was called there before.
 */
#include "runtime/ruby.h"

#include <string.h>

#include <Zydis/Zydis.h>

#include "object/a64.h"
#include "object/dynsym.h"

#define MAX_PROLOGUE_BYTES 64

static const struct abi_ruby layouts[] = {
	{.version = 0x0301, .frame_bytes = 64, .lines_at = 120, .entry_bytes = 12, .text_at = 16},
	{.version = 0x0303, .frame_bytes = 56, .lines_at = 112, .entry_bytes = 12, .text_at = 24},
	{.version = 0x0304, .frame_bytes = 56, .lines_at = 112, .entry_bytes = 12, .text_at = 24},
};

bool ruby_layout(uint16_t version, struct abi_ruby *layout)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		if (layouts[i].version != version)
			continue;
		*layout = layouts[i];
		return true;
	}
	return false;
}

/* 0: not known. */
static uint16_t version_of(const struct elf_file *elf)
{
	uint32_t numbers[2]; /* major, minor */
	uint64_t at;

	if (!dynsym_variable(elf, "ruby_api_version", &at) ||
	    !elf_file_read(elf, at, numbers, sizeof(numbers)) || numbers[0] > 0xff ||
	    numbers[1] > 0xff)
		return 0;
	return (uint16_t)(numbers[0] << 8 | numbers[1]);
}

static bool is_lea_to_rdi(const ZydisDecodedInstruction *in)
{
	return in->opcode == 0x8d && in->raw.modrm.mod == 0 && in->raw.modrm.reg == 7 &&
	       in->raw.modrm.rm == 5 && in->raw.disp.size == 32;
}

static bool is_call(const ZydisDecodedInstruction *in)
{
	return in->opcode == 0xe8 || (in->opcode == 0xff && in->raw.modrm.reg == 2);
}

static bool is_load_of_rax(const ZydisDecodedInstruction *in)
{
	return in->opcode == 0x8b && !in->raw.modrm.mod && !in->raw.modrm.reg && !in->raw.modrm.rm;
}

/* Finds the address of the index of the thread-local variable that a function loads first. false: it loads none. */
static bool x86_find_index(const struct elf_file *elf, uint64_t function, uint64_t *state)
{
	uint8_t code[MAX_PROLOGUE_BYTES];
	ZydisDecodedInstruction in;
	ZydisDecoder decoder;
	bool was_call = false;
	uint64_t index = 0;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (!elf_file_read(elf, function, code, sizeof(code)))
		return false;
	for (size_t at = 0; at < sizeof(code); at += in.length) {
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, code + at,
								sizeof(code) - at, &in)))
			return false;
		if (was_call) {
			*state = index;
			return index && is_load_of_rax(&in);
		}
		if (is_lea_to_rdi(&in))
			index = function + at + in.length + (uint64_t)in.raw.disp.value;
		was_call = is_call(&in);
	}
	return false;
}

/* Is it the four instructions above? Then *state is where the pair is. */
static bool is_pair(const struct a64 in[4], uint64_t at, uint64_t *state)
{
	const struct a64 *page = &in[0], *load = &in[1], *add = &in[2];

	if (page->class != A64_ADRP || load->class != A64_LOAD || load->rn != page->rd ||
	    add->class != A64_ADD_IMM || add->rn != page->rd || add->rd != 0 ||
	    in[3].class != A64_BLR || in[3].rn != load->rd)
		return false;
	*state = (at & ~4095ull) + (uint64_t)page->imm + (uint64_t)add->imm;
	return true;
}

/* The same for arm64. callee: of the first call; 0 where there is none before. */
static bool arm64_find_pair(const struct elf_file *elf, uint64_t function, uint64_t *state,
			    uint64_t *callee)
{
	uint8_t code[MAX_PROLOGUE_BYTES];
	struct a64 in[MAX_PROLOGUE_BYTES / A64_BYTES];

	*callee = 0;
	if (!elf_file_read(elf, function, code, sizeof(code)))
		return false;
	for (size_t i = 0; i < sizeof(code) / A64_BYTES; i++)
		in[i] = a64_decode(a64_word(code + i * A64_BYTES));
	for (size_t i = 0; i + 3 < sizeof(code) / A64_BYTES; i++) {
		uint64_t at = function + i * A64_BYTES;

		if (is_pair(in + i, at, state))
			return true;
		if (in[i].class == A64_BL) {
			*callee = at + (uint64_t)in[i].imm;
			return false;
		}
	}
	return false;
}

static bool arm64_find_index(const struct elf_file *elf, uint64_t function, uint64_t *state)
{
	uint64_t callee, next;

	return arm64_find_pair(elf, function, state, &callee) ||
	       (callee && arm64_find_pair(elf, callee, state, &next));
}

static bool find_index(const struct elf_file *elf, uint64_t function, uint64_t *state)
{
	return elf_file_arch(elf) == &arch_arm64 ? arm64_find_index(elf, function, state)
						 : x86_find_index(elf, function, state);
}

bool ruby_find(struct object *object, struct ruby_file *ruby)
{
	const struct elf_file *elf = object_elf(object);
	uint64_t state, function;

	if (!dynsym_function(elf, "rb_thread_current", &function) ||
	    !ruby_layout(version_of(elf), &ruby->layout))
		return false;
	if (!find_index(elf, function, &state))
		return false;
	ruby->layout.state = state;
	return rubyloop_find(object, &ruby->loops);
}
