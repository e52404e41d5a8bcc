// SPDX-License-Identifier: BSD-2-Clause
/*
 * Functions of an assembler file whose rows are known; and all functions of libraries that say themselves where their
 * callers are: what their code alone shows must be what their call frame information says.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "elf_judge.h"
#include "object/fdes.h"
#include "object/symtab.h"
#include "unwind/asmflow.h"
#include "unwind/ehframe.h"
#include "unwind/gapfill.h"
#include "unwind/tablebuild.h"

/* Where labels are, and the rules of a file that an assembler made. */
struct made {
	struct symtab *symtab;
	struct unwind_table *table;
};

static void assemble(struct made *made, const char *source)
{
	char *path scoped(freep) = xasprintf("%s/made.s", judge_dir);
	FILE *out = fopen(path, "w");
	struct elf_file *file;

	assert_non_null(out);
	fprintf(out, ".text\n.cfi_startproc\nret\n.cfi_endproc\n.balign 32\n%s", source);
	fclose(out);
	judge_run("gcc -shared -nostdlib -Wl,-Bsymbolic,-z,noseparate-code -o made.so made.s");
	file = judge_open("made.so");
	made->symtab = symtab_new(file);
	assert_int_equal(unwind_table_from_elf(file, &made->table), 0);
	elf_file_close(file);
}

static void made_release(struct made *made)
{
	symtab_free(made->symtab);
	unwind_table_free(made->table);
}

static uint64_t address_of(const struct made *made, const char *label)
{
	struct symbol symbol;
	bool is_ifunc;

	if (!symtab_lookup(made->symtab, label, &symbol, &is_ifunc))
		fail_msg("no %s", label);
	return symbol.elf_addr;
}

static struct unwind_rule rule_at(const struct made *made, const char *label)
{
	struct unwind_rule rule = {.kind = UNWIND_GAP};

	unwind_table_find(made->table, address_of(made, label), &rule);
	return rule;
}

static void expect(const struct made *made, const char *label, uint32_t kind, uint32_t reg,
		   int32_t off)
{
	struct unwind_rule rule = rule_at(made, label);

	if (rule.kind != kind ||
	    (kind != UNWIND_GAP && (rule.cfa_reg != reg || rule.cfa_off != off)))
		fail_msg("%s: kind %u, reg %u %+d; not kind %u, reg %u %+d", label, rule.kind,
			 rule.cfa_reg, rule.cfa_off, kind, reg, off);
}

static void expect_sp(const struct made *made, const char *label, int32_t off)
{
	expect(made, label, UNWIND_FRAME, X86_REG_SP, off);
}

static void expect_gap(const struct made *made, const char *label)
{
	expect(made, label, UNWIND_GAP, 0, 0);
}

/* Of which function the code at label is; NULL: not known. */
static void expect_start(const struct made *made, const char *label, const char *function)
{
	uint64_t start = 0;
	bool is_known = codestarts_find(&made->table->starts, address_of(made, label), &start);

	if (is_known != !!function || (function && start != address_of(made, function)))
		fail_msg("%s: of the function at 0x%" PRIx64, label, start);
}

static void test_saves_and_restores(void **state)
{
	struct made made;
	struct unwind_rule rule;

	(void)state;
	assemble(&made, ".globl begin, pushed, body, popped\n"
			"begin:\npush %rbx\npush %rbp\npushed:\nsub $0x18,%rsp\n"
			"body:\nxor %ebp,%ebp\ndec %ebp\njnz body\n"
			"add $0x18,%rsp\npop %rbp\npopped:\npop %rbx\nret\n");
	expect_sp(&made, "begin", 8);
	expect_sp(&made, "pushed", 24);
	expect_sp(&made, "body", 48);
	expect_sp(&made, "popped", 16);
	rule = rule_at(&made, "body");
	assert_int_equal(unwind_fp_how(&rule), UNWIND_AT_CFA);
	assert_int_equal(rule.fp_off, -24);
	rule = rule_at(&made, "popped");
	assert_int_equal(unwind_fp_how(&rule), UNWIND_SAME);
	made_release(&made);
}

/* rbp is at work, and saved and restored as such: it is not the caller's before the last pop. */
static void test_rbp_saved_twice(void **state)
{
	struct unwind_rule rule;
	struct made made;

	(void)state;
	assemble(&made, ".globl begin, inner, restored\n"
			"begin:\npush %rbp\nmov %rdi,%rbp\npush %rbp\nxor %ebp,%ebp\npop %rbp\n"
			"inner:\nmov (%rbp),%rax\npop %rbp\nrestored:\nret\n");
	expect_sp(&made, "inner", 16);
	rule = rule_at(&made, "inner");
	assert_int_equal(unwind_fp_how(&rule), UNWIND_AT_CFA);
	assert_int_equal(rule.fp_off, -16);
	rule = rule_at(&made, "restored");
	assert_int_equal(unwind_fp_how(&rule), UNWIND_SAME);
	made_release(&made);
}

/* Less code than padding may be long is no padding. */
static void test_small_gap(void **state)
{
	struct made made;

	(void)state;
	assemble(&made, ".globl one, bad, good\none:\nnot %rax\nret\n"
			"bad:\nmov $15,%eax\nsyscall\nret\n.balign 16\ngood:\nnot %rax\nret\n");
	expect_sp(&made, "one", 8);
	expect_gap(&made, "bad");
	expect_sp(&made, "good", 8);
	made_release(&made);
}

/* The caller's sp is in a register, then in a word of the aligned frame. */
static void test_aligned_frame(void **state)
{
	struct made made;

	(void)state;
	assemble(&made, ".globl begin, aligned, body, restored\n"
			"begin:\npush %r12\nmov %rsp,%rax\nsub $0x60,%rsp\nand $-32,%rsp\n"
			"aligned:\nmov %rax,0x48(%rsp)\nxor %eax,%eax\n"
			"body:\nvpxor %ymm0,%ymm0,%ymm0\nmov 0x48(%rsp),%rsp\n"
			"restored:\npop %r12\nret\n");
	expect(&made, "aligned", UNWIND_FRAME, 0, 16);
	expect(&made, "body", UNWIND_DEREF, X86_REG_SP, 0x48);
	assert_int_equal(rule_at(&made, "body").deref_off, 16);
	expect_sp(&made, "restored", 16);
	made_release(&made);
}

/* No branch leads to the cases, which nothing but their returns tells from functions. */
static void test_jump_table(void **state)
{
	struct made made;

	(void)state;
	assemble(&made, ".globl begin, one, two, next\n"
			"begin:\nsub $0x28,%rsp\nlea table(%rip),%r11\nmovslq (%r11,%rdi,4),%rax\n"
			"add %r11,%rax\njmp *%rax\n"
			".balign 16\none:\n.Lone:\nmovd %xmm0,(%rdi)\nadd $0x28,%rsp\nret\n"
			"two:\n.Ltwo:\nmovq %xmm0,(%rdi)\nadd $0x28,%rsp\nret\n"
			".balign 16\nnext:\nlea (%rdi,%rsi),%rax\nret\n"
			".section .rodata\ntable:\n.long .Lone - table, .Ltwo - table\n");
	expect_sp(&made, "one", 0x30);
	expect_sp(&made, "two", 0x30);
	expect_sp(&made, "next", 8);
	made_release(&made);
}

/* A function that is only called, in the middle of things, and one that goes on in another. */
static void test_calls(void **state)
{
	struct made made;

	(void)state;
	assemble(&made, ".globl begin, behind, odd, tail\n"
			"begin:\npush %rbx\ncall .Lodd\nbehind:\npop %rbx\nret\n.byte 0x90\n"
			"odd:\n.Lodd:\nlea 1(%rdi),%rax\nret\n"
			".balign 16\ntail:\ninc %rdi\njmp begin\n");
	expect_sp(&made, "behind", 16);
	expect_sp(&made, "odd", 8);
	expect_sp(&made, "tail", 8);
	made_release(&made);
}

/* What does not keep to the ABI, or is no code, stays a gap, and what is beside it does not. */
static void test_nothing_made_up(void **state)
{
	static const char *const bodies[] = {
		"push %rbx\nret\n",		/* not balanced */
		"xor %ebp,%ebp\nret\n",		/* rbp is not the caller's any more */
		"pop %rdi\ncall *%r9\nhlt\n",	/* the return address is taken away: clone() */
		"mov $15,%eax\nsyscall\nret\n", /* sigreturn: the caller is elsewhere */
		"inc %rbx\njmp *(%rbp)\n",	/* Haskell's, whose stack is another one */
		"push %rbx\nmovzbl (%rdi),%eax\njmp *(%r11,%rax,8)\n", /* nothing shows where to */
		"sub $8,%rsp\ncall .Lnext\n", /* does not return, and goes on in what is next */
		"call 2f\n1:\npause\njmp 1b\n.balign 16\n2:\nmov %r11,(%rsp)\nret\n", /* a retpoline */
		"xor %eax,%eax\nmov $56,%al\nsyscall\nret\n", /* clone: two threads go on here */
		"push $15\npop %rax\nsyscall\nret\n",
		"blsr %rax,%rbp\nret\n",
		"mov (%rdi),%rsp\npop %rbx\nret\n",	     /* another stack: a coroutine */
		"push %rbx\n1:\ndec %rdi\njnz 1b\njmp 1b\n", /* never ends */
		"push %rbx\njz 1f\npop %rbx\n1:\nret\n",     /* two ways, one of them wrong */
		".byte 0x06,0x07,0x0e,0x16,0x17\n",	     /* in no instruction set */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		char *source scoped(freep) =
			xasprintf(".globl bad, good, end\nbad:\n%s.balign 16\ngood:\n.Lnext:\nnot "
				  "%%rax\nret\n"
				  ".balign 16\n.type "
				  "end,@function\nend:\n.cfi_startproc\nret\n.cfi_endproc\n",
				  bodies[i]);
		struct made made;

		assemble(&made, source);
		expect_gap(&made, "bad");
		/* a call that does not return may as well be followed by the head of a loop */
		if (!strstr(bodies[i], ".Lnext"))
			expect_sp(&made, "good", 8);
		expect_sp(&made, "end", 8);
		made_release(&made);
	}
}

/* musl's way: nothing is aligned, and but for some symbols nothing says where functions begin. */
static void test_named_functions(void **state)
{
	struct made made;

	(void)state;
	assemble(&made,
		 ".balign 16\n.skip 1030, 0x06\n"
		 ".type named,@function\n.globl named\nnamed:\npush %rbx\n.globl "
		 "in_named\nin_named:\n"
		 "call inner\nlea started(%rip),%rdi\ncall *%rax\n.globl ends\nends:\ncall never\n"
		 ".type next,@function\n.globl next\nnext:\nret\n"
		 ".globl inner\ninner:\nsub $0x18,%rsp\n.globl in_inner\nin_inner:\nadd "
		 "$0x18,%rsp\nret\n"
		 ".globl started\nstarted:\npush %rbp\npush %rbx\n.globl "
		 "in_started\nin_started:\ncall *(%rdi)\n"
		 "1:\nmov $60,%eax\nsyscall\njmp 1b\n"
		 ".globl never\nnever:\npush %rax\npush %rcx\ncall *%rdi\n"
		 ".globl in_never\nin_never:\njmp in_never\n"
		 ".globl nobody\nnobody:\nnot %rax\nret\n");
	expect_sp(&made, "named", 8);
	expect_sp(&made, "in_named", 16);
	expect_sp(&made, "ends", 16);
	expect_sp(&made, "next", 8);
	expect_sp(&made, "inner", 8);
	expect_sp(&made, "in_inner", 32);
	expect_sp(&made, "started", 8);
	expect_sp(&made, "in_started", 24);
	expect_sp(&made, "in_never", 24);
	expect_gap(&made, "nobody");
	expect_start(&made, "ends", "named");
	expect_start(&made, "in_inner", "inner");
	expect_start(&made, "in_started", "started");
	expect_start(&made, "in_never", "never");
	expect_start(&made, "nobody", NULL);
	assert_true(codestarts_divide(&made.table->starts, address_of(&made, "named"),
				      address_of(&made, "next")));
	assert_false(codestarts_divide(&made.table->starts, address_of(&made, "named"),
				       address_of(&made, "ends")));
	made_release(&made);
}

/* A name does not make everything a function, and what stands in one may look like another. */
static void test_named_but_not_known(void **state)
{
	static const struct {
		const char *code;
		int32_t off; /* at bad; 0: a gap */
	} bodies[] = {
		/* an endless loop behind the padding of a call, and then a call that does not return */
		{"f:\npush %rbx\ncall *%rax\n.balign 16\nbad:\ncall *%rcx\ntest %eax,%eax\njns "
		 "bad\ncall *%rdx\n",
		 0},
		/* Haskell's, whose stack is another one */
		{".type bad,@function\nbad:\ninc %rbx\njmp *(%rbp)\n", 0},
		{".type f.cold,@function\nf.cold:\nbad:\ncall *%rax\n.balign 16\n", 0},
		/* where a coroutine begins */
		{"f:\nlea bad(%rip),%rax\nret\nbad:\npush %rbp\njmp *%rbx\n", 0},
		/* a label whose address is taken */
		{"f:\npush %rbx\nlea bad(%rip),%rax\njmp *%rax\nbad:\npush %rdi\ncall *%rcx\npop "
		 "%rdi\njmp *%rax\n",
		 0},
		/* a function that is called does not go on in the one before it, which does not return */
		{"f:\ncall g\ncall bad\nret\ng:\npush %rbx\ncall *%rax\nbad:\npush %rcx\ncall "
		 "*%rax\n",
		 8},
		/* sigreturn, but for one byte */
		{".byte 0x06\n.balign 16\nbad:\nmov $15,%rax\nnopl (%rax)\n.byte 0x06\n", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		char *source scoped(freep) =
			xasprintf(".skip 1024, 0x06\n.balign 16\n.globl bad\n.type f,@function\n%s"
				  ".type end,@function\nend:\nret\n",
				  bodies[i].code);
		struct made made;

		assemble(&made, source);

		if (bodies[i].off)
			expect_sp(&made, "bad", bodies[i].off);
		else
			expect_gap(&made, "bad");
		made_release(&made);
	}
}

/* The padding behind a call may be that of a loop, or the call does not return: what is behind must fit. */
static void test_padding_behind_calls(void **state)
{
	struct made made;

	(void)state;
	assemble(&made,
		 ".skip 1024, 0x06\n"
		 ".type loops,@function\n.globl loops\nloops:\npush %rbx\ncall *%rax\n.balign 16\n"
		 ".globl head\nhead:\ndec %rbx\njnz head\npop %rbx\nret\n"
		 ".balign 16\n.type exits,@function\n.globl exits\nexits:\npush %rbx\npush "
		 "%rcx\ncall *%rax\n.balign 16\n"
		 ".globl other\nother:\npush %rdx\n.globl in_other\nin_other:\npop %rdx\nret\n");
	expect_sp(&made, "head", 16);
	expect_sp(&made, "other", 8);
	expect_sp(&made, "in_other", 16);
	made_release(&made);
}

/* What calls a function that never returns ends there, whatever is behind it. */
static void test_functions_that_never_return(void **state)
{
	struct made made;

	(void)state;
	assemble(&made, ".skip 1024, 0x06\n.type exits,@function\n.globl exits\nexits:\npush "
			"%rbx\ncall *%rax\n"
			"1:\nmov $60,%eax\nsyscall\njmp 1b\n"
			".type caller,@function\n.globl caller\ncaller:\npush %rbx\npush "
			"%rcx\ncall unnamed\n"
			".globl in_caller\nin_caller:\ncall exits\n"
			".globl unnamed\nunnamed:\npush %rdx\n.globl in_unnamed\nin_unnamed:\npop "
			"%rdx\nret\n"
			".type last,@function\n.globl last\nlast:\njz 1f\ncall exits\n.globl "
			"behind\nbehind:\nnot %rax\n1:\nret\n");
	expect_sp(&made, "in_caller", 24);
	expect_sp(&made, "unnamed", 8);
	expect_sp(&made, "in_unnamed", 16);
	expect_sp(&made, "last", 8);
	expect_gap(&made, "behind");
	made_release(&made);
}

static void test_system_calls(void **state)
{
	struct made made;

	(void)state;
	assemble(&made,
		 ".skip 1024, 0x06\n.type any,@function\n.globl any\nany:\npush %rbx\nmov "
		 "%rdi,%rax\nsyscall\n"
		 ".globl back\nback:\npop %rbx\nret\nnop\n"
		 ".globl restorer\nrestorer:\nmov $15,%rax\nsyscall\n.globl behind\nbehind:\nnop\n"
		 ".type clone_it,@function\n.globl clone_it\nclone_it:\nxor %eax,%eax\nmov "
		 "$56,%al\nsyscall\n"
		 ".globl either\neither:\ntest %eax,%eax\njnz 1f\n.globl child\nchild:\nxor "
		 "%ebp,%ebp\npop %rdi\n"
		 "call *%r9\nhlt\n1:\n.globl parent\nparent:\nret\n");
	expect_sp(&made, "back", 16);
	expect(&made, "restorer", UNWIND_SIGNAL, X86_REG_SP, 160);
	expect(&made, "behind", UNWIND_SIGNAL, X86_REG_SP, 160);
	expect_sp(&made, "clone_it", 8);
	expect(&made, "either", UNWIND_CLONE, 0, 0);
	expect(&made, "child", UNWIND_ROOT, 0, 0);
	expect_sp(&made, "parent", 8);
	made_release(&made);
}

/* What one gap calls in another is known to begin there. */
static void test_calls_between_gaps(void **state)
{
	struct made made;

	(void)state;
	assemble(&made,
		 ".skip 1024, 0x06\n.type first,@function\n.globl first\nfirst:\ncall far\nret\n"
		 ".cfi_startproc\n.skip 64,0x90\n.cfi_endproc\n.skip 35, 0x06\n"
		 ".globl far\nfar:\npush %rbx\n.globl in_far\nin_far:\npop %rbx\nret\n");
	expect_sp(&made, "in_far", 16);
	made_release(&made);
}

/* A file of another kind of processor (arm64), which an emulator may map. */
static void test_another_machine(void **state)
{
	char *path scoped(freep) = xasprintf("%s/other.s", judge_dir);
	FILE *out = fopen(path, "w");
	struct unwind_table *table = NULL;
	struct elf_file *file;

	(void)state;
	assert_non_null(out);
	fprintf(out, ".text\n.type f,@function\n.globl f\nf:\npush %%rbx\npop %%rbx\nret\n.skip "
		     "2000,0x90\n");
	fclose(out);
	judge_run("gcc -shared -nostdlib -o other.so other.s && printf '\\267' | "
		  "dd of=other.so bs=1 seek=18 conv=notrunc status=none");
	file = judge_open("other.so");
	assert_int_equal(unwind_table_from_elf(file, &table), -ENOENT);
	assert_null(table);
	elf_file_close(file);
}

/* A program without call frame information at all: from where it begins to what it calls. */
static void test_program(void **state)
{
	char *path scoped(freep) = xasprintf("%s/bare.s", judge_dir);
	FILE *out = fopen(path, "w");
	struct elf_file *file;
	struct made made;

	(void)state;
	assert_non_null(out);
	fprintf(out,
		".text\n.skip 5,0x06\n.globl _start\n_start:\nxor %%ebp,%%ebp\ncall begins\n.globl "
		"root\nroot:\nhlt\n.skip 3,0x06\n"
		"begins:\nlea body(%%rip),%%rdi\njmp runs\n.skip 200,0x06\n"
		".globl runs\nruns:\npush %%rbx\ncall *%%rdi\n.globl in_runs\nin_runs:\ncall "
		"*%%rax\nhlt\n.skip 7,0x06\n"
		".globl body\nbody:\nsub $8,%%rsp\n.globl in_body\nin_body:\nadd $8,%%rsp\nret\n");
	fclose(out);
	judge_run("gcc -nostdlib -static -Wl,-z,noseparate-code -o bare bare.s");
	file = judge_open("bare");
	made.symtab = symtab_new(file);
	assert_int_equal(unwind_table_from_elf(file, &made.table), 0);
	elf_file_close(file);
	expect(&made, "root", UNWIND_ROOT, 0, 0);
	expect_sp(&made, "in_runs", 16);
	expect_sp(&made, "in_body", 16);
	made_release(&made);
}

/* Against call frame information ------------------------------------------------------------------ */

struct rows {
	vec_of(struct unwind_row) at;
};

static void take(void *ctx, const struct unwind_row *row)
{
	struct rows *rows = ctx;

	vec_push(&rows->at, *row);
}

struct score {
	uint64_t nr_all, nr_found, nr_compared, nr_wrong; /* bytes of code */
	uint64_t first_wrong;
};

/* Where rbp was stored it still is, once it was restored: compilers go on saying so. */
static bool same_caller(const struct unwind_rule *said, const struct unwind_rule *found)
{
	if (said->cfa_off != found->cfa_off)
		return false;
	return unwind_fp_how(found) == UNWIND_SAME ||
	       (unwind_fp_how(said) == unwind_fp_how(found) && said->fp_off == found->fp_off);
}

/* Of [addr, limit) both say where the CFA is: the same, if from sp. */
static void compare(struct score *score, uint64_t addr, uint64_t limit,
		    const struct unwind_rule *said, const struct unwind_rule *found)
{
	score->nr_all += limit - addr;
	if (found->kind == UNWIND_GAP)
		return;
	score->nr_found += limit - addr;
	if (found->kind != UNWIND_FRAME || said->kind != UNWIND_FRAME ||
	    found->cfa_reg != X86_REG_SP || said->cfa_reg != X86_REG_SP)
		return;
	score->nr_compared += limit - addr;
	if (same_caller(said, found))
		return;
	if (!score->nr_wrong)
		score->first_wrong = addr;
	score->nr_wrong += limit - addr;
}

struct judging {
	const struct elf_file *file;
	struct rows said;
	struct score score;
};

/* One function, but for the parts that compilers move away from theirs: these begin in the middle of things. */
static void judge_function(void *ctx, uint32_t cie, const struct cfi_fde *fde)
{
	struct judging *judging = ctx;
	const struct rows *said = &judging->said;
	size_t first = vec_partition(&said->at, row, row->elf_addr <= fde->start) - 1, at = 0;
	uint8_t *bytes scoped(freep) = xmalloc(fde->limit - fde->start);
	struct asmflow_code code = {
		.bytes = bytes, .len_bytes = fde->limit - fde->start, .addr = fde->start};
	struct rows found = {0};

	(void)cie;
	if (said->at.at[first].rule.cfa_reg != X86_REG_SP || said->at.at[first].rule.cfa_off != 8 ||
	    !elf_file_read(judging->file, fde->start, bytes, code.len_bytes))
		return;
	assert_int_equal(asmflow_rows(&code, take, &found), code.len_bytes);
	for (uint64_t addr = fde->start; addr < fde->limit;) {
		uint64_t end = fde->limit;

		if (first + 1 < said->at.nr && said->at.at[first + 1].elf_addr < end)
			end = said->at.at[first + 1].elf_addr;
		if (at + 1 < found.at.nr && found.at.at[at + 1].elf_addr < end)
			end = found.at.at[at + 1].elf_addr;
		compare(&judging->score, addr, end, &said->at.at[first].rule,
			&found.at.at[at].rule);
		if (at + 1 < found.at.nr && found.at.at[at + 1].elf_addr == end)
			at++;
		if (first + 1 < said->at.nr && said->at.at[first + 1].elf_addr == end)
			first++;
		addr = end;
	}
	vec_release(&found.at);
}

static void judge_file(const char *path, double most_wrong)
{
	struct elf_file *file = judge_open(path);
	struct judging judging = {.file = file};
	struct ehframe_input input;
	struct fde_source source;
	struct fdes fdes = {0};
	struct score score;

	assert_int_equal(ehframe_input_from_elf(file, &input), 0);
	assert_int_equal(ehframe_rows(&input, take, &judging.said, NULL), 0);
	assert_int_equal(fde_source_from_elf(file, &source), 0);
	assert_int_equal(fdes_read(&source, &fdes), 0);
	fdes_each(&fdes, judge_function, &judging);
	fdes_release(&fdes);
	elf_file_close(file);
	vec_release(&judging.said.at);
	score = judging.score;
	print_message("  %s: %.1f %% of %" PRIu64 " bytes found, %" PRIu64 " compared, %" PRIu64
		      " wrong (%.3f %%; 0x%" PRIx64 ")\n",
		      path, 100.0 * score.nr_found / score.nr_all, score.nr_all, score.nr_compared,
		      score.nr_wrong, 100.0 * score.nr_wrong / (score.nr_compared + 1),
		      score.first_wrong);
	assert_true(score.nr_compared > 10000);
	assert_true(score.nr_wrong <= most_wrong * score.nr_compared);
}

/* Of what both say of [first, limit), row by row. */
static void compare_all(struct score *score, const struct rows *said, const struct rows *found,
			uint64_t addr, uint64_t limit)
{
	size_t i = vec_partition(&said->at, row, row->elf_addr <= addr) - 1;
	size_t j = vec_partition(&found->at, row, row->elf_addr <= addr) - 1;

	while (addr < limit) {
		uint64_t end = limit;

		if (i + 1 < said->at.nr && said->at.at[i + 1].elf_addr < end)
			end = said->at.at[i + 1].elf_addr;
		if (j + 1 < found->at.nr && found->at.at[j + 1].elf_addr < end)
			end = found->at.at[j + 1].elf_addr;
		if (said->at.at[i].rule.kind != UNWIND_GAP)
			compare(score, addr, end, &said->at.at[i].rule, &found->at.at[j].rule);
		i += i + 1 < said->at.nr && said->at.at[i + 1].elf_addr == end;
		j += j + 1 < found->at.nr && found->at.at[j + 1].elf_addr == end;
		addr = end;
	}
}

/* All of .text as if there were no call frame information, but symbols. */
static void judge_without(const char *path, double least_found, double most_wrong)
{
	struct elf_file *file = judge_open(path);
	struct rows said = {0}, found = {0};
	struct ehframe_input input;
	struct elf_section text;
	struct codestarts starts = {0};
	struct gapfill gapfill;
	struct score score = {0};

	assert_int_equal(ehframe_input_from_elf(file, &input), 0);
	assert_int_equal(ehframe_rows(&input, take, &said, NULL), 0);
	assert_true(elf_file_section_named(file, ".text", &text));
	gapfill_open(&gapfill, &unwind_x86, file, input.entry, take, &found, &starts);
	gapfill_close(&gapfill);
	elf_file_close(file);
	compare_all(&score, &said, &found,
		    said.at.at[0].elf_addr > text.elf_addr ? said.at.at[0].elf_addr : text.elf_addr,
		    text.elf_addr + text.len_bytes);
	vec_release(&said.at);
	vec_release(&found.at);
	codestarts_release(&starts);
	print_message("  %s by its symbols: %.1f %% of %" PRIu64 " bytes found, %" PRIu64
		      " compared, %" PRIu64 " wrong (%.3f %%; 0x%" PRIx64 ")\n",
		      path, 100.0 * score.nr_found / score.nr_all, score.nr_all, score.nr_compared,
		      score.nr_wrong, 100.0 * score.nr_wrong / (score.nr_compared + 1),
		      score.first_wrong);
	assert_true((double)score.nr_found >= least_found * (double)score.nr_all);
	assert_true(score.nr_wrong <= most_wrong * score.nr_compared);
}

static void test_by_symbols(void **state)
{
	(void)state;
	judge_without(LIBC, 0.78, 0.001);
	judge_without("/usr/lib/x86_64-linux-gnu/libcrypto.so.3", 0.65, 0.0001);
}

/* What differs in libc is said wrong there: __mpn_mul_1 and its like push without saying so. */
static void test_as_call_frame_information_says(void **state)
{
	(void)state;
	judge_file(LIBC, 0.01);
	judge_file("/usr/lib/x86_64-linux-gnu/libcrypto.so.3", 0.001);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_saves_and_restores),
		cmocka_unit_test(test_rbp_saved_twice),
		cmocka_unit_test(test_small_gap),
		cmocka_unit_test(test_aligned_frame),
		cmocka_unit_test(test_jump_table),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_nothing_made_up),
		cmocka_unit_test(test_as_call_frame_information_says),
		cmocka_unit_test(test_by_symbols),
		cmocka_unit_test(test_named_functions),
		cmocka_unit_test(test_named_but_not_known),
		cmocka_unit_test(test_padding_behind_calls),
		cmocka_unit_test(test_functions_that_never_return),
		cmocka_unit_test(test_system_calls),
		cmocka_unit_test(test_calls_between_gaps),
		cmocka_unit_test(test_program),
		cmocka_unit_test(test_another_machine),
	};

	judge_dir = temp_folder();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
