/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Machine code that a walk recognizes, with Zydis as the judge of what it is. Steps by it are compared
 * with BPF's in tests/bpf.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include <Zydis/Zydis.h>

#include "code_abi.h"
#include "unwind/codestep.h"

#define NR_TRIES 400000

static ZydisDecoder decoder;

struct decoded {
	ZydisDecodedInstruction instruction;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

static bool decode(const uint8_t *bytes, size_t len, struct decoded *in)
{
	return ZYAN_SUCCESS(
		ZydisDecoderDecodeFull(&decoder, bytes, len, &in->instruction, in->operands));
}

/* Any bytes, but often those that matter. */
static uint64_t random_bytes(void)
{
	static const uint8_t likely[] = {0x48, 0x41, 0x81, 0x83, 0xc4, 0xec, 0x89, 0x8b,
					 0xe5, 0xff, 0xd0, 0x14, 0x15, 0x54, 0x55, 0x5d,
					 0x5c, 0xe8, 0xc3, 0xc9, 0xf3, 0x25, 0x94, 0x90,
					 0,    0x0f, 0x1e, 0xfa, 0x56, 0x5b};
	uint64_t bytes = 0;

	for (int i = 0; i < 8; i++)
		bytes = bytes << 8 | (random() % 3 ? likely[(size_t)random() % sizeof(likely)]
						   : (uint8_t)(random() >> 7));
	return bytes;
}

static bool is_register(const struct decoded *in, int i, ZydisRegister reg)
{
	return in->operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       in->operands[i].reg.value == reg;
}

static uint32_t judged_effect(const struct decoded *in)
{
	switch (in->instruction.mnemonic) {
	case ZYDIS_MNEMONIC_RET:
		return CODE_RETURNS;
	case ZYDIS_MNEMONIC_LEAVE:
		return CODE_LEAVES;
	case ZYDIS_MNEMONIC_POP:
		return is_register(in, 0, ZYDIS_REGISTER_RBP) ? CODE_POPS_FP : CODE_MOVES_SP;
	case ZYDIS_MNEMONIC_MOV:
		return is_register(in, 0, ZYDIS_REGISTER_RBP) &&
				       is_register(in, 1, ZYDIS_REGISTER_RSP)
			       ? CODE_SETS_FP
			       : CODE_OTHER;
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_CALL:
	case ZYDIS_MNEMONIC_ENDBR64:
		return CODE_MOVES_SP;
	default:
		return CODE_OTHER;
	}
}

static int64_t judged_delta(const struct decoded *in)
{
	switch (in->instruction.mnemonic) {
	case ZYDIS_MNEMONIC_POP:
		return 8;
	case ZYDIS_MNEMONIC_PUSH:
		return -8;
	case ZYDIS_MNEMONIC_ADD:
		assert_true(is_register(in, 0, ZYDIS_REGISTER_RSP));
		return in->operands[1].imm.value.s;
	case ZYDIS_MNEMONIC_SUB:
		assert_true(is_register(in, 0, ZYDIS_REGISTER_RSP));
		return -in->operands[1].imm.value.s;
	default:
		return 0;
	}
}

/* What is taken for an instruction of a straight line is one, and does what is said of it. */
static void test_instructions(void **state)
{
	uint32_t nr[CODE_RETURNS + 1] = {0};

	(void)state;
	for (int i = 0; i < NR_TRIES; i++) {
		uint64_t bytes = random_bytes();
		uint32_t instruction = code_instruction(bytes), effect = code_effect(instruction);
		struct decoded in;

		nr[effect]++;
		if (effect == CODE_OTHER)
			continue;
		assert_true(decode((const uint8_t *)&bytes, sizeof(bytes), &in));
		assert_int_equal(code_len(instruction), in.instruction.length);
		assert_int_equal(effect, judged_effect(&in));
		assert_int_equal(code_delta(instruction), judged_delta(&in));
	}
	for (uint32_t effect = 0; effect <= CODE_RETURNS; effect++)
		assert_true(nr[effect] > 10);
}

/* Is there a call, without prefixes, that ends where these bytes do? */
static bool judged_behind_call(const uint8_t *bytes)
{
	for (size_t at = 0; at < 7; at++) {
		struct decoded in;

		if ((bytes[at] == 0xe8 || bytes[at] == 0xff) && decode(bytes + at, 8 - at, &in) &&
		    in.instruction.length == 8 - at &&
		    in.instruction.mnemonic == ZYDIS_MNEMONIC_CALL &&
		    in.instruction.meta.branch_type == ZYDIS_BRANCH_TYPE_NEAR)
			return true;
	}
	return false;
}

static void test_behind_call(void **state)
{
	int nr[2] = {0};

	(void)state;
	for (int i = 0; i < NR_TRIES; i++) {
		uint64_t bytes = random_bytes();
		bool is_behind = code_is_behind_call(bytes);

		if (is_behind != judged_behind_call((const uint8_t *)&bytes))
			fail_msg("%016llx: behind a call: %d", (unsigned long long)bytes,
				 is_behind);
		nr[is_behind]++;
	}
	assert_true(nr[0] > NR_TRIES / 10 && nr[1] > NR_TRIES / 100);
}

static int set_up(void **state)
{
	(void)state;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	srandom(1);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_instructions),
		cmocka_unit_test(test_behind_call),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
