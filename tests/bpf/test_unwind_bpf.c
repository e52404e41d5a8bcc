/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The BPF unwinder, case by case: a program is made up of pages of code, one rule each, and its stack
 * is laid out by hand, so that what must come out is known. Every walk is also compared with the plain
 * walker (shim/walker.h). test_walks_bpf.c compares them on real tables.
 */
#include "shim/walker.h"

#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "record.bpf.h"
#include "scratch.bpf.h"

int sample_cpu(struct bpf_perf_event_data *ctx);
int bpf_on_fork(struct task_struct *parent, struct task_struct *child);
int bpf_on_exec(struct task_struct *task);
int bpf_on_exit(struct task_struct *task);

#define CODE  0x555555554000ull
#define BIAS  (CODE - 0x1000) /* the table begins at elf_addr 0x1000 */
#define STACK 0x7ffc00000000ull

#define STACK_BYTES (64 * 1024)
#define STACK_WORDS (STACK_BYTES / 8)

/* The pages of code. */
enum {
	SMALL, /* CFA = sp + 16 */
	BY_FP, /* CFA = fp + 16, fp saved */
	ROOT,
	GAP,
	FP,
	SIGNAL, /* ip at sp + 32, sp at sp + 40, fp at sp + 48, bx at sp + 56 */
	PLT,	/* pushes at ip & 15 >= 11 */
	UNSUPPORTED,
	LARGE,	   /* CFA = sp + 4088, the most an inline rule can say */
	BY_BX,	   /* CFA = rbx + 16, rbx saved at CFA - 24 */
	UNALIGNED, /* ra at CFA - 11 */
	UNKNOWN,   /* JIT code, generated after the table */
	NR_CODES
};

static const struct unwind_rule rules[NR_CODES] = {
	[SMALL] = {.kind = UNWIND_FRAME,
		   .cfa_reg = X86_REG_SP,
		   .how = UNWIND_SAME | UNWIND_AT_CFA << 4,
		   .cfa_off = 16,
		   .ra_off = -8},
	[BY_FP] = {.kind = UNWIND_FRAME,
		   .cfa_reg = X86_REG_FP,
		   .how = UNWIND_AT_CFA | UNWIND_AT_CFA << 4,
		   .cfa_off = 16,
		   .fp_off = -16,
		   .ra_off = -8},
	[ROOT] = {.kind = UNWIND_ROOT},
	[GAP] = {.kind = UNWIND_GAP},
	[FP] = {.kind = UNWIND_FP},
	[SIGNAL] =
		{.kind = UNWIND_SIGNAL, .ra_off = 32, .cfa_off = 40, .fp_off = 48, .deref_off = 56},
	[PLT] = {.kind = UNWIND_PLT, .cfa_off = 11, .how = UNWIND_AT_CFA << 4, .ra_off = -8},
	[UNSUPPORTED] = {.kind = UNWIND_UNSUPPORTED},
	[LARGE] = {.kind = UNWIND_FRAME,
		   .cfa_reg = X86_REG_SP,
		   .how = UNWIND_SAME | UNWIND_AT_CFA << 4,
		   .cfa_off = 4088,
		   .ra_off = -8},
	[BY_BX] = {.kind = UNWIND_FRAME,
		   .cfa_reg = X86_REG_BX,
		   .how = UNWIND_SAME | UNWIND_AT_CFA << 4,
		   .extra_slot = 3,
		   .cfa_off = 16,
		   .ra_off = -8},
	[UNALIGNED] = {.kind = UNWIND_FRAME,
		       .cfa_reg = X86_REG_SP,
		       .how = UNWIND_SAME | UNWIND_AT_CFA << 4,
		       .cfa_off = 16,
		       .ra_off = -11},
	[UNKNOWN] = {.kind = UNWIND_UNKNOWN},
};

struct fixture {
	struct walker walker;
	struct unwind_table table;
	u32 pages[NR_CODES + 1], rows[NR_CODES];
	struct unwind_rule extended[UNWIND_NR_FIXED_EXTENDED + NR_CODES];
	u64 words[STACK_WORDS];
	u32 nr; /* words laid out */
	struct walked walked;
};

/* An ip in that code. */
static u64 ip_in(int code)
{
	return CODE + (s64)code * (s64)X86_PAGE_BYTES + 0x100;
}

static u64 sp_at(u32 word)
{
	return STACK + 8ull * word;
}

static void build_table(struct fixture *f)
{
	static const u32 fixed[] = {UNWIND_GAP, UNWIND_ROOT, UNWIND_UNSUPPORTED, UNWIND_FP};

	for (u32 i = 0; i < UNWIND_NR_FIXED_EXTENDED; i++)
		f->extended[i].kind = fixed[i];
	for (u32 i = 0; i < NR_CODES; i++) {
		u32 packed = x86_rule_pack(&rules[i]);

		f->extended[UNWIND_NR_FIXED_EXTENDED + i] = rules[i];
		if (packed & UNWIND_RULE_EXTENDED && rules[i].kind != UNWIND_GAP)
			packed |= UNWIND_NR_FIXED_EXTENDED + i;
		f->rows[i] = unwind_row_pack(0, packed);
		f->pages[i] = i;
	}
	f->pages[NR_CODES] = NR_CODES;
	f->table = (struct unwind_table){.arch = &unwind_x86,
					 .start = CODE - BIAS,
					 .nr_pages = NR_CODES,
					 .nr_rows = NR_CODES,
					 .nr_extended = UNWIND_NR_FIXED_EXTENDED + NR_CODES,
					 .pages = f->pages,
					 .rows = f->rows,
					 .extended = f->extended};
}

static int set_up(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	host_open();
	walker_open(&f->walker);
	build_table(f);
	walker_add_vma(&f->walker, CODE, CODE + NR_CODES * X86_PAGE_BYTES, BIAS, &f->table,
		       walker_upload(&f->walker, &f->table));
	walker_publish(&f->walker);
	host_add_range(STACK, f->words, STACK_BYTES);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	walker_release(&f->walker);
	free(f);
	host_close();
	return 0;
}

static void push_word(struct fixture *f, u64 word)
{
	assert_true(f->nr < STACK_WORDS);
	f->words[f->nr++] = word;
}

/* The frame of one function of this code, which returns to return_to. */
static void push_small(struct fixture *f, u64 return_to)
{
	push_word(f, 0);
	push_word(f, return_to);
}

static void push_large(struct fixture *f, u64 return_to)
{
	f->nr += 4088 / 8 - 1;
	push_word(f, return_to);
}

/* Walks from the stack's first word, both ways. */
static const struct walked *walk_from(struct fixture *f, const struct pt_regs *regs)
{
	assert_true(walker_agree(&f->walker, regs, &f->walked));
	return &f->walked;
}

static const struct walked *walk(struct fixture *f, int code)
{
	struct pt_regs regs = {.ip = ip_in(code), .sp = STACK};

	return walk_from(f, &regs);
}

static void expect(const struct walked *walked, u32 nr, enum abi_stack_end end)
{
	assert_int_equal(walked->nr, nr);
	assert_int_equal(walked->end, end);
}

/* Rules ------------------------------------------------------------------------------------------ */

static void test_plain_frames(void **state)
{
	struct fixture *f = *state;
	const struct walked *walked;

	push_small(f, ip_in(SMALL));
	push_small(f, ip_in(ROOT));
	walked = walk(f, SMALL);
	expect(walked, 3, ABI_END_ROOT);
	assert_int_equal(walked->ips[0], ip_in(SMALL));
	assert_int_equal(walked->ips[1], ip_in(SMALL));
	assert_int_equal(walked->ips[2], ip_in(ROOT));
	assert_int_equal(walked->sp, sp_at(4));
}

static void test_zero_return_address(void **state)
{
	struct fixture *f = *state;

	push_small(f, 0);
	expect(walk(f, SMALL), 1, ABI_END_NO_ROOT);
}

static void test_unsupported(void **state)
{
	struct fixture *f = *state;

	push_small(f, ip_in(UNSUPPORTED));
	expect(walk(f, SMALL), 2, ABI_END_NO_RULE);
}

/* rbp is kept by a caller and used by one further up. */
static void test_frame_pointer_frames(void **state)
{
	struct fixture *f = *state;
	struct pt_regs regs = {.ip = ip_in(SMALL), .sp = STACK, .bp = sp_at(4)};

	push_small(f, ip_in(BY_FP));
	push_word(f, 0);
	push_word(f, 0);
	push_word(f, 0); /* the caller's rbp, at word 4 */
	push_word(f, ip_in(BY_FP));
	expect(walk_from(f, &regs), 3, ABI_END_NO_REG); /* its rbp was 0 */
	f->words[4] = sp_at(2);
	expect(walk_from(f, &regs), 3, ABI_END_NO_MOVE);
}

/* Code without rules is crossed by rbp, what it finds is marked, and the rules take over again. */
static void test_gap_and_back(void **state)
{
	struct fixture *f = *state;
	struct pt_regs regs = {.ip = ip_in(SMALL), .sp = STACK, .bp = sp_at(3)};
	const struct walked *walked;

	push_small(f, ip_in(GAP));
	push_word(f, 0);
	push_word(f, sp_at(6)); /* word 3: rbp */
	push_word(f, ip_in(SMALL));
	push_small(f, ip_in(GAP));
	f->words[6] = ip_in(GAP); /* also where rbp points: the last frame's */
	push_word(f, 0);
	walked = walk_from(f, &regs);
	assert_int_equal(walked->ips[1], ip_in(GAP));
	assert_int_equal(walked->ips[2], ip_in(SMALL) | ABI_IP_GUESSED);
	assert_int_equal(walked->ips[3], ip_in(GAP));
	assert_int_equal(walked->end, ABI_END_NO_CFI); /* word 6 is no rbp, or above sp */
	/* Without an rbp that looks like one it ends there. */
	for (u64 bp = sp_at(1); bp <= sp_at(3) - 1; bp++) {
		regs.bp = bp;
		walked = walk_from(f, &regs);
		if (bp % 8 || bp < sp_at(2))
			expect(walked, 2, ABI_END_NO_CFI);
	}
	regs.bp = 0;
	expect(walk_from(f, &regs), 2, ABI_END_NO_ROOT);
	regs.bp = STACK + STACK_BYTES;
	expect(walk_from(f, &regs), 2, ABI_END_NO_CFI);
}

/* JIT code, with its bytes: a page behind the table's, and one nobody knows. */
#define JIT_CODE      (CODE + 0x100000)
#define JIT_CODE_SOON (CODE + 0x200000)

static void make_code(struct fixture *f, const char *bytes, size_t len, u32 at)
{
	static u8 page[4096];

	if (f->walker.vmas.nr == 1) {
		memset(page, 0xcc, sizeof(page));
		walker_add_vma(&f->walker, JIT_CODE, JIT_CODE + sizeof(page), 0, NULL,
			       ABI_TABLE_NO_CFI);
		walker_publish(&f->walker);
		host_add_range(JIT_CODE, page, sizeof(page));
		host_add_range(JIT_CODE_SOON, page, sizeof(page));
	}
	memcpy(page + at, bytes, len);
}

#define CODE_IN(f, at, bytes) make_code(f, bytes, sizeof(bytes) - 1, at)

/* CPython's, of 3.13 and of 3.12: wherever the walk meets it, its caller is exact. */
static void test_trampolines(void **state)
{
	struct fixture *f = *state;
	const struct walked *walked;

	CODE_IN(f, 0x10, "\x55\x48\x89\xe5\xff\xd1\x5d\xc3");
	CODE_IN(f, 0x20, "\x48\x83\xec\x08\xff\xd1\x48\x83\xc4\x08\xc3");
	CODE_IN(f, 0x30, "\xf3\x0f\x1e\xfa\x48\x83\xec\x08\xff\xd1\x48\x83\xc4\x08\xc3");
	/* Called: 3.13's saved rbp is needed by its caller. */
	push_small(f, JIT_CODE + 0x16);
	push_word(f, sp_at(6));
	push_word(f, ip_in(BY_FP));
	push_word(f, 0);
	push_word(f, 0);
	push_word(f, 0); /* word 6 */
	push_word(f, ip_in(ROOT));
	walked = walk(f, SMALL);
	expect(walked, 4, ABI_END_ROOT);
	assert_int_equal(walked->ips[1], JIT_CODE + 0x16);
	assert_int_equal(walked->ips[2], ip_in(BY_FP));
	/* 3.12's has nothing to say of rbp, which may be anything. */
	f->words[1] = JIT_CODE + 0x26;
	f->words[2] = 0x1234;
	f->words[3] = ip_in(SMALL);
	f->words[5] = ip_in(ROOT);
	for (u32 i = 0; i < 4; i++) {
		struct pt_regs regs = {.ip = ip_in(SMALL), .sp = STACK, .bp = sp_at(i) + i};

		walked = walk_from(f, &regs);
		expect(walked, 4, ABI_END_ROOT);
		assert_int_equal(walked->ips[2], ip_in(SMALL));
		assert_int_equal(walked->fp, regs.bp);
	}
}

/* The sample is in the trampoline itself, at each of its instructions. */
static void test_within_a_trampoline(void **state)
{
	static const u32 at_sp[] = {0x10, 0x20, 0x30, 0x34, 0x17, 0x2a},
			 above[] = {0x24, 0x26, 0x11, 0x16};
	struct fixture *f = *state;
	const struct walked *walked;

	CODE_IN(f, 0x10, "\x55\x48\x89\xe5\xff\xd1\x5d\xc3");
	CODE_IN(f, 0x20, "\x48\x83\xec\x08\xff\xd1\x48\x83\xc4\x08\xc3");
	CODE_IN(f, 0x30, "\xf3\x0f\x1e\xfa\x48\x83\xec\x08\xff\xd1\x48\x83\xc4\x08\xc3");
	f->words[0] = ip_in(ROOT);
	for (u32 i = 0; i < sizeof(at_sp) / sizeof(at_sp[0]); i++) {
		walked = walk_from(
			f, &(struct pt_regs){.ip = JIT_CODE + at_sp[i], .sp = STACK, .bp = 5});
		expect(walked, 2, ABI_END_ROOT);
		assert_int_equal(walked->ips[1], ip_in(ROOT));
		assert_int_equal(walked->fp, 5);
	}
	f->words[0] = 0x77;
	f->words[1] = ip_in(ROOT);
	for (u32 i = 0; i < sizeof(above) / sizeof(above[0]); i++) {
		walked = walk_from(
			f, &(struct pt_regs){.ip = JIT_CODE + above[i], .sp = STACK, .bp = 5});
		expect(walked, 2, ABI_END_ROOT);
		assert_int_equal(walked->ips[1], ip_in(ROOT));
		assert_int_equal(walked->fp, above[i] == 0x11 || above[i] == 0x16 ? 0x77 : 5);
	}
}

/* A function that is about to make its frame: what rbp leads to is its caller's caller. */
static void test_prologues(void **state)
{
	struct fixture *f = *state;
	struct pt_regs regs = {.ip = JIT_CODE + 0x40, .sp = STACK, .bp = sp_at(2)};

	CODE_IN(f, 0x40, "\x55\x48\x89\xe5\x90");
	push_word(f, ip_in(SMALL));
	push_small(f, ip_in(ROOT));
	expect(walk_from(f, &regs), 3, ABI_END_ROOT);
	assert_int_equal(f->walked.ips[1], ip_in(SMALL));
	f->words[0] = sp_at(2);
	f->words[1] = ip_in(SMALL);
	f->words[3] = ip_in(ROOT);
	regs.ip++;
	expect(walk_from(f, &regs), 3, ABI_END_ROOT);
	assert_int_equal(f->walked.ips[1], ip_in(SMALL));
	CODE_IN(f, 0x40, "\x90\x48\x89\xe5\x90"); /* rbp was not pushed: a guess */
	expect(walk_from(f, &regs), 2, ABI_END_ROOT);
	assert_int_equal(f->walked.ips[1], ip_in(ROOT) | ABI_IP_GUESSED);
}

/* rbp is used freely: where it leads is no return address, and nothing is made up. */
static void test_made_up_callers(void **state)
{
	struct fixture *f = *state;
	struct pt_regs regs = {.ip = JIT_CODE + 0x100, .sp = STACK, .bp = sp_at(2)};

	CODE_IN(f, 0x80, "\xff\xd0\x90\xe8\x01\x02\x03\x04\x90");
	push_word(f, 0);
	push_word(f, 0);
	push_word(f, 0);
	push_word(f, JIT_CODE + 0x82);
	expect(walk_from(f, &regs), 2, ABI_END_NO_ROOT); /* behind a call, and there rbp is 0 */
	assert_int_equal(f->walked.ips[1], (JIT_CODE + 0x82) | ABI_IP_GUESSED);
	f->words[3] = JIT_CODE + 0x88;
	expect(walk_from(f, &regs), 2, ABI_END_NO_ROOT);
	f->words[3] = JIT_CODE + 0x83; /* behind a nop */
	expect(walk_from(f, &regs), 1, ABI_END_NO_CFI);
	f->words[3] = sp_at(1); /* not code */
	expect(walk_from(f, &regs), 1, ABI_END_NO_CFI);
	f->words[3] = 0x1654d454; /* nowhere */
	expect(walk_from(f, &regs), 1, ABI_END_NO_CFI);
	f->words[3] = ip_in(ROOT); /* code that cannot be read */
	expect(walk_from(f, &regs), 2, ABI_END_ROOT);
	/* Code that is not known yet: user space will see. */
	f->words[3] = JIT_CODE_SOON + 0x82;
	expect(walk_from(f, &regs), 1, ABI_END_UNKNOWN_CODE);
	f->words[3] = JIT_CODE_SOON + 0x83;
	expect(walk_from(f, &regs), 1, ABI_END_NO_CFI);
}

/* A handler without unwind information returns to what no call stands before. */
static void test_jit_signal_handler(void **state)
{
	struct fixture *f = *state;
	struct pt_regs regs = {.ip = JIT_CODE + 0x100, .sp = STACK, .bp = sp_at(2)};

	CODE_IN(f, 0x81, "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05");
	push_word(f, 0);
	push_word(f, 0);
	push_word(f, 0);
	push_word(f, JIT_CODE + 0x81);
	expect(walk_from(f, &regs), 2, ABI_END_NO_ROOT);
}

/* Go: a gap's frame pointer is promised, and 0 ends the stack. */
static void test_promised_frame_pointers(void **state)
{
	struct fixture *f = *state;

	push_small(f, ip_in(GAP));
	push_word(f, 0); /* word 2: rbp */
	push_word(f, ip_in(FP));
	f->walker.vmas.at[0].gap_by_fp = true;
	walker_publish(&f->walker);
	for (u32 i = 0; i < 2; i++) {
		struct pt_regs regs = {.ip = ip_in(SMALL), .sp = STACK, .bp = sp_at(2)};
		const struct walked *walked = walk_from(f, &regs);

		expect(walked, 3, ABI_END_ROOT);
		assert_int_equal(walked->ips[2], ip_in(FP));
	}
	f->words[2] = STACK + STACK_BYTES;
	expect(walk_from(f, &(struct pt_regs){.ip = ip_in(GAP), .sp = STACK, .bp = sp_at(2)}), 2,
	       ABI_END_UNREADABLE);
	f->words[2] = sp_at(2) + 4; /* no frame pointer */
	expect(walk_from(f, &(struct pt_regs){.ip = ip_in(GAP), .sp = STACK, .bp = sp_at(2)}), 2,
	       ABI_END_NO_CFI);
}

/* The interrupted ip is exact: at a function's first byte, ip - 1 would be another function. */
static void test_signal_frame(void **state)
{
	struct fixture *f = *state;
	const struct walked *walked;

	push_small(f, ip_in(SIGNAL));
	f->nr = 2 + 4;
	push_word(f, CODE + BY_BX * X86_PAGE_BYTES);
	push_word(f, sp_at(100)); /* another stack */
	push_word(f, sp_at(102)); /* rbp */
	push_word(f, sp_at(110)); /* rbx */
	f->words[109] = 0;
	f->words[110] = 0;
	f->words[111] = ip_in(ROOT);
	walked = walk(f, SMALL);
	expect(walked, 4, ABI_END_ROOT);
	assert_int_equal(walked->ips[1], ip_in(SIGNAL) | ABI_IP_EXACT);
	assert_int_equal(walked->ips[2], (CODE + BY_BX * X86_PAGE_BYTES) | ABI_IP_EXACT);
	assert_int_equal(walked->ips[3], ip_in(ROOT));
	assert_int_equal(walked->fp, sp_at(102));
	/* The handler's stack lies above the one it interrupted. */
	f->words[2 + 5] = STACK;
	f->words[2 + 4] = ip_in(ROOT);
	expect(walk(f, SMALL), 3, ABI_END_ROOT);
	/* A leaf is exact without a mark. */
	f->words[4] = ip_in(ROOT);
	walked = walk(f, SIGNAL);
	expect(walked, 2, ABI_END_ROOT);
	assert_int_equal(walked->ips[0], ip_in(SIGNAL));
	assert_int_equal(walked->ips[1], ip_in(ROOT) | ABI_IP_EXACT);
}

static void test_plt(void **state)
{
	struct fixture *f = *state;

	push_word(f, ip_in(ROOT));
	push_word(f, ip_in(SMALL));
	push_small(f, ip_in(ROOT));
	for (u32 i = 0; i < 16; i++) {
		struct pt_regs regs = {.ip = ip_in(PLT) + i, .sp = STACK};

		expect(walk_from(f, &regs), i < 11 ? 2 : 3, ABI_END_ROOT);
	}
}

/* rbx is known in the leaf frame, then only where a rule says it was saved. */
static void test_rbx(void **state)
{
	struct fixture *f = *state;
	struct pt_regs regs = {.ip = ip_in(BY_BX), .sp = STACK, .bx = sp_at(4)};

	f->words[3] = sp_at(8); /* the caller's rbx, at CFA - 24 */
	f->words[5] = ip_in(BY_BX);
	f->words[7] = 0;
	f->words[9] = ip_in(ROOT);
	expect(walk_from(f, &regs), 3, ABI_END_ROOT);
	f->words[9] = ip_in(SMALL);
	f->words[11] = ip_in(BY_BX);
	expect(walk_from(f, &regs), 4, ABI_END_NO_REG);
}

static void test_sp_does_not_move(void **state)
{
	struct fixture *f = *state;
	struct pt_regs regs = {.ip = ip_in(BY_FP), .sp = sp_at(10), .bp = sp_at(2)};

	expect(walk_from(f, &regs), 1, ABI_END_NO_MOVE);
}

/* Memory ----------------------------------------------------------------------------------------- */

/* Whichever page is missing, only what lies in it is lost. */
static void test_missing_page(void **state)
{
	struct fixture *f = *state;
	u32 nr_whole = 0;

	for (u32 i = 0; i < 12; i++) { /* 12 pages and more */
		push_large(f, ip_in(SMALL));
		push_small(f, ip_in(LARGE));
	}
	push_large(f, ip_in(ROOT));
	for (u32 missing = 0; missing < STACK_BYTES / 4096; missing++) {
		const struct walked *walked;

		host.nr_ranges = 0;
		host_add_range(STACK, f->words, missing * 4096);
		host_add_range(STACK + (missing + 1) * 4096, f->words + (missing + 1) * 512,
			       STACK_BYTES - (missing + 1) * 4096);
		walked = walk(f, LARGE);
		if (walked->end == ABI_END_ROOT)
			nr_whole++;
		else
			assert_int_equal(walked->end, ABI_END_UNREADABLE);
	}
	assert_true(nr_whole >= STACK_BYTES / 4096 - 14);
	assert_true(nr_whole < STACK_BYTES / 4096);
}

/* A page missing inside one large frame: nothing of it is needed. */
static void test_missing_page_within_a_frame(void **state)
{
	struct fixture *f = *state;
	struct pt_regs regs = {.ip = ip_in(SMALL), .sp = STACK};

	push_small(f, ip_in(BY_FP));
	regs.bp = STACK + 3 * 4096;
	f->words[3 * 512] = 0;
	f->words[3 * 512 + 1] = ip_in(ROOT);
	host.nr_ranges = 0;
	host_add_range(STACK, f->words, 4096);
	host_add_range(STACK + 3 * 4096, f->words + 3 * 512, 4096);
	expect(walk_from(f, &regs), 3, ABI_END_ROOT);
}

static void test_unaligned(void **state)
{
	struct fixture *f = *state;

	for (u32 skew = 0; skew < 8; skew++) {
		u8 *bytes = (u8 *)f->words + skew;
		u64 ips[] = {ip_in(SMALL), ip_in(ROOT)};
		struct pt_regs regs = {.ip = ip_in(SMALL), .sp = STACK + skew};

		memset(f->words, 0, 64);
		memcpy(bytes + 8, &ips[0], 8);
		memcpy(bytes + 24, &ips[1], 8);
		expect(walk_from(f, &regs), 3, ABI_END_ROOT);
		/* At CFA - 11. */
		memset(f->words, 0, 64);
		memcpy(bytes + 5, &ips[1], 8);
		regs.ip = ip_in(UNALIGNED);
		expect(walk_from(f, &regs), 2, ABI_END_ROOT);
	}
	/* Over the edge of what there is. */
	for (u32 back = 1; back < 40; back++)
		walk_from(f, &(struct pt_regs){.ip = ip_in(UNALIGNED),
					       .sp = STACK + STACK_BYTES - back});
}

/* Every distance between two reads, over the ends of the first window and of the later ones. */
static void test_window_boundaries(void **state)
{
	struct fixture *f = *state;

	for (u32 start = 0; start < 513; start++) {
		struct pt_regs regs = {.ip = ip_in(SMALL), .sp = sp_at(start)};

		memset(f->words, 0, sizeof(f->words));
		f->nr = start;
		while (f->nr < 2200)
			push_small(f, ip_in(f->nr % 7 ? SMALL : LARGE));
		for (u32 i = start + 1; i < STACK_WORDS; i++)
			if (!f->words[i])
				f->words[i] = ip_in(ROOT);
		walk_from(f, &regs);
		assert_int_equal(f->walked.end, ABI_END_ROOT);
	}
}

static void test_windows_save_reads(void **state)
{
	struct fixture *f = *state;

	for (u32 i = 0; i < 400; i++)
		push_small(f, ip_in(SMALL));
	push_small(f, ip_in(ROOT));
	host.nr_user_reads = 0;
	expect(walk(f, SMALL), 402, ABI_END_ROOT);
	assert_true(host.nr_user_reads <= 1 + (402 * 16 - 1024 + 4095) / 4096);
}

/* A frame costs two look-ups, which find the slab that has its row; those of the rest are shared by several. */
static void test_frames_share_lookups(void **state)
{
	struct fixture *f = *state;
	u64 nr_lookups;

	push_small(f, ip_in(ROOT));
	host.nr_lookups = 0;
	expect(walk(f, SMALL), 2, ABI_END_ROOT);
	nr_lookups = host.nr_lookups;
	f->nr -= 2;
	for (u32 i = 0; i < 400; i++)
		push_small(f, ip_in(SMALL));
	push_small(f, ip_in(ROOT));
	host.nr_lookups = 0;
	expect(walk(f, SMALL), 402, ABI_END_ROOT);
	assert_true(host.nr_lookups - nr_lookups <= 400 * 3);
}

/* A stack of ABI_MAX_USER_FRAMES + nr_more + 1 frames, one of them below the mark made known. */
static void check_ends(struct fixture *f, u32 nr_more)
{
	const u64 *ips = scratch_at(ABI_SLOT_TICK)->record.ips;
	u64 *mine = &f->words[2 * (ABI_LEAF_FRAMES + 2 + nr_more) - 1], old = *mine;

	*mine = ip_in(SMALL) + 1;
	expect(walk(f, SMALL), ABI_MAX_USER_FRAMES, ABI_END_ROOT);
	assert_int_equal(scratch_at(ABI_SLOT_TICK)->walk.nr_walked,
			 ABI_MAX_USER_FRAMES + nr_more + 1);
	assert_int_equal(ips[ABI_LEAF_FRAMES], ABI_IP_ELIDED);
	for (u32 i = 0; i < ABI_MAX_USER_FRAMES; i++) {
		u64 expected = i == ABI_MAX_USER_FRAMES - 1 ? ip_in(ROOT) : ip_in(SMALL);

		if (i == ABI_LEAF_FRAMES + 1)
			expected++;
		if (i != ABI_LEAF_FRAMES)
			assert_int_equal(ips[i], expected);
	}
	*mine = old;
}

static void test_depth(void **state)
{
	struct fixture *f = *state;

	for (u32 i = 0; i < ABI_MAX_USER_FRAMES - 2; i++)
		push_small(f, ip_in(SMALL));
	push_small(f, ip_in(ROOT));
	expect(walk(f, SMALL), ABI_MAX_USER_FRAMES, ABI_END_ROOT);
	for (u32 i = 0; i < ABI_RING_FRAMES + 3; i++) {
		f->words[f->nr - 1] = ip_in(SMALL);
		push_small(f, ip_in(ROOT));
		for (u8 forbidden = 0; forbidden < 2; forbidden++) {
			host_config()->no_kernel_reads = forbidden;
			check_ends(f, i);
		}
	}
}

/* The stack of a recursion: from its leaf, or from its root, the same at every depth. */
static void test_depth_is_no_identity(void **state)
{
	struct fixture *f = *state;
	u64 ids[2];

	for (u32 i = 0; i < ABI_MAX_USER_FRAMES; i++)
		push_small(f, ip_in(SMALL));
	push_small(f, ip_in(ROOT));
	for (u32 i = 0; i < 2; i++) {
		expect(walk(f, SMALL), ABI_MAX_USER_FRAMES, ABI_END_ROOT);
		record_close(ABI_SLOT_TICK, 0);
		ids[i] = scratch_at(ABI_SLOT_TICK)->record.id;
		f->words[f->nr - 1] = ip_in(SMALL);
		for (u32 more = 0; more < 100; more++)
			push_small(f, ip_in(SMALL));
		push_small(f, ip_in(ROOT));
	}
	assert_int_equal(ids[0], ids[1]);
	f->words[(ABI_LEAF_FRAMES - 2) * 2 + 1] = ip_in(SMALL) + 1;
	expect(walk(f, SMALL), ABI_MAX_USER_FRAMES, ABI_END_ROOT);
	record_close(ABI_SLOT_TICK, 0);
	assert_int_not_equal(ids[0], scratch_at(ABI_SLOT_TICK)->record.id);
}

/* Time is up: what the walk has come to in the midst of the stack says nothing. */
static void test_time(void **state)
{
	const struct pt_regs regs = {.ip = ip_in(SMALL), .sp = STACK};
	struct fixture *f = *state;

	host_config()->walk_ns = 0;
	for (u32 i = 0; i < 3 * ABI_FRAMES_AT_ONCE; i++)
		push_small(f, ip_in(SMALL));
	push_small(f, ip_in(ROOT));
	walker_bpf(&regs, &f->walked); /* the plain walker has no clock */
	expect(&f->walked, ABI_LEAF_FRAMES, ABI_END_TOO_DEEP);
	assert_in_range(scratch_at(ABI_SLOT_TICK)->walk.nr_walked, 2 * ABI_FRAMES_AT_ONCE,
			3 * ABI_FRAMES_AT_ONCE);
}

/* Look-up ---------------------------------------------------------------------------------------- */

/* vmas of a page each, every second page; a walk that goes through nr_hops of them. */
static void check_vma_search(struct fixture *f, u32 nr_vmas)
{
	u32 id = f->walker.vmas.at[0].id;
	const u64 base = 0x10000000000ull;

	f->walker.vmas.nr = 0;
	for (u32 i = 0; i < nr_vmas; i++) {
		u64 start = base + i * 8192ull;

		walker_add_vma(&f->walker, start, start + 4096, start - f->table.start, &f->table,
			       id); /* its first page: SMALL */
	}
	walker_publish(&f->walker);
	for (u32 i = 0; i < 200; i++) {
		u32 vma = i < 100 ? i * nr_vmas / 100 : rand() % (nr_vmas + 1);

		memset(f->words, 0, 64);
		f->words[1] =
			base + 8192ull * (nr_vmas ? nr_vmas - 1 : 0) + 4096; /* ip - 1: last */
		f->words[3] = base + 8192ull * (rand() % (nr_vmas + 1));     /* ip - 1: none */
		walk_from(f, &(struct pt_regs){.ip = base + vma * 8192ull + rand() % 8192,
					       .sp = STACK});
	}
	if (!nr_vmas)
		return expect(&f->walked, 1, ABI_END_UNKNOWN_CODE);
	walk_from(f, &(struct pt_regs){.ip = base + 8192ull * (nr_vmas - 1), .sp = STACK});
	expect(&f->walked, nr_vmas > ABI_MAX_PROCESS_VMAS ? 1 : 3, ABI_END_UNKNOWN_CODE);
}

static void test_vma_search(void **state)
{
	static const u32 numbers[] = {0,   1,	2,    3,    4,	  5,	255,
				      256, 257, 4095, 4097, 8191, 8192, 8193};

	srand(3);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		check_vma_search(*state, numbers[i]);
}

/* A run at the very end of the vma space is not read beyond. */
static void test_vmas_at_the_end_of_their_space(void **state)
{
	struct fixture *f = *state;
	u32 tgid = 1000;
	struct abi_process process = {.first_vma = ABI_MAX_VMAS - 1, .nr_vmas = 1};
	struct abi_vma *vmas = host_map_value("vmas");
	struct host_map *processes = host_map("processes");

	vmas[ABI_MAX_VMAS - 1] = vmas[f->walker.run.at];
	host_map_update(&processes, &tgid, &process, BPF_ANY);
	push_small(f, ip_in(ROOT));
	expect(walk(f, SMALL), 2, ABI_END_ROOT);
}

/* A table of full pages is larger than a slab: its rows lie in others than its pages. */
static void test_slab_boundary(void **state)
{
	struct fixture *f = *state;
	const u32 nr_pages = 70, nr_rows = nr_pages * UNWIND_PAGE_MAX_ROWS;
	struct unwind_table *table =
		unwind_table_uniform(&unwind_x86, 0, nr_pages * 4096ull, UNWIND_FP);
	const struct abi_table *stored = host_map_value("tables");
	u32 id, nr_elsewhere = 0;

	free(table->pages);
	free(table->rows);
	table->pages = xcalloc(nr_pages + 1, sizeof(u32));
	table->rows = xcalloc(nr_rows, sizeof(u32));
	table->nr_pages = nr_pages;
	table->nr_rows = nr_rows;
	for (u32 i = 0; i <= nr_pages; i++)
		table->pages[i] = i * UNWIND_PAGE_MAX_ROWS;
	for (u32 i = 0; i < nr_rows; i++) /* at each pc another rule: CFA = sp + 0 to 480 */
		table->rows[i] = unwind_row_pack(i % 4096, (i * 7 % 61) << X86_RULE_CFA_SHIFT);
	id = walker_upload(&f->walker, table);
	walker_add_vma(&f->walker, CODE + 0x1000000, CODE + 0x1000000 + nr_pages * 4096ull,
		       CODE + 0x1000000, table, id);
	walker_publish(&f->walker);
	for (u32 page = 0; page < nr_pages; page++) {
		u32 word = stored[id].pages_at + 2 * page;
		const u32 *words = f->walker.tables.slabs.at[word / ABI_SLAB_WORDS];

		nr_elsewhere += words[word % ABI_SLAB_WORDS] / ABI_SLAB_WORDS !=
				word / ABI_SLAB_WORDS;
	}
	assert_true(nr_elsewhere > 0);
	for (u32 i = 0; i < STACK_WORDS; i++)
		f->words[i] = CODE + 0x1000000 + (i * 2654435761u) % (nr_pages * 4096);
	for (u32 i = 0; i < nr_rows; i += 11)
		walk_from(f, &(struct pt_regs){.ip = CODE + 0x1000000 + i, .sp = STACK + 256});
	unwind_table_free(table);
}

/* A mapping that is larger than what its table describes. */
static void test_outside_the_table(void **state)
{
	struct fixture *f = *state;

	f->walker.vmas.at[0].start -= X86_PAGE_BYTES;
	f->walker.vmas.at[0].limit += X86_PAGE_BYTES;
	walker_publish(&f->walker);
	push_small(f, ip_in(ROOT));
	expect(walk(f, SMALL), 2, ABI_END_ROOT);
	expect(walk(f, NR_CODES), 1, ABI_END_NO_ROOT);
	expect(walk(f, -1), 1, ABI_END_NO_ROOT);
}

/* What a table says it does not know is for user space, in a caller's frame as in a leaf. */
static void test_unknown_in_a_table(void **state)
{
	struct fixture *f = *state;

	push_small(f, ip_in(UNKNOWN));
	expect(walk(f, SMALL), 2, ABI_END_UNKNOWN_CODE);
	expect(walk(f, UNKNOWN), 1, ABI_END_UNKNOWN_CODE);
}

/* A table that is removed, and another in its place, as libraries come and go. */
static void test_table_replaced(void **state)
{
	struct fixture *f = *state;
	u32 id = f->walker.vmas.at[0].id;

	push_small(f, ip_in(ROOT));
	f->walker.vmas.at[0].id = ABI_TABLE_UNBUILT;
	walker_publish(&f->walker);
	expect(walk(f, SMALL), 1, ABI_END_UNKNOWN_CODE);
	f->walker.vmas.at[0].id = ABI_TABLE_NO_CFI;
	f->walker.vmas.at[0].table = NULL;
	walker_publish(&f->walker);
	expect(walk(f, SMALL), 1, ABI_END_NO_ROOT);
	tables_remove(&f->walker.tables, id);
	tables_settle(&f->walker.tables);
	f->walker.vmas.at[0].id = walker_upload(&f->walker, &f->table);
	f->walker.vmas.at[0].table = &f->table;
	walker_publish(&f->walker);
	expect(walk(f, SMALL), 2, ABI_END_ROOT);
}

/* The sample ------------------------------------------------------------------------------------- */

static u64 stat(u32 i)
{
	const struct abi_stats *stats = host_map_value("stats");

	return stats->n[i];
}

static void check_ticks(void)
{
	u64 lost = 0;

	for (u32 i = ABI_STAT_FIRST_LOSS; i < ABI_NR_STATS; i++)
		lost += stat(i);
	assert_int_equal(stat(ABI_STAT_TICKS),
			 stat(ABI_STAT_FILTERED) + stat(ABI_STAT_STORED) + lost);
}

/* The pieces of a copy that are in the ring, and then its record. Returns how many bytes they have. */
static u32 take_copy(const struct fixture *f, u32 *nr_pieces, bool *has_more)
{
	const struct abi_stack *stack;
	const struct abi_record *record;
	u32 len, nr_bytes = 0;

	for (*nr_pieces = 0;; ++*nr_pieces) {
		stack = host_ring_take(&len);
		assert_non_null(stack);
		if (stack->event != ABI_EVENT_STACK)
			break;
		assert_int_equal(len, offsetof(struct abi_stack, stack) + stack->len_bytes);
		assert_int_equal(stack->ip, CODE - 0x100000);
		assert_int_equal(stack->piece, *nr_pieces);
		assert_int_equal(stack->sp, *nr_pieces ? STACK + *nr_pieces * ABI_STACK_PIECE_BYTES
						       : sp_at(2));
		assert_int_equal(stack->fp, 77);
		assert_false(stack->ip_exact);
		assert_false(stack->has_leaf);
		assert_memory_equal(stack->stack, f->words + (stack->sp - STACK) / 8,
				    stack->len_bytes);
		nr_bytes += stack->len_bytes;
		*has_more = stack->has_more;
	}
	record = (const void *)stack;
	assert_int_equal(record->event, ABI_EVENT_RECORD);
	assert_int_equal(record->user_end, ABI_END_UNKNOWN_CODE);
	assert_int_equal(record->nr_user, 2);
	assert_null(host_ring_take(&len));
	return nr_bytes;
}

static void sample_and_check(struct fixture *f, u32 expected_bytes, u32 expected_pieces,
			     bool expected_more)
{
	struct bpf_perf_event_data ctx = {
		.regs = {.ip = ip_in(SMALL), .sp = STACK, .bp = 77, .cs = 0x33}};
	u32 nr_pieces;
	bool has_more;

	sample_cpu(&ctx);
	assert_int_equal(take_copy(f, &nr_pieces, &has_more), expected_bytes);
	assert_int_equal(nr_pieces, expected_pieces);
	assert_int_equal(has_more, expected_more);
}

/* What goes over the ring for a walk that came to unknown code. */
static void check_copy(struct fixture *f, u32 words_there, u32 expected_bytes, u32 expected_pieces)
{
	host.nr_ranges = 0;
	host_add_range(STACK, f->words, words_there * 8ull);
	sample_and_check(f, expected_bytes, expected_pieces, false);
}

static void test_unknown_code_sends_a_copy(void **state)
{
	struct fixture *f = *state;

	for (u32 i = 0; i < STACK_WORDS; i++)
		f->words[i] = i;
	f->words[1] = CODE - 0x100000;
	check_copy(f, 1024, 8192 - 16, 8);
	check_copy(f, 512, 4096 - 16, 8);
	check_copy(f, 1536, 12288 - 16, 8);
	check_copy(f, 2048, 16384 - 16, 8);
	check_copy(f, 2051, 16384 - 16, 8); /* in the midst of a page nothing ends */
	check_copy(f, 2560, 20480 - 16, 8);
	check_copy(f, STACK_WORDS, STACK_BYTES - 16, 8);
	check_ticks();
}

/* What lies above the first frame, or in a thread's own block, is not copied. */
static void test_copies_end_with_the_stack(void **state)
{
	struct fixture *f = *state;

	f->words[1] = CODE - 0x100000;
	host.mm.start_stack = sp_at(102);
	check_copy(f, STACK_WORDS, 100 * 8 + 64, 1);
	host.task.thread.fsbase = sp_at(52);
	check_copy(f, STACK_WORDS, 50 * 8 + 64, 1);
	host.mm.start_stack = STACK + ABI_STACK_PIECE_BYTES - 64;
	host.task.thread.fsbase = 0; /* below the stack: it says nothing */
	check_copy(f, STACK_WORDS, ABI_STACK_PIECE_BYTES - 16, 1);
	host.mm.start_stack += 8;
	check_copy(f, STACK_WORDS, ABI_STACK_PIECE_BYTES - 16 + 8, 2);
}

/* Pages that nobody has written to yet, in the midst of a stack. */
static void test_copies_have_holes(void **state)
{
	struct fixture *f = *state;

	f->words[1] = CODE - 0x100000;
	memset(f->words + 512, 0, 2 * 4096); /* what is expected of them */
	for (u32 i = 1536; i < STACK_WORDS; i++)
		f->words[i] = i;
	memset(f->words + 4096, 0, 2 * 4096);
	host.nr_ranges = 0;
	host_add_range(STACK, f->words, 4096);
	host_add_range(STACK + 3 * 4096, f->words + 1536, 4096);
	host_add_range(STACK + 40960, f->words + 5120, 4096);
	host.mm.start_stack = STACK + STACK_BYTES - 64;
	sample_and_check(f, 16384 - 16 + 3 * 4096, 4, false);
}

/* The rest of a deep stack is the first thing to go without. */
static void test_copies_are_cut(void **state)
{
	struct fixture *f = *state;

	f->words[1] = CODE - 0x100000;
	host_config()->events_quarter_bytes = ABI_STACK_PIECE_BYTES;
	sample_and_check(f, ABI_STACK_PIECE_BYTES - 16, 1, true);
}

/* How soon the reader is woken says nothing of how much room there is. */
static void test_copies_are_sent_beyond_a_wakeup(void **state)
{
	struct fixture *f = *state;

	f->words[1] = CODE - 0x100000;
	host.nr_ranges = 0;
	host_add_range(STACK, f->words, 4096);
	host_config()->events_wakeup_bytes = 16;
	host_config()->events_quarter_bytes = 1 << 20;
	for (u64 bp = 1; bp < 4; bp++) {
		struct bpf_perf_event_data ctx = {
			.regs = {.ip = ip_in(SMALL), .sp = STACK, .bp = bp, .cs = 0x33}};

		sample_cpu(&ctx);
	}
	for (u32 i = 0; i < 3; i++) {
		const struct abi_stack *stack;
		u32 len;

		do {
			stack = host_ring_take(&len);
			assert_non_null(stack);
		} while (stack->event != ABI_EVENT_STACK);
	}
}

/* A process that is not known at all: the leaf's registers go along. */
static void test_unknown_process_sends_registers(void **state)
{
	struct bpf_perf_event_data ctx = {
		.regs = {.ip = ip_in(SMALL), .sp = STACK, .r12 = 12, .ax = 99, .cs = 0x33}};
	const struct abi_stack *stack;
	u32 len;

	(void)state;
	host_set_current(2000, 2001);
	sample_cpu(&ctx);
	stack = host_ring_take(&len);
	assert_non_null(stack);
	assert_true(stack->has_leaf && stack->ip_exact && stack->extra_known);
	assert_int_equal(stack->leaf[0], 99);
	assert_int_equal(stack->leaf[12], 12);
	assert_int_equal(stack->leaf[X86_REG_SP], STACK);
	assert_int_equal(stack->ip, ip_in(SMALL));
	check_ticks();
}

/* A tick in the kernel: the user's registers are those that its entry saved. */
static void test_sample_in_the_kernel(void **state)
{
	struct fixture *f = *state;
	struct bpf_perf_event_data ctx = {.regs = {.ip = 0xffffffff81000000ull, .cs = 0x10}};
	const struct abi_record *record;
	u32 len;

	push_small(f, ip_in(ROOT));
	*host_saved_regs() = (struct pt_regs){.ip = ip_in(SMALL), .sp = STACK, .cs = 0x33};
	host_config()->kernel_stacks = 1;
	host.kernel_ips[0] = 0xffffffff81000000ull;
	host.kernel_ips[1] = 0xffffffff81000008ull;
	host.nr_kernel_ips = 2;
	for (u32 i = 0; i < 4; i++) {
		host.has_current_task_btf = i > 0;
		host.has_task_pt_regs = i > 1;
		host_config()->no_kernel_reads = i > 2;
		sample_cpu(&ctx);
	}
	record = host_ring_take(&len);
	assert_non_null(record);
	assert_int_equal(record->nr_kernel, 2);
	assert_int_equal(record->nr_user, 2);
	assert_int_equal(record->ips[1], host.kernel_ips[1]);
	assert_int_equal(record->ips[2], ip_in(SMALL));
	assert_int_equal(record->ips[3], ip_in(ROOT));
	assert_int_equal(record->user_end, ABI_END_ROOT);
	assert_null(host_ring_take(&len)); /* the others are the same */
	assert_int_equal(stat(ABI_STAT_STORED), 4);
	host_config()->no_kernel_reads = host.has_task_pt_regs = 0;
	host.fail_kernel_reads = 1;
	sample_cpu(&ctx);
	record = host_ring_take(&len);
	assert_int_equal(record->user_end, ABI_END_NO_REGISTERS);
	assert_int_equal(record->nr_user, 0);
	check_ticks();
}

/* lockdown=confidentiality before Linux 5.15: the kernel's walk by frame pointers is all there is. */
static void test_locked_down_in_the_kernel(void **state)
{
	struct bpf_perf_event_data ctx = {.regs = {.ip = 0xffffffff81000000ull, .cs = 0x10}};
	const struct abi_record *record;
	u32 len;

	(void)state;
	host.has_task_pt_regs = 0;
	host_config()->no_kernel_reads = host_config()->kernel_stacks = 1;
	host.kernel_ips[0] = 0xffffffff81000000ull;
	host.nr_kernel_ips = 1;
	host.nr_user_ips = ABI_MAX_KERNEL_FRAMES;
	for (u32 i = 0; i < host.nr_user_ips; i++)
		host.user_ips[i] = 0x1000 + i;
	sample_cpu(&ctx);
	record = host_ring_take(&len);
	assert_non_null(record);
	assert_int_equal(record->nr_kernel, 1);
	assert_int_equal(record->nr_user, ABI_MAX_KERNEL_FRAMES);
	assert_int_equal(record->user_end, ABI_END_NO_REGISTERS);
	assert_int_equal(record->ips[0], host.kernel_ips[0]);
	assert_int_equal(record->ips[1], 0x1000);
	for (u32 i = 1; i < ABI_MAX_KERNEL_FRAMES; i++)
		assert_int_equal(record->ips[1 + i], (0x1000 + i) | ABI_IP_GUESSED);
	host.nr_user_ips = 0; /* a kernel thread, or a task that exits */
	sample_cpu(&ctx);
	record = host_ring_take(&len);
	assert_int_equal(record->user_end, ABI_END_NO_USER);
	assert_int_equal(record->nr_kernel, 1);
	assert_int_equal(record->nr_user, 0);
	assert_int_equal(stat(ABI_STAT_FILTERED), 0);
	host_config()->kernel_stacks = 0;
	sample_cpu(&ctx);
	assert_int_equal(stat(ABI_STAT_FILTERED), 1);
	check_ticks();
}

/* Samples current; the record of its stack, NULL if it is known. */
static const struct abi_record *sample_current(void)
{
	struct bpf_perf_event_data ctx = {.regs = {.ip = ip_in(SMALL), .sp = STACK, .cs = 0x33}};
	const struct abi_record *record;
	u32 len;

	sample_cpu(&ctx);
	do
		record = host_ring_take(&len);
	while (record && record->event != ABI_EVENT_RECORD);
	return record;
}

/* lockdown=confidentiality before Linux 5.11: what tracepoints have seen of a process tells its images apart. */
static void test_locked_down_identity(void **state)
{
	struct task_struct parent = {.tgid = 1}, *task = &host.task;

	push_small(*state, ip_in(ROOT));
	host_config()->no_kernel_reads = 1;
	host.leader.start_time = 5;
	assert_int_equal(sample_current()->start_ns, 0); /* it was there before */
	assert_null(sample_current());
	bpf_on_fork(&parent, task);
	assert_int_equal(sample_current()->start_ns, 5);
	assert_null(sample_current());
	for (u32 i = 1; i < 3; i++) {
		bpf_on_exec(task);
		assert_int_equal(sample_current()->start_ns, 5);
		assert_int_equal(scratch_at(ABI_SLOT_TICK)->exec_id, i);
	}
	assert_int_equal(host_map_nr("seen_processes"), 1);
	bpf_on_exit(task);
	assert_int_equal(host_map_nr("seen_processes"), 1); /* other threads live on */
	host.signal.live.counter = 0;
	bpf_on_exit(task);
	assert_int_equal(host_map_nr("seen_processes"), 0);
	check_ticks();
}

/* A tick while the kernel deals with a breakpoint: is the leaf the instruction behind it, or it? */
static void test_sample_at_a_breakpoint(void **state)
{
	static const struct {
		u64 orig_ax;
		bool has_utask;
		u8 code[2]; /* at ip - 1 */
		bool is_behind;
	} cases[] = {
		{~0ull, true, {0xcc, 0x54}, true},  {~0ull, false, {0xcc, 0x54}, false},
		{~0ull, true, {0x90, 0x54}, false}, {~0ull, true, {0xcc, 0xcc}, false},
		{1, true, {0xcc, 0x54}, false},
	};
	struct fixture *f = *state;
	struct bpf_perf_event_data ctx = {.regs = {.ip = 0xffffffff81000000ull, .cs = 0x10}};
	u8 code[2];

	push_small(f, ip_in(ROOT));
	*host_saved_regs() = (struct pt_regs){.ip = ip_in(SMALL), .sp = STACK, .cs = 0x33};
	host_add_range(ip_in(SMALL) - 1, code, sizeof(code));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct abi_record *record;
		u32 len;

		host_saved_regs()->orig_ax = cases[i].orig_ax;
		host.task.utask = cases[i].has_utask ? (void *)&host : NULL;
		host_config()->hash_seed = i; /* a new record each time */
		memcpy(code, cases[i].code, sizeof(code));
		sample_cpu(&ctx);
		record = host_ring_take(&len);
		assert_non_null(record);
		assert_int_equal(record->nr_user, 2);
		assert_int_equal(record->ips[0], ip_in(SMALL) - cases[i].is_behind);
		assert_int_equal(record->ips[1], ip_in(ROOT));
	}
	check_ticks();
}

/* Return probes ---------------------------------------------------------------------------------- */

#define TRAMPOLINE 0x7fffffffe000ull

/* Return addresses that stand in the list of the current task, the innermost first; what is older lies behind them. */
struct pending {
	struct xol_area area;
	struct uprobe_task utask;
	struct return_instance calls[4];
	u32 nr;
};

static void add_pending(struct pending *pending, u32 word, u64 return_to)
{
	struct return_instance *call = &pending->calls[pending->nr];

	assert_true(pending->nr < sizeof(pending->calls) / sizeof(pending->calls[0]));
	*call = (struct return_instance){.stack = sp_at(word), .orig_ret_vaddr = return_to};
	if (pending->nr++)
		call[-1].next = call;
	pending->area.vaddr = TRAMPOLINE;
	pending->utask.return_instances = pending->calls;
	host.task.utask = &pending->utask;
	host.mm.uprobes_state.xol_area = &pending->area;
}

static const struct abi_record *sample_anew(const struct pt_regs *regs)
{
	struct bpf_perf_event_data ctx = {.regs = *regs};
	u32 len;

	host_config()->hash_seed++; /* a new record each time */
	sample_cpu(&ctx);
	return host_ring_take(&len);
}

/* Three calls that wait for probes, the second of them for two, and what a longjmp() has left of an inner one. */
static void test_return_probes(void **state)
{
	struct fixture *f = *state;
	struct pt_regs regs = {.ip = ip_in(SMALL), .sp = STACK, .cs = 0x33};
	struct pending pending = {.nr = 0};
	const struct abi_record *record;

	push_small(f, TRAMPOLINE);
	push_small(f, TRAMPOLINE);
	push_small(f, ip_in(ROOT));
	add_pending(&pending, 0, ip_in(LARGE));
	add_pending(&pending, 1, ip_in(SMALL) + 1);
	add_pending(&pending, 3, ip_in(SMALL) + 2);
	add_pending(&pending, 3, ip_in(SMALL) + 2);
	for (u32 i = 0; i < 3; i++) {
		host.has_current_task_btf = i > 0;
		host_config()->no_kernel_reads = i > 1;
		record = sample_anew(&regs);
		assert_non_null(record);
		assert_int_equal(record->user_end, ABI_END_ROOT);
		assert_int_equal(record->nr_user, 4);
		assert_int_equal(record->ips[1], ip_in(SMALL) + 1);
		assert_int_equal(record->ips[2], ip_in(SMALL) + 2);
		assert_int_equal(record->ips[3], ip_in(ROOT));
	}
	check_ticks();
}

/* The trampoline itself is at work: it has up to three registers on the stack. */
static void test_sample_in_a_return_probe(void **state)
{
	struct fixture *f = *state;
	struct pending pending = {.nr = 0};

	f->nr = 4; /* what the trampoline pushes, and where the return address was */
	push_small(f, ip_in(ROOT));
	add_pending(&pending, 3, ip_in(SMALL));
	for (u32 word = 1; word <= 4; word++) {
		struct pt_regs regs = {.ip = TRAMPOLINE + word, .sp = sp_at(word), .cs = 0x33};
		const struct abi_record *record = sample_anew(&regs);

		assert_non_null(record);
		assert_int_equal(record->user_end, ABI_END_ROOT);
		assert_int_equal(record->nr_user, 2);
		assert_int_equal(record->ips[0], ip_in(SMALL));
	}
	check_ticks();
}

/* An instruction is executed in a slot: ip is at its copy, or behind that. */
static void test_sample_in_a_slot(void **state)
{
	struct fixture *f = *state;
	const u64 slot = TRAMPOLINE + 128;
	struct pending pending = {.area = {.vaddr = TRAMPOLINE},
				  .utask = {.vaddr = ip_in(SMALL), .xol_vaddr = slot}};

	push_small(f, ip_in(ROOT));
	host.task.utask = &pending.utask;
	host.mm.uprobes_state.xol_area = &pending.area;
	for (u32 i = 0; i < 4; i++) {
		struct pt_regs regs = {.ip = slot + 7 * i, .sp = STACK, .cs = 0x33};
		const struct abi_record *record;
		u32 len;

		if (i == 2)
			pending.utask.xol_vaddr += 128; /* another thread's is none of ours */
		record = sample_anew(&regs);
		while (record && record->event == ABI_EVENT_STACK)
			record = host_ring_take(&len);
		assert_non_null(record);
		assert_int_equal(record->user_end, i < 2 ? ABI_END_ROOT : ABI_END_UNKNOWN_CODE);
		assert_int_equal(record->ips[0], i < 2 ? ip_in(SMALL) + 7 * i : regs.ip);
	}
	check_ticks();
}

/* Nothing is made up: a list that does not have the call, one that says nothing new, none, or one that cannot be read. */
static void test_unknown_return_probes(void **state)
{
	struct fixture *f = *state;
	struct pt_regs regs = {.ip = ip_in(SMALL), .sp = STACK, .cs = 0x33};
	struct pending pending = {.nr = 0};
	const struct abi_record *record;
	u32 len;

	push_small(f, TRAMPOLINE);
	host.has_current_task_btf = 0;
	for (u32 i = 0; i < 4; i++) {
		if (i < 2)
			add_pending(&pending, 1 + !i, i ? TRAMPOLINE : ip_in(ROOT));
		if (i == 2)
			pending.utask.return_instances = NULL;
		host_config()->no_kernel_reads = i == 3;
		record = sample_anew(&regs);
		while (record && record->event == ABI_EVENT_STACK)
			record = host_ring_take(&len);
		assert_non_null(record);
		assert_int_equal(record->user_end, ABI_END_UNKNOWN_CODE);
		assert_int_equal(record->nr_user, 2);
	}
}

/* In a copy that is sent, the real addresses stand; nothing else is changed. */
static void test_copies_are_without_return_probes(void **state)
{
	struct fixture *f = *state;
	struct pt_regs regs = {.ip = ip_in(SMALL), .sp = STACK, .cs = 0x33};
	struct pending pending = {.nr = 0};
	const struct abi_stack *stack;
	u32 len;

	for (u32 i = 0; i < STACK_WORDS; i++)
		f->words[i] = i;
	f->words[1] = CODE - 0x100000;
	f->words[10] = f->words[20] = f->words[30] = TRAMPOLINE;
	add_pending(&pending, 10, ip_in(SMALL));
	add_pending(&pending, 30, ip_in(ROOT));
	add_pending(&pending, 40, ip_in(ROOT));
	add_pending(&pending, STACK_WORDS, ip_in(ROOT));
	stack = (const void *)sample_anew(&regs);
	assert_non_null(stack);
	assert_int_equal(stack->event, ABI_EVENT_STACK);
	f->words[10] = ip_in(SMALL);
	f->words[30] = ip_in(ROOT);
	assert_memory_equal(stack->stack, f->words + (stack->sp - STACK) / 8, stack->len_bytes);
	while (((const struct abi_record *)stack)->event == ABI_EVENT_STACK)
		stack = host_ring_take(&len);
	check_ticks();
}

static void test_kernel_threads_and_filters(void **state)
{
	struct bpf_perf_event_data ctx = {.regs = {.ip = 0xffffffff81000000ull, .cs = 0x10}};
	const struct abi_record *record;
	u32 len;

	(void)state;
	host.task.flags = PF_KTHREAD;
	sample_cpu(&ctx);
	assert_int_equal(stat(ABI_STAT_FILTERED), 1);
	host_config()->kernel_stacks = 1;
	host.nr_kernel_ips = ABI_MAX_KERNEL_FRAMES;
	sample_cpu(&ctx);
	record = host_ring_take(&len);
	assert_int_equal(record->user_end, ABI_END_NO_USER);
	assert_int_equal(record->nr_kernel, ABI_MAX_KERNEL_FRAMES);
	host_set_current(0, 0); /* idle */
	sample_cpu(&ctx);
	assert_int_equal(stat(ABI_STAT_FILTERED), 2);
	assert_int_equal(stat(ABI_STAT_STORED), 1);
	check_ticks();
}

/* The deepest of both: they share the record's ips. */
static void test_deepest_record(void **state)
{
	struct fixture *f = *state;
	struct bpf_perf_event_data ctx = {.regs = {.ip = 0xffffffff81000000ull, .cs = 0x10}};
	const struct abi_record *record;
	u32 len;

	for (u32 i = 0; i < ABI_MAX_USER_FRAMES; i++)
		push_small(f, ip_in(SMALL));
	push_small(f, ip_in(ROOT));
	*host_saved_regs() = (struct pt_regs){.ip = ip_in(SMALL), .sp = STACK, .cs = 0x33};
	host_config()->kernel_stacks = 1;
	host.nr_kernel_ips = ABI_MAX_KERNEL_FRAMES;
	sample_cpu(&ctx);
	record = host_ring_take(&len);
	assert_int_equal(record->nr_user, ABI_MAX_USER_FRAMES);
	assert_int_equal(record->user_end, ABI_END_ROOT);
	assert_int_equal(record->ips[ABI_MAX_KERNEL_FRAMES + ABI_LEAF_FRAMES], ABI_IP_ELIDED);
	assert_int_equal(record->ips[ABI_MAX_FRAMES - 1], ip_in(ROOT));
	assert_int_equal(len, sizeof(*record));
	assert_int_equal(stat(ABI_STAT_FRAMES), ABI_MAX_USER_FRAMES + 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(plain_frames),
		TEST(zero_return_address),
		TEST(unsupported),
		TEST(frame_pointer_frames),
		TEST(gap_and_back),
		TEST(trampolines),
		TEST(within_a_trampoline),
		TEST(prologues),
		TEST(made_up_callers),
		TEST(jit_signal_handler),
		TEST(promised_frame_pointers),
		TEST(signal_frame),
		TEST(plt),
		TEST(rbx),
		TEST(sp_does_not_move),
		TEST(missing_page),
		TEST(missing_page_within_a_frame),
		TEST(unaligned),
		TEST(window_boundaries),
		TEST(windows_save_reads),
		TEST(frames_share_lookups),
		TEST(depth),
		TEST(depth_is_no_identity),
		TEST(time),
		TEST(vma_search),
		TEST(vmas_at_the_end_of_their_space),
		TEST(slab_boundary),
		TEST(outside_the_table),
		TEST(unknown_in_a_table),
		TEST(table_replaced),
		TEST(unknown_code_sends_a_copy),
		TEST(copies_end_with_the_stack),
		TEST(copies_have_holes),
		TEST(copies_are_cut),
		TEST(copies_are_sent_beyond_a_wakeup),
		TEST(unknown_process_sends_registers),
		TEST(sample_in_the_kernel),
		TEST(locked_down_in_the_kernel),
		TEST(locked_down_identity),
		TEST(sample_at_a_breakpoint),
		TEST(return_probes),
		TEST(sample_in_a_return_probe),
		TEST(sample_in_a_slot),
		TEST(unknown_return_probes),
		TEST(copies_are_without_return_probes),
		TEST(kernel_threads_and_filters),
		TEST(deepest_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
