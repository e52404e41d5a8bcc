// SPDX-License-Identifier: BSD-2-Clause
/*
 * Functions of an assembler file whose rows are known; and all functions of arm64 libraries that say themselves where their
 * callers are: what their code alone shows must be what readelf says of their call frame information, instruction by instruction.
 *
 * A64FLOW_FILES names more such libraries than the cross compiler has, with spaces between.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "elf_judge.h"
#include "object/a64.h"
#include "object/symtab.h"
#include "unwind/a64flow.h"
#include "unwind/tablebuild.h"
#include "unit/arm64_judge.h"

#define MAX_REPORTS 20

/* What readelf says ------------------------------------------------------------------------------- */

/* From elf_addr on; a place is 0 where it is the register itself. */
struct judged_row {
	uint64_t elf_addr;
	bool by_fp, is_other;
	int32_t cfa_off, fp_at, ra_at;
};

struct judged_function {
	uint64_t start, limit;
	size_t first_row;
};

struct judged {
	vec_of(struct judged_function) functions;
	vec_of(struct judged_row) rows;
	int fp_column, ra_column;
};

static int column_of(const char *header, const char *name)
{
	char word[32];
	int nr = 0, len;

	while (sscanf(header, " %31s%n", word, &len) == 1) {
		if (!strcmp(word, name))
			return nr;
		header += len;
		nr++;
	}
	return -1;
}

static void read_row(struct judged *judged, const char *text)
{
	struct judged_row row = {.elf_addr = strtoull(text, NULL, 16)};
	char word[64];
	int len;

	for (int column = 0; sscanf(text, " %63s%n", word, &len) == 1; column++, text += len) {
		if (column == 1) {
			row.by_fp = !strncmp(word, "x29", 3);
			row.is_other = !row.by_fp && strncmp(word, "sp", 2) != 0;
			row.cfa_off = row.is_other ? 0 : atoi(strpbrk(word, "+-"));
		} else if (column > 1 && column == judged->fp_column) {
			row.fp_at = *word == 'c' ? atoi(word + 1) : 0;
		} else if (column > 1 && column == judged->ra_column) {
			row.ra_at = *word == 'c' ? atoi(word + 1) : 0;
			row.is_other |= *word != 'c' && *word != 'u';
		}
	}
	vec_push(&judged->rows, row);
}

static void ask_readelf(struct judged *judged, const char *path)
{
	FILE *in = judge_ask("readelf -wF %s 2>/dev/null", path);
	char text[1024];

	while (fgets(text, sizeof(text), in)) {
		const char *pc = strstr(text, " pc=");
		struct judged_function function = {.first_row = judged->rows.nr};

		if (pc && sscanf(pc, " pc=%" SCNx64 "..%" SCNx64, &function.start,
				 &function.limit) == 2) {
			vec_push(&judged->functions, function);
			judged->fp_column = judged->ra_column = -1;
			/* readelf prints no table where nothing changes */
			vec_push(&judged->rows, (struct judged_row){.elf_addr = function.start});
		} else if (strstr(text, "   LOC")) {
			judged->fp_column = column_of(text, "x29");
			judged->ra_column = column_of(text, "ra");
		} else if (judged->functions.nr && strlen(text) > 16 && text[16] == ' ' &&
			   strspn(text, "0123456789abcdef") == 16) {
			read_row(judged, text);
		}
	}
	pclose(in);
}

/* The judgement ----------------------------------------------------------------------------------- */

struct rows {
	vec_of(struct unwind_row) at;
};

static void take(void *ctx, const struct unwind_row *row)
{
	struct rows *rows = ctx;

	if (rows->at.nr)
		assert_true(rows->at.at[rows->at.nr - 1].elf_addr < row->elf_addr);
	vec_push(&rows->at, *row);
}

static const struct unwind_rule *rule_at(const struct rows *rows, uint64_t elf_addr)
{
	size_t behind = vec_partition(&rows->at, row, row->elf_addr <= elf_addr);

	return &rows->at.at[behind - 1].rule;
}

enum verdict {
	EQUAL,
	UNKNOWN,
	WRONG,
	NR_VERDICTS
};

/* What is below sp may have been written over. */
static bool is_above_sp(const struct unwind_rule *rule, int32_t at)
{
	return rule->cfa_reg == A64_FP || !at || rule->cfa_off >= -at;
}

/*
 * The same caller? What is saved and still in its register, or in its register again and still saved where nothing has been written
 * since, may be said either way.
 */
static enum verdict compare(const struct unwind_rule *rule, const struct judged_row *row)
{
	bool by_fp = rule->cfa_reg == A64_FP;
	int32_t ra_at = unwind_ra_how(rule) == UNWIND_AT_CFA ? rule->ra_off : 0;

	if (rule->kind == UNWIND_GAP || row->is_other)
		return UNKNOWN;
	if (rule->kind != UNWIND_FRAME)
		return WRONG;
	if (by_fp == row->by_fp && rule->cfa_off != row->cfa_off)
		return WRONG;
	/* x29 is where it is saved, and so says both */
	if (by_fp != row->by_fp && (by_fp ? rule->cfa_off : row->cfa_off) != -row->fp_at)
		return WRONG;
	if ((rule->fp_off != row->fp_at && rule->fp_off && row->fp_at) ||
	    (ra_at != row->ra_at && ra_at && row->ra_at))
		return WRONG;
	if (!rule->fp_off != !row->fp_at || !ra_at != !row->ra_at)
		return is_above_sp(rule, ra_at) && is_above_sp(rule, row->ra_at) &&
				       is_above_sp(rule, row->fp_at)
			       ? EQUAL
			       : WRONG;
	return EQUAL;
}

/* The same as readelf's from a table, which has more rows: where clang's frames are undone. */
static struct judged_row row_of_table(const struct unwind_table *table, uint64_t elf_addr)
{
	struct judged_row row = {.elf_addr = elf_addr};
	struct unwind_rule rule = {.kind = UNWIND_GAP};

	unwind_table_find(table, elf_addr, &rule);
	row.by_fp = rule.cfa_reg == A64_FP;
	row.is_other = rule.kind != UNWIND_FRAME || (!row.by_fp && rule.cfa_reg != A64_SP);
	row.cfa_off = rule.cfa_off;
	row.fp_at = rule.fp_off;
	row.ra_at = unwind_ra_how(&rule) == UNWIND_AT_CFA ? rule.ra_off : 0;
	return row;
}

static void compare_function(const struct judged *judged, const struct judged_function *function,
			     const struct rows *rows, const struct unwind_table *table,
			     size_t nr[NR_VERDICTS])
{
	size_t row = function->first_row;

	for (uint64_t addr = function->start; addr < function->limit; addr += A64_BYTES) {
		const struct unwind_rule *rule = rule_at(rows, addr);
		struct judged_row said;
		enum verdict verdict;

		while (row + 1 < judged->rows.nr && judged->rows.at[row + 1].elf_addr <= addr &&
		       judged->rows.at[row + 1].elf_addr >= judged->rows.at[row].elf_addr)
			row++;
		said = table ? row_of_table(table, addr) : judged->rows.at[row];
		verdict = compare(rule, &said);
		if (verdict == WRONG && nr[WRONG] < MAX_REPORTS)
			print_error("%" PRIx64 " (function %" PRIx64
				    "): kind %u, x%u%+d, fp %d, ra %d; not %s%+d, fp %d, ra %d\n",
				    addr, function->start, rule->kind, rule->cfa_reg, rule->cfa_off,
				    rule->fp_off,
				    unwind_ra_how(rule) == UNWIND_AT_CFA ? rule->ra_off : 0,
				    said.by_fp ? "x29" : "sp", said.cfa_off, said.fp_at,
				    said.ra_at);
		nr[verdict]++;
	}
}

static int compare_functions(const void *a, const void *b)
{
	const struct judged_function *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static void judge(const char *path, bool by_table, double most_unknown, size_t most_wrong)
{
	struct judged judged = {.ra_column = -1};
	struct elf_file *file = judge_open(path);
	vec_of(uint64_t) begins = {0}, ends = {0};
	size_t nr[NR_VERDICTS] = {0};
	struct elf_section text;
	struct unwind_table *table = NULL;
	struct rows rows = {0};
	double all;

	ask_readelf(&judged, path);
	if (by_table)
		assert_int_equal(unwind_table_from_elf(file, &table), 0);
	assert_true(elf_file_section(file, ".text", &text));
	qsort(judged.functions.at, judged.functions.nr, sizeof(*judged.functions.at),
	      compare_functions);
	vec_for_each(&judged.functions, function) {
		vec_push(&begins, function->start);
		vec_push(&ends, function->limit);
	}
	assert_int_equal(a64flow_rows(&(struct asmflow_code){.bytes = text.bytes,
							     .len_bytes = text.len_bytes,
							     .addr = text.elf_addr,
							     .begins = begins.at,
							     .nr_begins = begins.nr,
							     .ends = ends.at,
							     .nr_ends = ends.nr},
				      take, &rows),
			 text.len_bytes);
	vec_for_each(&judged.functions, function)
		if (function->start >= text.elf_addr &&
		    function->limit <= text.elf_addr + text.len_bytes)
			compare_function(&judged, function, &rows, table, nr);
	all = (double)(nr[EQUAL] + nr[UNKNOWN] + nr[WRONG]);
	print_message(
		"%s: %zu functions, %.0f instructions: %.2f %% equal, %.2f %% unknown, %zu wrong\n",
		path, judged.functions.nr, all, 100 * (double)nr[EQUAL] / all,
		100 * (double)nr[UNKNOWN] / all, nr[WRONG]);
	assert_true(nr[UNKNOWN] <= most_unknown * all);
	assert_in_range(nr[WRONG], 0, most_wrong);
	vec_release(&judged.functions);
	vec_release(&judged.rows);
	vec_release(&begins);
	vec_release(&ends);
	vec_release(&rows.at);
	unwind_table_free(table);
	elf_file_close(file);
}

static void test_as_call_frame_information_says(void **state)
{
	const char *more = getenv("A64FLOW_FILES");
	char path[512];
	int len;

	(void)state;
	if (access(ARM64_LIBS "libc.so.6", R_OK))
		skip();
	if (!more) {
		judge(ARM64_LIBS "libc.so.6", false, 0.15, 0);
		judge(ARM64_LIBS "libm.so.6", false, 0.05, 0);
		judge(ARM64_LIBS "libc.so.6", true, 0.15, 0);
	}
	for (; more && sscanf(more, " %511s%n", path, &len) == 1; more += len) {
		judge(path, false, 1, SIZE_MAX); /* clang leaves rows out */
		judge(path, true, 1, 0);
	}
}

/* Cases ------------------------------------------------------------------------------------------- */

/* What nothing describes, then a function of clang's kind, then what is like glibc's clone. */
static const char cases[] =
	".text\n.globl first\nfirst: .cfi_startproc\nret\n.cfi_endproc\n.balign 16\n"
	"framed: stp x29, x30, [sp, #-32]!\nframed_in: mov x29, sp\nsub sp, sp, x0\nframed_lost: "
	"bl first\n"
	"mov sp, x29\nldp x29, x30, [sp], #32\nframed_out: ret\n"
	".balign 16\nbroken: add sp, sp, #16\nbroken_in: bl first\nldp x29, x30, [sp], #16\nret\n"
	".balign 16\nmov x8, #220\nsvc #0\ncloned: cbz x0, 1f\nparent: ret\n"
	"1: ldp x1, x0, [sp], #16\nchild: blr x1\nmov x8, #93\nsvc #0\n"
	".balign 16\nnop\nsigreturn: mov x8, #139\nsvc #0\n.balign 16\n"
	"clang: .cfi_startproc\nsub sp, sp, #48\nclang_in: stp x29, x30, [sp, #32]\nadd x29, sp, "
	"#32\n"
	".cfi_def_cfa w29, 16\n.cfi_offset w30, -8\n.cfi_offset w29, -16\nclang_body: bl first\n"
	"ldp x29, x30, [sp, #32]\nclang_loaded: add sp, sp, #48\nclang_out: ret\nclang_more: bl "
	"first\nb clang_more\n"
	".cfi_endproc\n"
	"clone: .cfi_startproc\nmov x8, #220\nsvc #0\nclone_both: cmp x0, #0\nb.eq "
	"start\nret\n.cfi_endproc\n"
	"start: .cfi_startproc\n.cfi_undefined x30\nmov x29, #0\nbl called\n.cfi_endproc\n";

struct expected {
	const char *label;
	uint32_t kind, reg;
	int32_t off, fp_at, ra_at;
};

static void expect(const struct unwind_table *table, const struct symtab *symtab,
		   const struct expected *expected)
{
	struct unwind_rule rule = {.kind = UNWIND_GAP};
	struct symbol symbol;
	bool is_ifunc, is_right;
	int32_t ra_at;

	if (!symtab_lookup(symtab, expected->label, &symbol, &is_ifunc))
		fail_msg("no %s", expected->label);
	unwind_table_find(table, symbol.elf_addr, &rule);
	ra_at = unwind_ra_how(&rule) == UNWIND_AT_CFA ? rule.ra_off : 0;
	is_right = rule.kind == expected->kind &&
		   (rule.kind != UNWIND_FRAME ||
		    (rule.cfa_reg == expected->reg && rule.cfa_off == expected->off &&
		     rule.fp_off == expected->fp_at && ra_at == expected->ra_at));
	if (!is_right)
		fail_msg("%s: kind %u, x%u%+d, fp %d, ra %d", expected->label, rule.kind,
			 rule.cfa_reg, rule.cfa_off, rule.fp_off, ra_at);
}

static void test_cases(void **state)
{
	static const struct expected all[] = {
		{"framed", UNWIND_FRAME, A64_SP, 0, 0, 0},
		{"framed_in", UNWIND_FRAME, A64_SP, 32, -32, -24},
		{"framed_lost", UNWIND_FRAME, A64_FP, 32, -32, -24},
		{"framed_out", UNWIND_FRAME, A64_SP, 0, 0, 0},
		{"broken", UNWIND_GAP, 0, 0, 0, 0},
		{"broken_in", UNWIND_GAP, 0, 0, 0, 0},
		{"cloned", UNWIND_CLONE, 0, 0, 0, 0},
		{"parent", UNWIND_FRAME, A64_SP, 0, 0, 0},
		{"child", UNWIND_ROOT, 0, 0, 0, 0},
		{"sigreturn", UNWIND_SIGNAL, 0, 0, 0, 0},
		{"clang", UNWIND_FRAME, A64_SP, 0, 0, 0},
		{"clang_in", UNWIND_FRAME, A64_SP, 48, 0, 0},
		{"clang_body", UNWIND_FRAME, A64_FP, 16, -16, -8},
		{"clang_loaded", UNWIND_FRAME, A64_SP, 48, 0, 0},
		{"clang_out", UNWIND_FRAME, A64_SP, 0, 0, 0},
		{"clang_more", UNWIND_FRAME, A64_FP, 16, -16, -8},
		{"clone", UNWIND_FRAME, A64_SP, 0, 0, 0},
		{"clone_both", UNWIND_CLONE, 0, 0, 0, 0},
		{"start", UNWIND_ROOT, 0, 0, 0, 0},
	};
	char *path scoped(freep) = xasprintf("%s/cases.s", judge_dir);
	struct unwind_table *table;
	struct symtab *symtab;
	struct elf_file *file;
	FILE *out;

	(void)state;
	if (!arm64_judge_is_here())
		skip();
	out = fopen(path, "w");
	assert_non_null(out);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		fprintf(out, ".globl %s\n", all[i].label);
	fputs(cases, out);
	fclose(out);
	judge_run(ARM64_CC " -shared -nostdlib -Wl,-Bsymbolic -o cases.so cases.s");
	file = judge_open("cases.so");
	symtab = symtab_new(file);
	assert_int_equal(unwind_table_from_elf(file, &table), 0);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		expect(table, symtab, &all[i]);
	unwind_table_free(table);
	symtab_free(symtab);
	elf_file_close(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_as_call_frame_information_says),
	};
	judge_dir = temp_folder();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
