/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Our unwind tables against libdw's reading of the same files: at every place where a rule begins
 * (by our rows or by libdw's), one byte before it, and at random places, the rule must say the
 * same.
 *
 * libdw interprets the CFI anew for each address, with code that shares nothing with ours. It gives
 * locations as lists of DWARF operations; expect() turns those into the rule that we should have.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/alloc.h"
#include "object/elf.h"
#include "unwind/tablebuild.h"
#include "temp.h"
#include "unit/arm64_judge.h"

struct judge {
	struct unwind_table *table;
	Dwarf_CFI *cfi;
	Elf *elf;
	size_t nr_compared, nr_different;
	/* Explained differences: no FDE there, but padding before one, or outside the table. */
	size_t nr_padding, nr_beyond;
	/* What cannot be said in a rule, by libdw's reading too. */
	size_t nr_inexpressible;
};

enum place {
	PLACE_SAME,
	PLACE_UNDEFINED,
	PLACE_AT_CFA,
	PLACE_IS_CFA,
	PLACE_REG,
	PLACE_AT_REG,
	PLACE_OTHER
};

struct location {
	enum place place;
	uint32_t reg;
	int64_t off;
};

static bool is_breg(const Dwarf_Op *op, uint32_t *reg, int64_t *off)
{
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		*reg = op->atom - DW_OP_breg0;
		*off = (int64_t)op->number;
		return true;
	}
	*reg = (uint32_t)op->number;
	*off = (int64_t)op->number2;
	return op->atom == DW_OP_bregx;
}

static struct location locate(Dwarf_Frame *frame, int regno)
{
	struct location location = {PLACE_OTHER, 0, 0};
	Dwarf_Op mem[3], *ops;
	bool is_value;
	size_t nr;

	assert_int_equal(dwarf_frame_register(frame, regno, mem, &ops, &nr), 0);
	if (nr == 0) {
		location.place = ops == NULL ? PLACE_SAME : PLACE_UNDEFINED;
		return location;
	}
	if (ops[0].atom == DW_OP_regx ||
	    (ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31)) {
		location.place = PLACE_REG;
		location.reg = ops[0].atom == DW_OP_regx ? (uint32_t)ops[0].number
							 : (uint32_t)(ops[0].atom - DW_OP_reg0);
		return location;
	}
	if (ops[0].atom != DW_OP_call_frame_cfa)
		return location;
	is_value = ops[nr - 1].atom == DW_OP_stack_value;
	nr -= is_value;
	if (nr == 1 || (nr == 2 && ops[1].atom == DW_OP_plus_uconst)) {
		location.place = is_value ? PLACE_IS_CFA : PLACE_AT_CFA;
		location.off = nr == 2 ? (int64_t)ops[1].number : 0;
	} else if (nr == 2 && !is_value && is_breg(&ops[1], &location.reg, &location.off)) {
		location.place = PLACE_AT_REG;
	} else if (nr == 2 && is_value && is_breg(&ops[1], &location.reg, &location.off) &&
		   location.off == 0) {
		location.place = PLACE_REG;
	}
	return location;
}

/* false: no rule can say it. */
static bool expect_cfa(const struct judge *judge, Dwarf_Frame *frame, struct unwind_rule *rule)
{
	static const uint8_t plt[] = {DW_OP_breg7, DW_OP_breg16, DW_OP_lit15, DW_OP_and, 0,
				      DW_OP_ge,	   DW_OP_lit3,	 DW_OP_shl,   DW_OP_plus};
	uint32_t reg, index_reg;
	int64_t off, zero;
	Dwarf_Op *ops;
	size_t nr;

	if (dwarf_frame_cfa(frame, &ops, &nr) || nr == 0 || !is_breg(&ops[0], &reg, &off) ||
	    reg >= judge->table->arch->machine->nr_regs)
		return false;
	rule->cfa_reg = (uint8_t)reg;
	rule->cfa_off = (int32_t)off;
	if (nr == 1) {
		rule->kind = UNWIND_FRAME;
		return true;
	}
	if (nr <= 3 && ops[1].atom == DW_OP_deref &&
	    (nr == 2 || ops[2].atom == DW_OP_plus_uconst)) {
		rule->kind = UNWIND_DEREF;
		rule->deref_off = nr == 3 ? (int16_t)ops[2].number : 0;
		return true;
	}
	if (nr == 7 && is_breg(&ops[1], &index_reg, &zero) && zero == 0 &&
	    ops[2].atom == DW_OP_lit8 && ops[3].atom == DW_OP_mul && ops[4].atom == DW_OP_plus &&
	    ops[5].atom == DW_OP_deref && ops[6].atom == DW_OP_plus_uconst) {
		rule->kind = UNWIND_INDEXED;
		rule->deref_off = (int16_t)ops[6].number;
		rule->ra_off = (int16_t)index_reg;
		return true;
	}
	if (nr != sizeof(plt))
		return false;
	for (size_t i = 0; i < nr; i++)
		if (i != 4 && ops[i].atom != plt[i])
			return false;
	*rule = (struct unwind_rule){.kind = UNWIND_PLT, .cfa_off = ops[4].atom - DW_OP_lit0};
	return true;
}

static uint32_t expect_how(const struct judge *judge, const struct location *location, int64_t *off)
{
	*off = location->off;
	switch (location->place) {
	case PLACE_SAME:
		return UNWIND_SAME;
	case PLACE_AT_CFA:
		return UNWIND_AT_CFA;
	case PLACE_IS_CFA:
		return UNWIND_IS_CFA;
	case PLACE_REG:
		*off = location->reg;
		return UNWIND_IN_REG;
	case PLACE_AT_REG:
		if (location->reg == judge->table->arch->machine->sp)
			return UNWIND_AT_SP;
		if (location->reg == judge->table->arch->machine->fp)
			return UNWIND_AT_FP;
		break;
	default:
		break;
	}
	*off = 0;
	return UNWIND_LOST;
}

/*
 * Where no instruction names rbx, libdw 0.188 calls it undefined, and rax unchanged: its table of
 * preserved registers takes 0 for rbx. It is register 3, and preserved (psABI figure 3.36, 3.4).
 */
static uint8_t expect_bx(const struct judge *judge, const struct location *bx)
{
	if (!judge->table->tracks_extra)
		return 0;
	if (bx->place == PLACE_SAME || bx->place == PLACE_UNDEFINED)
		return 1;
	return bx->place == PLACE_AT_CFA ? (uint8_t)(-bx->off / 8) : 0;
}

/* longjmp's last instructions: the caller's sp, fp and pc are in registers. */
static bool expect_jump(const struct location *sp, struct unwind_rule *rule)
{
	if (sp->place != PLACE_REG || unwind_ra_how(rule) != UNWIND_IN_REG ||
	    unwind_fp_how(rule) != UNWIND_IN_REG)
		return false;
	rule->kind = UNWIND_FRAME;
	rule->cfa_reg = (uint8_t)sp->reg;
	rule->cfa_off = 0;
	return true;
}

static struct unwind_rule expect(struct judge *judge, Dwarf_Frame *frame)
{
	const struct unwind_rule unsupported = {.kind = UNWIND_UNSUPPORTED};
	struct unwind_rule rule = {0};
	bool signal, known_cfa;
	const struct unwind_machine *machine = judge->table->arch->machine;
	int ra_reg = dwarf_frame_info(frame, NULL, NULL, &signal);
	struct location ra = locate(frame, ra_reg), fp = locate(frame, machine->fp),
			sp = locate(frame, machine->sp), bx = locate(frame, machine->extra);
	uint32_t ra_how, fp_how;
	int64_t ra_off, fp_off;

	/* The column is a register that has it; libdw calls one that is not lr undefined, as it is for a debugger. */
	if (machine->has_link && (ra.place == PLACE_SAME || ra_reg != machine->extra))
		ra = (struct location){PLACE_REG, (uint32_t)ra_reg, 0};
	ra_how = expect_how(judge, &ra, &ra_off);
	fp_how = expect_how(judge, &fp, &fp_off);

	if (ra.place == PLACE_UNDEFINED)
		return (struct unwind_rule){.kind = UNWIND_ROOT};
	known_cfa = expect_cfa(judge, frame, &rule);
	rule.how = (uint8_t)(fp_how | ra_how << 4);
	rule.fp_off = (int32_t)fp_off;
	if (rule.kind != UNWIND_INDEXED)
		rule.ra_off = (int16_t)ra_off;
	if (machine->has_link && ra_how == UNWIND_AT_CFA && ra_off < INT16_MIN) {
		rule.how = (uint8_t)(fp_how | UNWIND_BEHIND_FP << 4); /* a large frame's pair */
		rule.ra_off = 0;
	}
	rule.extra_slot = expect_bx(judge, &bx);
	if (signal && known_cfa && sp.place == PLACE_AT_REG && sp.off == rule.cfa_off &&
	    bx.place == PLACE_AT_REG) {
		rule.kind = UNWIND_SIGNAL;
		rule.deref_off = (int16_t)bx.off;
		rule.extra_slot = 0;
		return rule;
	}
	if (expect_jump(&sp, &rule))
		return rule;
	if (!known_cfa || ra_how == UNWIND_LOST || sp.place != PLACE_IS_CFA || sp.off != 0 ||
	    signal) {
		judge->nr_inexpressible++;
		return unsupported;
	}
	return rule;
}

/* Builds the table from call frame information only: libdw does not analyze code without it. */
static int cfi_table(const struct elf_file *file, struct unwind_table **table)
{
	struct ehframe_input input;
	int err = ehframe_input_from_elf(file, &input);

	return err ? err : unwind_table_new(&input, table);
}

/*
 * Where libdw has no FDE, the table has a gap, or padding of less than 16 bytes before one, or what
 * distinguishes a new thread before its first function.
 */
static bool explain_gap(struct judge *judge, uint64_t addr, bool found,
			const struct unwind_rule *rule)
{
	Dwarf_Frame *frame;
	GElf_Ehdr ehdr;

	if (!found) {
		judge->nr_beyond++;
		return true;
	}
	if (rule->kind == UNWIND_ROOT) /* the program's first instructions need no description */
		return gelf_getehdr(judge->elf, &ehdr) && addr - ehdr.e_entry < 64;
	if (rule->kind == UNWIND_GAP)
		return true;
	for (uint64_t next = addr + 1; next < addr + UNWIND_PADDING_BYTES; next++) {
		struct unwind_rule after;

		if (dwarf_cfi_addrframe(judge->cfi, next, &frame))
			continue;
		free(frame);
		judge->nr_padding++;
		if (!unwind_table_find(judge->table, next, &after))
			return false;
		return rule->kind == UNWIND_CLONE ? after.kind == UNWIND_ROOT
						  : memcmp(rule, &after, sizeof(after)) == 0;
	}
	return false;
}

static void show(const char *what, const struct unwind_rule *rule)
{
	printf("  %s: kind %u reg %u how %02x bx %u cfa %d fp %d ra %d deref %d\n", what,
	       rule->kind, rule->cfa_reg, rule->how, rule->extra_slot, rule->cfa_off, rule->fp_off,
	       rule->ra_off, rule->deref_off);
}

/* Returns where libdw's row ends, addr + 1 if it has none. */
static uint64_t compare(struct judge *judge, uint64_t addr)
{
	struct unwind_rule ours = {0}, theirs = {0};
	bool found = unwind_table_find(judge->table, addr, &ours);
	Dwarf_Addr end = addr + 1;
	Dwarf_Frame *frame;
	bool same;

	judge->nr_compared++;
	if (dwarf_cfi_addrframe(judge->cfi, addr, &frame)) {
		same = explain_gap(judge, addr, found, &ours);
	} else {
		theirs = expect(judge, frame);
		dwarf_frame_info(frame, NULL, &end, NULL);
		free(frame);
		same = found && memcmp(&ours, &theirs, sizeof(ours)) == 0;
	}
	if (!same && judge->nr_different++ < 10) {
		printf("  different at %#lx\n", (unsigned long)addr);
		show("ours  ", &ours);
		show("theirs", &theirs);
	}
	return end;
}

static void compare_row(struct judge *judge, uint64_t addr, uint64_t next)
{
	uint64_t end = compare(judge, addr);

	compare(judge, addr - 1);
	while (end > addr && end < next) { /* libdw's rows within ours; runs for one */
		addr = end;
		end = compare(judge, addr);
	}
}

/* Every row of every stride-th page. */
static void compare_rows(struct judge *judge, uint32_t stride)
{
	const struct unwind_table *table = judge->table;
	uint64_t page_bytes = unwind_arch_page_bytes(table->arch);
	uint32_t shift = table->arch->machine->pc_shift;

	for (uint32_t page = 0; page < table->nr_pages; page += stride) {
		uint64_t start = table->start + (uint64_t)page * page_bytes;

		for (uint32_t i = table->pages[page]; i < table->pages[page + 1]; i++) {
			uint64_t next = page_bytes;

			if (i + 1 < table->pages[page + 1])
				next = unwind_row_pc(table->rows[i + 1]) << shift;
			compare_row(judge, start + (unwind_row_pc(table->rows[i]) << shift),
				    start + next);
		}
	}
}

static void compare_random(struct judge *judge, unsigned nr)
{
	uint64_t span = judge->table->nr_pages * unwind_arch_page_bytes(judge->table->arch) + 8192;
	uint64_t state = 88172645463325252ull;

	for (unsigned i = 0; i < nr; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		compare(judge, judge->table->start - 4096 + state % span);
	}
}

/* judge's elf, cfi and table are set; all three are released here. */
static void judge_all(struct judge *judge, const char *name, uint32_t stride, unsigned nr_random)
{
	compare_rows(judge, stride);
	compare_random(judge, nr_random);
	printf("%s: %zu FDEs, %u rows; %zu addresses compared, %zu differ unexplained; explained: "
	       "%zu padding, %zu outside the table; %zu inexpressible in both\n",
	       name, judge->table->stats.nr_fdes, judge->table->nr_rows, judge->nr_compared,
	       judge->nr_different, judge->nr_padding, judge->nr_beyond, judge->nr_inexpressible);
	assert_int_equal(judge->nr_different, 0);
	assert_true(judge->table->stats.nr_fdes > 0);
	unwind_table_free(judge->table);
	elf_end(judge->elf);
}

/* false: it is not here. */
static bool judge_file(const char *path, uint32_t stride, unsigned nr_random)
{
	int fd scoped(closep) = open(path, O_RDONLY | O_CLOEXEC);
	struct judge judge = {0};
	struct elf_file *file;

	if (fd < 0) {
		print_message("%s is not here\n", path);
		return false;
	}
	elf_version(EV_CURRENT);
	judge.elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	judge.cfi = dwarf_getcfi_elf(judge.elf);
	assert_non_null(judge.cfi);
	assert_int_equal(elf_file_open(fd, &file), 0);
	assert_int_equal(cfi_table(file, &judge.table), 0);
	elf_file_close(file);
	judge_all(&judge, path, stride, nr_random);
	dwarf_cfi_end(judge.cfi);
	return true;
}

#define LIB "/usr/lib/x86_64-linux-gnu/"

static void test_small(void **state)
{
	(void)state;
	assert_true(judge_file("/proc/self/exe", 1, 20000));
	if (!judge_file(LIB "libc.so.6", 1, 20000))
		skip();
	judge_file(LIB "ld-linux-x86-64.so.2", 1, 20000);
	judge_file(LIB "libstdc++.so.6", 1, 20000);
	judge_file(LIB "libcrypto.so.3", 1, 20000);
	judge_file("/usr/bin/python3", 1, 20000);
}

/* Files of arm64 are read everywhere: those that come with Debian's cross compiler. */
static void test_arm64(void **state)
{
	(void)state;
	if (!judge_file(ARM64_LIBS "libc.so.6", 1, 20000))
		skip();
	judge_file(ARM64_LIBS "ld-linux-aarch64.so.1", 1, 20000);
	judge_file(ARM64_LIBS "libstdc++.so.6", 1, 20000);
}

static void test_large(void **state)
{
	bool any = judge_file("/usr/lib/gcc/x86_64-linux-gnu/12/cc1", 16, 20000);

	(void)state;
	any |= judge_file(LIB "libLLVM-14.so.1", 32, 20000);
	any |= judge_file("/usr/bin/node", 32, 20000);
	if (!any)
		skip();
}

static void test_chosen(void **state) /* CPROF_ORACLE_FILES="a b c": every row of those */
{
	const char *chosen = getenv("CPROF_ORACLE_FILES");
	char *files scoped(freep) = chosen ? xstrdup(chosen) : NULL;

	(void)state;
	for (char *path = files ? strtok(files, " ") : NULL; path; path = strtok(NULL, " "))
		assert_true(judge_file(path, 1, 100000));
}

static void test_vdso(void **state)
{
	/* Its length: the kernel maps two pages at most, and the ELF header says where it ends. */
	char *image = (char *)getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *header = (const void *)image;
	struct judge judge = {0};
	struct elf_file *file;
	size_t len_bytes;

	(void)state;
	if (!image)
		skip();
	len_bytes = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
	elf_version(EV_CURRENT);
	judge.elf = elf_memory(image, len_bytes);
	judge.cfi = dwarf_getcfi_elf(judge.elf);
	assert_non_null(judge.cfi);
	assert_int_equal(elf_file_open_memory(image, len_bytes, &file), 0);
	assert_int_equal(cfi_table(file, &judge.table), 0);
	elf_file_close(file);
	judge_all(&judge, "[vdso]", 1, 5000);
	dwarf_cfi_end(judge.cfi);
}

static char *read_whole(const char *path, size_t *len_bytes)
{
	int fd scoped(closep) = open(path, O_RDONLY | O_CLOEXEC);
	off_t end = lseek(fd, 0, SEEK_END);
	char *image;

	assert_true(end > 0);
	image = xmalloc((size_t)end);
	assert_int_equal(pread(fd, image, (size_t)end, 0), end);
	*len_bytes = (size_t)end;
	return image;
}

/* Without section headers, by PT_GNU_EH_FRAME: the same table. */
static void test_no_section_headers(void **state)
{
	struct unwind_table *with, *without;
	struct elf_file *file;
	size_t len_bytes;
	char *image scoped(freep) = read_whole(LIB "libc.so.6", &len_bytes);
	Elf64_Ehdr *header = (void *)image;

	(void)state;
	assert_int_equal(elf_file_open_memory(image, len_bytes, &file), 0);
	assert_int_equal(unwind_table_from_elf(file, &with), 0);
	elf_file_close(file);
	header->e_shoff = 0;
	header->e_shnum = header->e_shstrndx = 0;
	assert_int_equal(elf_file_open_memory(image, len_bytes, &file), 0);
	assert_int_equal(unwind_table_from_elf(file, &without), 0);
	elf_file_close(file);
	assert_int_equal(with->stats.nr_fdes, without->stats.nr_fdes);
	assert_int_equal(with->nr_rows, without->nr_rows);
	assert_memory_equal(with->rows, without->rows, with->nr_rows * sizeof(*with->rows));
	assert_memory_equal(with->pages, without->pages, with->nr_pages * sizeof(*with->pages));
	unwind_table_free(with);
	unwind_table_free(without);
}

/* A program that has .debug_frame only. */
static void test_debug_frame(void **state)
{
	static const char source[] =
		"int puts(const char *); int f(int n) { char b[n]; puts(b); return b[n / 2]; }"
		"int g(int n) { return n > 3 ? f(n) + 1 : puts(\"\"); }";
	int fd scoped(closep) = -1;
	char *path scoped(freep) = temp_path("debug_frame.so");
	char *command scoped(freep) = xasprintf("echo '%s' | gcc -x c -O2 -g -gz=none "
						"-fno-asynchronous-unwind-tables -shared -fPIC "
						"-nostdlib -o %s -",
						source, path);
	struct judge judge = {0};
	struct elf_file *file;
	Dwarf *dwarf;

	(void)state;
	assert_int_equal(system(command), 0);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	elf_version(EV_CURRENT);
	judge.elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	dwarf = dwarf_begin_elf(judge.elf, DWARF_C_READ, NULL);
	judge.cfi = dwarf_getcfi(dwarf);
	assert_non_null(judge.cfi);
	assert_int_equal(elf_file_open(fd, &file), 0);
	assert_int_equal(cfi_table(file, &judge.table), 0);
	elf_file_close(file);
	assert_int_equal(judge.table->stats.nr_fdes, 2);
	judge_all(&judge, ".debug_frame", 1, 5000);
	dwarf_end(dwarf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_arm64),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_vdso),
		cmocka_unit_test(test_no_section_headers),
		cmocka_unit_test(test_debug_frame),
		cmocka_unit_test(test_chosen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
