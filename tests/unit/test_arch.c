// SPDX-License-Identifier: BSD-2-Clause
/*
 * Files of arm64, which a cross compiler makes: the names of PLT stubs against objdump's, in all their shapes; IFUNCs,
 * labels, Go's tables; and pages larger than 4 KiB. Without the compiler, stubs that stand here.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <inttypes.h>

#include "elf_judge.h"
#include "object/golines.h"
#include "object/gotslots.h"
#include "object/plt.h"
#include "object/symtab.h"
#include "unit/arm64_judge.h"

static bool has_compiler;

static void need_compiler(void)
{
	if (!has_compiler)
		skip();
}

static const struct arch *arch_of(const char *path)
{
	struct elf_file *file = judge_open(path);
	const struct arch *arch = elf_file_arch(file);

	elf_file_close(file);
	return arch;
}

static void test_machines(void **state)
{
	(void)state;
	assert_ptr_equal(arch_of_machine(EM_X86_64), &arch_x86_64);
	assert_ptr_equal(arch_of_machine(EM_AARCH64), &arch_arm64);
	assert_null(arch_of_machine(EM_386));
	assert_null(arch_of_machine(EM_ARM));
	need_compiler();
	assert_ptr_equal(arch_of("pie"), &arch_arm64);
}

/* PLT -------------------------------------------------------------------------------------------- */

#define ADRP  0x90000010u /* adrp x16, the same page */
#define LDR   0xf9400211u
#define ADD   0x91000210u
#define BR    0xd61f0220u
#define NOP   0xd503201fu
#define BTI   0xd503245fu
#define AUTIA 0xd503219fu

static size_t stub(uint64_t *got_addr, size_t nr, ...)
{
	uint32_t words[8];
	va_list list;

	va_start(list, nr);
	for (size_t i = 0; i < nr; i++)
		words[i] = va_arg(list, uint32_t);
	va_end(list);
	return arch_arm64.plt_stub((const unsigned char *)words, nr * 4, 4, 0x11230, got_addr);
}

static void test_shapes(void **state)
{
	uint64_t got = 0;

	(void)state;
	assert_int_equal(stub(&got, 4, ADRP, LDR, ADD, BR), 16);
	assert_int_equal(got, 0x11000);
	assert_int_equal(stub(&got, 5, ADRP, LDR | 3 << 10, ADD | 24 << 10, BR, NOP), 16);
	assert_int_equal(got, 0x11018);
	assert_int_equal(stub(&got, 6, BTI, ADRP, LDR, ADD, BR, NOP), 24);
	assert_int_equal(stub(&got, 6, ADRP, LDR, ADD, AUTIA, BR, NOP), 24);
	assert_int_equal(stub(&got, 6, BTI, ADRP, LDR, ADD, AUTIA, BR), 24);
	/* pages: 1 up, 1 down, 4 GiB down */
	assert_int_equal(stub(&got, 4, ADRP | 1u << 29, LDR, ADD, BR), 16);
	assert_int_equal(got, 0x12000);
	assert_int_equal(stub(&got, 4, ADRP | 3u << 29 | 0x7ffff << 5, LDR, ADD, BR), 16);
	assert_int_equal(got, 0x10000);
	assert_int_equal(stub(&got, 4, ADRP | 0x40000u << 5, LDR, ADD, BR), 16);
	assert_true(got == 0x11000 - (1ull << 32));
	/* cut off, or other instructions */
	assert_int_equal(stub(&got, 3, ADRP, LDR, ADD), 0);
	assert_int_equal(stub(&got, 1, BTI), 0);
	assert_int_equal(stub(&got, 4, ADRP | 1, LDR, ADD, BR), 0);
	assert_int_equal(stub(&got, 4, ADRP, LDR ^ 1, ADD, BR), 0);
	assert_int_equal(stub(&got, 4, ADRP, LDR, NOP, BR), 0);
	assert_int_equal(stub(&got, 4, NOP, ADRP, LDR, ADD), 0);
}

static void check_plt(const char *path, size_t expected)
{
	FILE *in = judge_ask(ARM64_OBJDUMP " -d -j .plt %s | "
					   "sed -n 's/^\\([0-9a-f]*\\) <\\(.*@plt\\)>:/\\1 \\2/p'",
			     path);
	struct elf_file *file = judge_open(path);
	struct symtab *symtab = symtab_new(file);
	uint64_t elf_addr;
	char name[256];
	size_t nr = 0;

	while (fscanf(in, "%" SCNx64 " %255s", &elf_addr, name) == 2) {
		struct symbol symbol;

		nr++;
		assert_true(symtab_find(symtab, elf_addr + 15, &symbol));
		assert_int_equal(symbol.elf_addr, elf_addr);
		assert_string_equal(symbol.name, name);
	}
	pclose(in);
	print_message("  %s: %zu PLT stubs\n", path, nr);
	assert_true(nr >= expected);
	symtab_free(symtab);
	elf_file_close(file);
}

static void test_plt_against_objdump(void **state)
{
	static const char *const names[] = {"pie",     "fixed",	  "shared",  "now",
					    "bti.pie", "pac.pie", "both.pie"};

	(void)state;
	need_compiler();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		check_plt(names[i], 3);
}

/* Symbols ---------------------------------------------------------------------------------------- */

/* "$x" and "$d", which say where code and data begin, are the names of nothing. */
static void test_marks_are_no_names(void **state)
{
	struct elf_file *file;
	struct symtab *symtab;
	struct symbol symbol;
	bool is_ifunc;

	(void)state;
	need_compiler();
	file = judge_open("pie");
	symtab = symtab_new(file);
	assert_false(symtab_lookup(symtab, "$x", &symbol, &is_ifunc));
	assert_false(symtab_lookup(symtab, "$d", &symbol, &is_ifunc));
	assert_true(symtab_lookup(symtab, "main", &symbol, &is_ifunc));
	assert_true(symtab_find(symtab, symbol.elf_addr + 4, &symbol));
	assert_string_equal(symbol.name, "main");
	symtab_free(symtab);
	elf_file_close(file);
}

static void test_ifuncs_have_slots(void **state)
{
	struct gotslots slots = {0};
	struct elf_file *file;

	(void)state;
	need_compiler();
	file = judge_open("shared");
	gotslots_read(&slots, file);
	assert_true(slots.all.nr >= 1);
	assert_string_equal(slots.all.at[0].name, "chosen");
	gotslots_release(&slots);
	elf_file_close(file);
}

/* The lines of a Go program, whose tables count in instructions: each of a function's, as Go's addr2line has them. */
static uint32_t said[64];

static void keep_line(void *ctx, size_t i, const struct source_frame *frames, size_t nr)
{
	(void)ctx;
	assert_true(nr >= 1);
	said[i] = frames[0].line;
}

static void check_go_lines(const struct elf_file *file, uint64_t start, size_t nr)
{
	struct gopclntab *table = gopclntab_new(file);
	char command[2048] = "printf '";
	uint64_t addrs[64];
	unsigned int line;
	FILE *in;

	assert_non_null(table);
	for (size_t i = 0; i < nr; i++) {
		addrs[i] = start + 4 * i;
		sprintf(command + strlen(command), "%" PRIx64 "\\n", addrs[i]);
	}
	strcat(command, "' | go tool addr2line %s | sed -n 's/.*go:\\([0-9]*\\)$/\\1/p'");
	golines_find(table, file, addrs, nr, keep_line, NULL);
	in = judge_ask(command, "go.arm64");
	for (size_t i = 0; i < nr; i++) {
		assert_int_equal(fscanf(in, "%u", &line), 1);
		assert_int_equal(line, said[i]);
	}
	pclose(in);
	gopclntab_free(table);
}

static void test_go_lines(void **state)
{
	struct elf_file *file;
	struct symtab *symtab;
	struct symbol symbol;
	bool is_ifunc;
	size_t nr;

	(void)state;
	if (system("command -v go >/dev/null 2>&1")) {
		print_message("SKIP: no go\n");
		skip();
	}
	judge_run("HOME=$PWD GO111MODULE=off GOARCH=arm64 CGO_ENABLED=0 go build -o go.arm64 "
		  "spin.go");
	file = judge_open("go.arm64");
	symtab = symtab_new(file);
	assert_true(symtab_lookup(symtab, "main.spin", &symbol, &is_ifunc));
	nr = symbol.len_bytes / 4;
	print_message("  %zu instructions\n", nr);
	assert_true(nr >= 4);
	check_go_lines(file, symbol.elf_addr, nr < 64 ? nr : 64);
	symtab_free(symtab);
	elf_file_close(file);
}

/* Pages ------------------------------------------------------------------------------------------ */

/* As lld lays files out: code begins in the middle of a page of the file, which a segment of data shares. */
static void test_large_pages(void **state)
{
	static const struct elf_segment all[] = {
		{.elf_addr = 0, .mem_bytes = 0x5678, .file_bytes = 0x5678},
		{.elf_addr = 0x15678,
		 .mem_bytes = 0x9000,
		 .file_off = 0x5678,
		 .file_bytes = 0x9000,
		 .executable = true},
	};
	const struct segments segments = {all, 2};

	(void)state;
	for (uint64_t page = 4096; page <= 65536; page *= 4) {
		uint64_t begin = 0x5678 & ~(page - 1);

		assert_ptr_equal(segments_at_in_pages(segments, begin, page), &all[1]);
		assert_ptr_equal(segments_at_in_pages(segments, 0x5678, page), &all[1]);
		if (begin)
			assert_ptr_equal(segments_at_in_pages(segments, begin - 1, page), &all[0]);
	}
}

static void write_file(const char *name, const char *text)
{
	char *path scoped(freep) = xasprintf("%s/%s", judge_dir, name);
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static int build(void **state)
{
	static const char *const flags[] = {
		"-o pie -pie -fPIE program.c -Wl,-z,lazy",
		"-o fixed -no-pie program.c -Wl,-z,lazy",
		"-o shared -shared -fPIC library.c",
		"-o now -pie -fPIE program.c -Wl,-z,now",
		"-o bti.pie -pie -fPIE -mbranch-protection=bti program.c -Wl,-z,force-bti",
		"-o pac.pie -pie -fPIE program.c -Wl,-z,pac-plt",
		"-o both.pie -pie -fPIE program.c -Wl,-z,force-bti,-z,pac-plt",
	};

	(void)state;
	judge_dir = temp_folder();
	write_file("spin.go", "package main\n\n//go:noinline\nfunc spin(n int) int {\n\tx := 0\n"
			      "\tfor i := 0; i < n; i++ {\n\t\tx += i * x\n\t}\n\treturn x\n}\n\n"
			      "func main() {\n\tprintln(spin(9))\n}\n");
	write_file("program.c",
		   "#include <stdio.h>\n#include <stdlib.h>\nint main(int n, char **v) {\n"
		   "	puts(v[0]); free(malloc(n)); return atoi(v[0]); }\n");
	write_file("library.c",
		   "#include <stdlib.h>\nstatic int one(void) { return 1; }\n"
		   "static int (*choose(void))(void) { return one; }\n"
		   "int chosen(void) __attribute__((ifunc(\"choose\")));\n"
		   "void *f(int n) { return calloc(realloc(malloc(n), n) ? chosen() : 2, 3); }\n");
	has_compiler = arm64_judge_is_here();
	for (size_t i = 0; has_compiler && i < sizeof(flags) / sizeof(flags[0]); i++) {
		char *command scoped(freep) = xasprintf(ARM64_CC " -O1 %s", flags[i]);

		judge_run(command);
	}
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_machines),
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_plt_against_objdump),
		cmocka_unit_test(test_marks_are_no_names),
		cmocka_unit_test(test_ifuncs_have_slots),
		cmocka_unit_test(test_go_lines),
		cmocka_unit_test(test_large_pages),
	};

	return cmocka_run_group_tests(tests, build, NULL);
}
