/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arm64's rules and steps over a made-up memory: what differs from x86-64. That its tables say what the files say is
 * judged by libdw (test_ehframe_oracle.c).
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "arch/arm64_code.h"
#include "unwind/codestep.h"
#include "unwind/tablebuild.h"
#include "unwind/unwindstep.h"
#include "unit/cfi_asm.h"

#define START 0x401000ull
#define BASE  0x7000ull
#define WORDS 128
#define MASK  0x007f000000000000ull /* 48 bits of address: a signature is in 54 to 48 */

#define HOW(fp, ra) (uint8_t)(UNWIND_##fp | UNWIND_##ra << 4)

static struct cfi_asm as;
static uint64_t stack[WORDS];
static uint32_t code[16]; /* at START */

static bool read_stack(void *ctx, uint64_t addr, uint64_t *value)
{
	(void)ctx;
	if (addr < BASE || addr >= BASE + sizeof(stack) || addr % 8)
		return false;
	*value = stack[(addr - BASE) / 8];
	return true;
}

static bool read_code(void *ctx, uint64_t addr, void *to, size_t len_bytes)
{
	(void)ctx;
	if (addr < START || addr + len_bytes > START + sizeof(code))
		return false;
	memcpy(to, (const uint8_t *)code + (addr - START), len_bytes);
	return true;
}

static bool knows(void *ctx, uint64_t ip)
{
	(void)ctx;
	return ip >= START && ip < START + sizeof(code);
}

static const uint64_t leaf_regs[UNWIND_NR_REGS] = {1, [30] = START + 8};

static struct unwind_regs leaf_at(uint64_t ip)
{
	return (struct unwind_regs){.ip = ip,
				    .sp = BASE,
				    .fp = BASE + 64,
				    .extra = START + 8,
				    .ip_exact = true,
				    .extra_known = true,
				    .pac_mask = MASK,
				    .leaf = leaf_regs};
}

static struct unwind_regs caller_at(uint64_t ip)
{
	struct unwind_regs regs = leaf_at(ip);

	regs.ip_exact = regs.extra_known = false;
	regs.leaf = NULL;
	return regs;
}

static int set_up(void **state)
{
	(void)state;
	memset(code, 0, sizeof(code));
	for (uint64_t i = 0; i < WORDS; i++)
		stack[i] = 0x1000 + 4 * i;
	return 0;
}

static enum unwind_status step(struct unwind_rule rule, struct unwind_regs *regs)
{
	return unwind_step(&unwind_arm64, &rule, regs, read_stack, NULL);
}

static void assert_regs(const struct unwind_regs *regs, uint64_t ip, uint64_t sp, uint64_t fp)
{
	assert_int_equal(regs->ip, ip);
	assert_int_equal(regs->sp, sp);
	assert_int_equal(regs->fp, fp);
	assert_int_equal(regs->pac_mask, MASK);
	assert_null(regs->leaf);
}

static const struct unwind_rule in_lr = {.kind = UNWIND_FRAME,
					 .cfa_reg = ARM64_REG_SP,
					 .how = HOW(SAME, IN_REG),
					 .ra_off = ARM64_REG_LR};
static const struct unwind_rule pair = {.kind = UNWIND_FRAME,
					.cfa_reg = ARM64_REG_SP,
					.how = HOW(AT_CFA, AT_CFA),
					.cfa_off = 96,
					.fp_off = -32,
					.ra_off = -24};

/* Every rule of 20 bits is the same when it is packed again. */
static void test_packing(void **state)
{
	(void)state;
	for (uint32_t packed = 0; packed < UNWIND_RULE_EXTENDED; packed++) {
		struct unwind_rule rule = unwind_arm64.unpack(packed, 0);

		assert_int_equal(unwind_arm64.pack(&rule), packed);
		rule.extra_slot = 1;
		assert_int_equal(unwind_arm64.pack(&rule), UNWIND_RULE_EXTENDED);
	}
}

static void test_unpackable(void **state)
{
	const struct unwind_rule rules[] = {
		{UNWIND_FRAME, ARM64_REG_SP, HOW(AT_CFA, AT_CFA), 0, 40, -32, -24, 0},
		{UNWIND_FRAME, ARM64_REG_SP, HOW(AT_CFA, AT_CFA), 0, 8192, -32, -24, 0},
		{UNWIND_FRAME, ARM64_REG_SP, HOW(AT_CFA, AT_CFA), 0, 96, -4096, -4088, 0},
		{UNWIND_FRAME, ARM64_REG_SP, HOW(AT_CFA, AT_CFA), 0, 96, -32, -16, 0},
		{UNWIND_FRAME, ARM64_REG_SP, HOW(SAME, AT_CFA), 0, 96, 0, -8, 0},
		{UNWIND_FRAME, ARM64_REG_SP, HOW(SAME, IN_REG), 0, 96, 0, 15, 0},
		{UNWIND_FRAME, 19, HOW(SAME, IN_REG), 0, 96, 0, 30, 0},
		{UNWIND_FRAME, ARM64_REG_SP, HOW(SAME, IN_REG), 0, -16, 0, 30, 0},
		{.kind = UNWIND_ROOT},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		assert_int_equal(unwind_arm64.pack(&rules[i]), UNWIND_RULE_EXTENDED);
}

/* A leaf's return address is in lr, signed or not; a caller's never is. */
static void test_link(void **state)
{
	struct unwind_regs regs = leaf_at(START), caller = caller_at(START);

	(void)state;
	regs.extra |= 0x0055000000000000ull;
	assert_int_equal(step(in_lr, &regs), UNWIND_STEPPED);
	assert_regs(&regs, START + 8, BASE, BASE + 64);
	assert_false(regs.extra_known);
	assert_int_equal(step(in_lr, &caller), UNWIND_NO_MOVE);
	caller.sp = 0;
	assert_int_equal(step(in_lr, &caller), UNWIND_NO_REG);
}

static void test_pair(void **state)
{
	struct unwind_regs regs = caller_at(START);

	(void)state;
	stack[8] = BASE + 200;
	stack[9] = START + 4 + 0x0011000000000000ull;
	assert_int_equal(step(pair, &regs), UNWIND_STEPPED);
	assert_regs(&regs, START + 4, BASE + 96, BASE + 200);
}

/* A step by x29 alone loses sp; the pair of the next rule finds it again, inline or not. */
static void test_lost_sp(void **state)
{
	const struct unwind_rule by_fp = {.kind = UNWIND_FP};
	struct unwind_rule large = pair, alone = pair;
	struct unwind_regs regs = caller_at(START), lost, again;

	(void)state;
	stack[8] = BASE + 160;
	stack[9] = START + 4;
	stack[20] = BASE + 300;
	stack[21] = START + 12;
	assert_int_equal(step(by_fp, &regs), UNWIND_STEPPED);
	assert_regs(&regs, START + 4, 0, BASE + 160);
	lost = again = regs;
	assert_int_equal(step(pair, &regs), UNWIND_STEPPED);
	assert_regs(&regs, START + 12, BASE + 160 + 32, BASE + 300);
	large.cfa_off = 40000;
	large.fp_off = -40000;
	large.ra_off = 0;
	large.how = HOW(AT_CFA, BEHIND_FP);
	assert_int_equal(step(large, &lost), UNWIND_STEPPED);
	assert_regs(&lost, START + 12, BASE + 160 + 40000, BASE + 300);
	alone.how = HOW(SAME, AT_CFA);
	alone.fp_off = 0;
	assert_int_equal(step(alone, &again), UNWIND_NO_REG);
}

/* What a signal interrupted has all its registers, lr among them: even a function without a frame. */
static void test_signal(void **state)
{
	struct unwind_regs regs = caller_at(START);

	(void)state;
	stack[544 / 8] = BASE + 800;
	stack[552 / 8] = START + 12;
	stack[560 / 8] = BASE + 720;
	stack[568 / 8] = START + 20;
	assert_int_equal(step(unwind_arm64.signal(), &regs), UNWIND_STEPPED);
	assert_regs(&regs, START + 20, BASE + 720, BASE + 800);
	assert_true(regs.ip_exact && regs.extra_known);
	assert_int_equal(step(in_lr, &regs), UNWIND_STEPPED);
	assert_regs(&regs, START + 12, BASE + 720, BASE + 800);
	assert_false(regs.ip_exact || regs.extra_known);
}

static void test_clone(void **state)
{
	const uint64_t in_child[UNWIND_NR_REGS] = {0};
	const struct unwind_rule clone = {.kind = UNWIND_CLONE};
	struct unwind_regs regs = leaf_at(START), child = regs;

	(void)state;
	assert_int_equal(step(clone, &regs), UNWIND_STEPPED);
	assert_regs(&regs, START + 8, BASE, BASE + 64);
	child.leaf = in_child;
	assert_int_equal(step(clone, &child), UNWIND_AT_ROOT);
}

/* Call frame information --------------------------------------------------------------------------- */

static struct unwind_table *table_of(const char *augmentation, const uint8_t *insns, size_t len)
{
	struct ehframe_input input = {
		.arch = &unwind_arm64, .section = {.bytes = as.bytes}, .code_limit = UINT64_MAX};
	static const uint8_t initial[] = {0x0c, 31, 0};
	struct unwind_table *table;
	uint8_t all[64];
	size_t cie;

	as = (struct cfi_asm){0};
	cie = asm_cie(&as, &(struct asm_cie){.augmentation = augmentation,
					     .ra_reg = 30,
					     .code_align = 4,
					     .bare = true});
	memcpy(all, initial, sizeof(initial));
	memcpy(all + sizeof(initial), insns, len);
	asm_fde(&as, cie, START, 0x40, all, sizeof(initial) + len);
	input.section.len_bytes = as.len;
	assert_int_equal(unwind_table_new(&input, &table), 0);
	return table;
}

static struct unwind_rule rule_at(const struct unwind_table *table, uint64_t elf_addr)
{
	struct unwind_rule rule = {.kind = UNWIND_GAP};

	unwind_table_find(table, elf_addr, &rule);
	return rule;
}

/* paciasp; stp x29,x30,[sp,#-96]!, as GCC describes it; pc in words, of pages of 16 KB. */
static void test_signed_frame(void **state)
{
	struct unwind_table *table = table_of("", INSNS(0x41, 0x2d, 0x41, 0x0e, 96, 0x9d, 12, 0x9e,
							11, 0x42, 0x0e, 0, 0xdd, 0xde, 0x2d));
	struct unwind_rule rule;

	(void)state;
	assert_int_equal(table->start % 0x4000, 0);
	assert_int_equal(table->nr_extended, UNWIND_NR_FIXED_EXTENDED);
	rule = rule_at(table, START + 4);
	assert_memory_equal(&rule, &in_lr, sizeof(rule));
	rule = rule_at(table, START + 8);
	assert_int_equal(rule.cfa_off, 96);
	assert_int_equal(rule.fp_off, -96);
	assert_int_equal(rule.ra_off, -88);
	rule = rule_at(table, START + 19);
	assert_memory_equal(&rule, &in_lr, sizeof(rule));
	assert_int_equal(rule_at(table, START + 0x40).kind, UNWIND_GAP);
	unwind_table_free(table);
}

/* A return address that is too far below the CFA for a rule's 16 bits is behind the caller's x29. */
static void test_large_frame(void **state)
{
	struct unwind_table *table = table_of(
		"", INSNS(0x41, 0x0e, 0x80, 0x80, 0x04, 0x9d, 0x80, 0x80, 0x01, 0x9e, 0xff, 0x7f));
	struct unwind_rule rule = rule_at(table, START + 8);

	(void)state;
	assert_int_equal(rule.kind, UNWIND_FRAME);
	assert_int_equal(rule.cfa_off, 65536);
	assert_int_equal(rule.fp_off, -131072);
	assert_int_equal(unwind_ra_how(&rule), UNWIND_BEHIND_FP);
	unwind_table_free(table);
}

/* Of a signal's frame the kernel's ABI says more than old vdsos do. */
static void test_signal_frame(void **state)
{
	struct unwind_table *table = table_of("S", INSNS(0x9d, 0));
	struct unwind_rule rule = rule_at(table, START + 8), known = unwind_arm64.signal();

	(void)state;
	assert_memory_equal(&rule, &known, sizeof(rule));
	unwind_table_free(table);
	table = table_of("BG", INSNS(0x41, 0x2c)); /* keys and tags change no rule */
	rule = rule_at(table, START + 8);
	assert_memory_equal(&rule, &in_lr, sizeof(rule));
	unwind_table_free(table);
}

/* Code without unwind information ------------------------------------------------------------------- */

static enum codestep gap_step(struct unwind_regs *regs)
{
	const struct codestep_target target = {.arch = &unwind_arm64,
					       .read_stack = read_stack,
					       .read_code = read_code,
					       .knows = knows};

	return codestep(regs, &target);
}

/* Puts code behind a call, to which everything returns. */
static void put_code(size_t nr, const uint32_t *words)
{
	code[1] = 0x94000000; /* bl */
	memcpy(code + 4, words, nr * sizeof(*words));
	stack[8] = BASE + 160; /* what x29 points to */
	stack[9] = START + 8;
}

#define CODE(...) \
	put_code(sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), (uint32_t[]){__VA_ARGS__})

/* lr is the caller's until the code calls. */
static void test_gap_leaf(void **state)
{
	struct unwind_regs regs = leaf_at(START + 16);

	(void)state;
	CODE(0xd503201f, 0xd65f03c0); /* nop; ret */
	assert_int_equal(gap_step(&regs), CODESTEP_BY_CODE);
	assert_regs(&regs, START + 8, BASE, BASE + 64);
	regs = leaf_at(START + 16);
	CODE(0xd503233f, 0xa9bf7bfd); /* paciasp; stp x29,x30,[sp,#-16]! */
	assert_int_equal(gap_step(&regs), CODESTEP_BY_CODE);
	assert_regs(&regs, START + 8, 0, BASE + 64);
}

/* The pair is stored, and x29 still is the caller's. */
static void test_gap_prologue(void **state)
{
	struct unwind_regs regs = leaf_at(START + 16);

	(void)state;
	CODE(0x910003fd, 0x94000000); /* mov x29,sp; bl */
	stack[1] = START + 8;
	assert_int_equal(gap_step(&regs), CODESTEP_BY_CODE);
	assert_regs(&regs, START + 8, 0, BASE + 64);
}

/* Once it has called, x29 alone shows the caller, unless the way to the ret is short. */
static void test_gap_frame(void **state)
{
	struct unwind_regs regs = leaf_at(START + 16);

	(void)state;
	CODE(0xd503201f, 0x94000000); /* nop; bl */
	assert_int_equal(gap_step(&regs), CODESTEP_GUESSED);
	assert_regs(&regs, START + 8, 0, BASE + 160);
	regs = caller_at(START + 16);
	CODE(0xa8c27bfd, 0xd65f03c0); /* ldp x29,x30,[sp],#32; ret */
	stack[0] = BASE + 240;
	stack[1] = START + 8;
	assert_int_equal(gap_step(&regs), CODESTEP_BY_CODE);
	assert_regs(&regs, START + 8, BASE + 32, BASE + 240);
	regs = caller_at(START + 16);
	regs.sp = 0;
	CODE(0x910003bf, 0xa8c27bfd, 0xd65f03c0); /* mov sp,x29; ldp x29,x30,[sp],#32; ret */
	assert_int_equal(gap_step(&regs), CODESTEP_BY_CODE);
	assert_regs(&regs, START + 8, BASE + 64 + 32, BASE + 160);
}

/* What is no return address is none: nothing behind a call, or a chain that leads back. */
static void test_gap_ends(void **state)
{
	struct unwind_regs regs = leaf_at(START + 16);

	(void)state;
	CODE(0xd65f03c0);
	code[1] = 0xd503201f;
	assert_int_equal(gap_step(&regs), CODESTEP_NO_WAY);
	CODE(0x94000000);
	stack[8] = BASE + 64;
	assert_int_equal(gap_step(&regs), CODESTEP_NO_WAY);
	regs.fp = 0;
	assert_int_equal(gap_step(&regs), CODESTEP_NO_FP);
	CODE(0x14000000); /* b to itself */
	assert_int_equal(gap_step(&regs), CODESTEP_NO_FP);
}

/* What an instruction makes of sp, in code that is followed; LOST: it is not known any more. */
static void test_gap_moves_of_sp(void **state)
{
	enum {
		LOST = -1
	};
	static const struct {
		uint32_t word;
		int64_t moves;
	} cases[] = {
		{0xa8c27bfd, 32},   /* ldp x29,x30,[sp],#32 */
		{0xacc10fe0, 32},   /* ldp q0,q3,[sp],#32 */
		{0xadbf07e0, -32},  /* stp q0,q1,[sp,#-32]! */
		{0x6dbe27e8, -32},  /* stp d8,d9,[sp,#-32]! */
		{0x29be07e0, -16},  /* stp w0,w1,[sp,#-16]! */
		{0x3c9f0fe8, -16},  /* str q8,[sp,#-16]! */
		{0xfc1f0fe8, -16},  /* str d8,[sp,#-16]! */
		{0xfc4107e8, 16},   /* ldr d8,[sp],#16 */
		{0xf81f0ff3, -16},  /* str x19,[sp,#-16]! */
		{0xa90157f4, 0},    /* stp x20,x21,[sp,#16] */
		{0xd10083ff, -32},  /* sub sp,sp,#32 */
		{0x914007ff, 4096}, /* add sp,sp,#1,lsl #12 */
		{0xcb2c63ff, LOST}, /* sub sp,sp,x12 */
		{0x9100013f, LOST}, /* mov sp,x9 */
		{0x927cec1f, LOST}, /* and sp,x0,#-16 */
		{0xf100001f, 0},    /* cmp x0,#0 */
		{0xf27cec1f, 0},    /* tst x0,#-16 */
		{0xeb00003f, 0},    /* cmp x1,x0 */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct arm64_line line = {.pc = 0x1000, .sp = 0x10000, .fp = 0x20000};

		assert_int_equal(arm64_follow(&line, cases[i].word), CODE_LINE_GOES_ON);
		assert_int_equal(line.sp,
				 cases[i].moves == LOST ? 0 : 0x10000 + (uint64_t)cases[i].moves);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_packing, set_up),
		cmocka_unit_test_setup(test_unpackable, set_up),
		cmocka_unit_test_setup(test_link, set_up),
		cmocka_unit_test_setup(test_pair, set_up),
		cmocka_unit_test_setup(test_lost_sp, set_up),
		cmocka_unit_test_setup(test_signal, set_up),
		cmocka_unit_test_setup(test_clone, set_up),
		cmocka_unit_test_setup(test_signed_frame, set_up),
		cmocka_unit_test_setup(test_large_frame, set_up),
		cmocka_unit_test_setup(test_signal_frame, set_up),
		cmocka_unit_test_setup(test_gap_leaf, set_up),
		cmocka_unit_test_setup(test_gap_prologue, set_up),
		cmocka_unit_test_setup(test_gap_frame, set_up),
		cmocka_unit_test_setup(test_gap_ends, set_up),
		cmocka_unit_test_setup(test_gap_moves_of_sp, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
