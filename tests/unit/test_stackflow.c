// SPDX-License-Identifier: BSD-2-Clause
/* The height of the stack in machine code that has no call frame information. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "unwind/stackflow.h"

#define ADDR 0x7f0000001000ull

static vec_of(struct unwind_row) rows;

static void take(void *ctx, const struct unwind_row *row)
{
	(void)ctx;
	if (rows.nr)
		assert_true(row->elf_addr > rows.at[rows.nr - 1].elf_addr);
	else
		assert_true(row->elf_addr == ADDR);
	vec_push(&rows, *row);
}

static void run(enum stackflow_kind kind, uint32_t frame_bytes, const uint8_t *bytes, size_t len,
		const struct stackflow_entry *entries, size_t nr_entries)
{
	struct stackflow_code code = {.bytes = bytes,
				      .len_bytes = len,
				      .addr = ADDR,
				      .kind = kind,
				      .frame_bytes = frame_bytes,
				      .entries = entries,
				      .nr_entries = nr_entries};

	rows.nr = 0;
	stackflow_rows(&code, take, NULL);
	assert_true(rows.nr > 0);
}

#define RUN(kind, frame_bytes, bytes, ...)                               \
	do {                                                             \
		const struct stackflow_entry entries_[] = {__VA_ARGS__}; \
		run(kind, frame_bytes, bytes, sizeof(bytes), entries_,   \
		    sizeof(entries_) / sizeof(entries_[0]));             \
	} while (0)

static struct unwind_rule at(size_t offset)
{
	size_t i = 0;

	while (i + 1 < rows.nr && rows.at[i + 1].elf_addr <= ADDR + offset)
		i++;
	return rows.at[i].rule;
}

static void expect(size_t offset, uint32_t reg, int32_t off)
{
	struct unwind_rule rule = at(offset);

	if (rule.kind != UNWIND_FRAME || rule.cfa_reg != reg || rule.cfa_off != off)
		fail_msg("at +%zu: kind %u, CFA = reg %u %+d, not reg %u %+d", offset, rule.kind,
			 rule.cfa_reg, rule.cfa_off, reg, off);
}

static void expect_ra(size_t offset, uint32_t how, int32_t off)
{
	struct unwind_rule rule = at(offset);

	assert_int_equal(unwind_ra_how(&rule), how);
	assert_int_equal(rule.ra_off, off);
}

static void expect_fp(size_t offset, uint32_t how, int32_t off)
{
	struct unwind_rule rule = at(offset);

	assert_int_equal(unwind_fp_how(&rule), how);
	assert_int_equal(rule.fp_off, off);
}

/* What C2 makes: the poll at the return is where there is no frame, and so is its slow path. */
static void test_poll_at_return(void **state)
{
	static const uint8_t code[] = {
		0x55,					  /*  0 push %rbp */
		0x48, 0x83, 0xec, 0x20,			  /*  1 sub $0x20,%rsp */
		0x48, 0x89, 0xc5,			  /*  5 mov %rax,%rbp */
		0x48, 0x83, 0xc4, 0x20,			  /*  8 add $0x20,%rsp */
		0x5d,					  /*  c pop %rbp */
		0x49, 0x3b, 0xa7, 0x40, 0x03, 0x00, 0x00, /*  d cmp 0x340(%r15),%rsp */
		0x77, 0x02,				  /* 14 ja 18 */
		0xc3,					  /* 16 ret */
		0xf4,					  /* 17 hlt */
		0x90,					  /* 18 nop: no frame */
		0xc3,					  /* 19 ret */
		0x90,					  /* 1a nop: no path, so the body */
	};

	(void)state;
	RUN(STACKFLOW_COMPILED, 48, code, {0, false});
	expect(0, X86_REG_SP, 8);
	expect_fp(0, UNWIND_SAME, 0);
	expect(1, X86_REG_SP, 16);
	expect(5, X86_REG_SP, 48);
	expect_fp(5, UNWIND_AT_CFA, -16);
	expect(8, X86_REG_SP, 48); /* whatever rbp is now */
	expect(0xc, X86_REG_SP, 16);
	expect(0xd, X86_REG_SP, 8);
	expect_fp(0xd, UNWIND_SAME, 0);
	expect(0x16, X86_REG_SP, 8);
	expect(0x18, X86_REG_SP, 8);
	expect(0x1a, X86_REG_SP, 48);
}

/* sub first, then a store of rbp; pushes in the body; loops are followed once. */
static void test_body(void **state)
{
	static const uint8_t code[] = {
		0x48, 0x81, 0xec, 0x18, 0x00, 0x00, 0x00, /*  0 sub $0x18,%rsp */
		0x48, 0x89, 0x6c, 0x24, 0x10,		  /*  7 mov %rbp,0x10(%rsp) */
		0x50,					  /*  c push %rax */
		0x6a, 0x01,				  /*  d push $1 */
		0x9c,					  /*  f pushf */
		0x48, 0x8d, 0x64, 0x24, 0x10,		  /* 10 lea 0x10(%rsp),%rsp */
		0x58,					  /* 15 pop %rax */
		0x75, 0xf4,				  /* 16 jne c */
		0x48, 0x8b, 0x6c, 0x24, 0x10,		  /* 18 mov 0x10(%rsp),%rbp */
		0x48, 0x83, 0xc4, 0x18,			  /* 1d add $0x18,%rsp */
		0xc3,					  /* 21 ret */
	};

	(void)state;
	RUN(STACKFLOW_COMPILED, 32, code, {0, false});
	expect(7, X86_REG_SP, 32);
	expect_fp(7, UNWIND_SAME, 0);
	expect(0xc, X86_REG_SP, 32);
	expect_fp(0xc, UNWIND_AT_CFA, -16);
	expect(0xd, X86_REG_SP, 40);
	expect(0xf, X86_REG_SP, 48);
	expect(0x10, X86_REG_SP, 56);
	expect(0x15, X86_REG_SP, 40);
	expect(0x16, X86_REG_SP, 32);
	expect_fp(0x1d, UNWIND_SAME, 0);
	expect(0x21, X86_REG_SP, 8);
}

/* call_stub: sp moves in a loop, rbp stays. */
static void test_stub_with_frame_pointer(void **state)
{
	static const uint8_t code[] = {
		0x55,			/*  0 push %rbp */
		0x48, 0x89, 0xe5,	/*  1 mov %rsp,%rbp */
		0x48, 0x83, 0xec, 0x60, /*  4 sub $0x60,%rsp */
		0x50,			/*  8 push %rax */
		0xff, 0xc9,		/*  9 dec %ecx */
		0x75, 0xfb,		/*  b jne 8 */
		0xff, 0xd0,		/*  d call *%rax */
		0x48, 0x8d, 0x65, 0xa0, /*  f lea -0x60(%rbp),%rsp */
		0x48, 0x83, 0xc4, 0x60, /* 13 add $0x60,%rsp */
		0x5d,			/* 17 pop %rbp */
		0xc3,			/* 18 ret */
		0x90,			/* 19 the next function */
		0xc9,			/* 1a leave */
	};

	(void)state;
	RUN(STACKFLOW_STUB, 0, code, {0, false});
	expect(1, X86_REG_SP, 16);
	expect(4, X86_REG_FP, 16);
	expect(0xd, X86_REG_FP, 16);
	expect(0x17, X86_REG_FP, 16);
	expect(0x18, X86_REG_SP, 8);
	expect(0x19, X86_REG_SP, 8);
}

/* An adapter takes the return address into a register, and aligns the stack. */
static void test_adapter(void **state)
{
	static const uint8_t code[] = {
		0x58,			/*  0 pop %rax */
		0x49, 0x89, 0xe3,	/*  1 mov %rsp,%r11 */
		0x48, 0x83, 0xec, 0x10, /*  4 sub $0x10,%rsp */
		0x48, 0x83, 0xe4, 0xf0, /*  8 and $-16,%rsp */
		0x50,			/*  c push %rax */
		0x90,			/*  d nop */
		0xff, 0xe3,		/*  e jmp *%rbx */
	};

	(void)state;
	RUN(STACKFLOW_STUB, 0, code, {0, false});
	expect(1, X86_REG_SP, 0);
	expect_ra(1, UNWIND_IN_REG, 0);
	expect(8, X86_REG_SP, 16);
	expect(0xc, 11, 0);
	expect_ra(0xc, UNWIND_IN_REG, 0);
	expect(0xd, 11, 0);
	expect_ra(0xd, UNWIND_AT_SP, 0);
}

/* An aligned stack that remembers the old sp in a word. */
static void test_aligned_stack(void **state)
{
	static const uint8_t code[] = {
		0x48, 0x89, 0xe0,	      /*  0 mov %rsp,%rax */
		0x48, 0x83, 0xec, 0x40,	      /*  3 sub $0x40,%rsp */
		0x48, 0x83, 0xe4, 0xe0,	      /*  7 and $-32,%rsp */
		0x48, 0x89, 0x44, 0x24, 0x38, /*  b mov %rax,0x38(%rsp) */
		0x31, 0xc0,		      /* 10 xor %eax,%eax */
		0x48, 0x8b, 0x64, 0x24, 0x38, /* 12 mov 0x38(%rsp),%rsp */
		0xc3,			      /* 17 ret */
	};
	struct unwind_rule rule;

	(void)state;
	RUN(STACKFLOW_STUB, 0, code, {0, false});
	expect(7, X86_REG_SP, 72);
	expect(0xb, 0, 8);
	rule = at(0x12);
	assert_int_equal(rule.kind, UNWIND_DEREF);
	assert_int_equal(rule.cfa_reg, X86_REG_SP);
	assert_int_equal(rule.cfa_off, 0x38);
	assert_int_equal(rule.deref_off, 8);
	expect(0x17, X86_REG_SP, 8);
}

/* The interpreter's epilogue: the caller's sp into rbx, leave, the return address into r13. */
static void test_interpreter_returns(void **state)
{
	static const uint8_t code[] = {
		0x90,			   /*  0 nop */
		0xe8, 0x0e, 0,	  0,	0, /*  1 call 14, a part of itself */
		0x48, 0x8b, 0x5d, 0xf8,	   /*  6 mov -8(%rbp),%rbx */
		0xc9,			   /*  a leave */
		0x41, 0x5d,		   /*  b pop %r13 */
		0x48, 0x89, 0xdc,	   /*  d mov %rbx,%rsp */
		0x41, 0xff, 0xe5,	   /* 10 jmp *%r13 */
		0xf4,			   /* 13 hlt */
		0xc3,			   /* 14 ret */
	};

	(void)state;
	RUN(STACKFLOW_INTERPRETER, 0, code, {0x100, true});
	assert_int_equal(at(0).kind, UNWIND_DEREF);
	assert_int_equal(at(0xa).kind, UNWIND_DEREF);
	assert_int_equal(at(0x14).kind, UNWIND_DEREF);
	expect(0xb, 3, 0);
	expect_ra(0xb, UNWIND_AT_SP, 0);
	expect_fp(0xb, UNWIND_SAME, 0);
	expect(0xd, 3, 0);
	expect_ra(0xd, UNWIND_IN_REG, 13);
	expect(0x10, X86_REG_SP, 0);
}

/* An intrinsic method of the interpreter: what it calls finds it by sp, since r13 is not to be had. */
static void test_intrinsic_calls(void **state)
{
	static const uint8_t code[] = {
		0xff, 0xd0,	  /* 0 call *%rax */
		0x58,		  /* 2 pop %rax */
		0x4c, 0x89, 0xec, /* 3 mov %r13,%rsp */
		0xff, 0xe0,	  /* 6 jmp *%rax */
	};

	(void)state;
	RUN(STACKFLOW_INTERPRETER, 0, code, {0, true});
	expect(0, X86_REG_SP, 8);
	expect_ra(3, UNWIND_IN_REG, 0);
	expect(6, X86_REG_SP, 0);
}

/* Any bytes give rows, whatever the entries. */
static void test_garbage(void **state)
{
	uint8_t code[512];

	(void)state;
	srand(1);
	for (int round = 0; round < 2000; round++) {
		for (size_t i = 0; i < sizeof(code); i++)
			code[i] = rand() % 3 ? (uint8_t)rand() : 0x48;
		RUN(round % 3, round % 5 * 16, code, {(size_t)rand() % 600, round & 1});
	}
	run(STACKFLOW_STUB, 0, code, 0, NULL, 0);
	assert_int_equal(at(0).kind, UNWIND_GAP);
	vec_release(&rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_poll_at_return),
		cmocka_unit_test(test_body),
		cmocka_unit_test(test_stub_with_frame_pointer),
		cmocka_unit_test(test_adapter),
		cmocka_unit_test(test_aligned_stack),
		cmocka_unit_test(test_interpreter_returns),
		cmocka_unit_test(test_intrinsic_calls),
		cmocka_unit_test(test_garbage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
